"""Fair search: a player that samples what it has not seen, and asks the exact solver.

Each legal move is judged on the same random orders of the face-down cards, drawn uniformly, which
is all that a player can know of them. For each order a move earns up to two points:

- one if the game can still be won by who sees that order (*the vote*);
- one more if it is won by a simple fair policy until all cards have been seen, and perfectly from
  there (*the delayed vote*). The policy is the hint; while another pass follows, a more patient one
  that leaves out what puts the goal out of reach in any order. The vote alone takes each order for
  known and so thinks too well of moves that need that knowledge (strategy fusion; Frank and Basin,
  "Search in Games with Incomplete Information", Artificial Intelligence 100, 1998). The delayed
  vote is what a fair player attains.

Of the moves with the most points one is taken that costs nothing: a draw, if another pass follows;
else the hint's. Where no order can be won, the cards that the hint would remove decide. Once all
cards have been seen the solver's line is played. ``docs/decisions.md`` says what else was tried.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.agent import ActionMasks, Actions, Agent, Observations
from agents.solver import SolverAgent
from pyramid_env.cards import N_CARDS
from pyramid_env.deals import mix, shuffle_places
from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    face_down_of,
    legal_actions,
    passes_left,
    pyramid_cards_removed,
)
from pyramid_env.hint import WEIGHTS as HINT
from pyramid_env.hint import Weights as HintWeights
from pyramid_env.hint import best_of, hint
from pyramid_env.jit import kernel, lowest
from pyramid_env.observation import decode, observation_fields
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver.judge import (
    MOST_NODES,
    WON,
    Judge,
    can_win,
    is_out_of_reach,
    new_judge,
    take_up,
    take_up_order,
)
from pyramid_env.solver.moves import WIN, moves_to_try
from pyramid_env.texts import check_whole

_ROUND = 8
"""Orders between two looks at which moves are still in the race, and at the clock."""

_ALIKE = 64
"""Orders after which moves that have never earned different points are taken for equal."""

_PATIENT = HintWeights(card=-6, uncovered=4, ready=3, waiting=10, scarcity=(20, 3, 1), hopeless=40)
"""What the delayed vote's policy counts while another pass follows: cards kept are choices kept."""

_0 = np.uint64(0)
_1 = np.uint64(1)

_DECISION_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("counter", np.uint64),  # of the random orders
        ("n_moves", np.int64),
        ("n_orders", np.int64),
        ("racing", np.uint64),  # the moves that may still be the best, as bits
        ("actions", np.int16, (MAX_LEGAL,)),
        ("removed", np.uint64, (MAX_LEGAL,)),
        ("points", np.int64, (MAX_LEGAL,)),
        # Of the difference in points of each two moves, the squares summed over the orders.
        ("squares", np.int64, (MAX_LEGAL, MAX_LEGAL)),
        ("cards", np.uint8, (N_CARDS,)),  # the deal, in the order that was drawn last
    ],
    align=True,
)


class Weights(NamedTuple):
    """How moves are compared; the defaults are what measured best on training deals."""

    vote: int = 1
    """Points for an order with which the game can still be won by who sees it."""

    delayed: int = 1
    """Further points if it is won by a fair policy until all cards are seen, then perfectly."""

    certain: float = 3.0
    """Standard errors by which a move must trail to be dropped from the race."""

    draw_on: bool = True
    """Whether a draw is preferred of equal moves while another pass follows; else the hint's."""


WEIGHTS = Weights()


class _Search(NamedTuple):
    """What the kernels work with."""

    decision: NDArray[np.void]
    """One `_DECISION_DTYPE` record."""

    judge: Judge

    weights: Weights


class SearchAgent(Agent):
    """Votes over sampled orders of the face-down cards.

    `samples` orders a decision, or as many as `seconds` allow where that is given; fewer once the
    choice is settled. `node_limit` bounds each question to the solver (at most `MOST_NODES`); an
    order left undecided counts as lost. While cards are face down, and without `seconds`, the
    choice depends on observation and `seed` alone. Raises `ValueError` for budgets that make no
    sense.
    """

    def __init__(
        self,
        rules: str | Rules = "kawu",
        *,
        samples: int = 64,
        seconds: float | None = None,
        node_limit: int = 2000,
        seed: int = 0,
        weights: Weights = WEIGHTS,
    ) -> None:
        check_whole("samples", samples, 1)
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"seconds={seconds!r} is not allowed: above 0 and finite, or None")
        check_whole("node_limit", node_limit, 1, MOST_NODES)
        self.name = "search"
        self._rules = get_rules(rules)
        self._unseen = observation_fields(self._rules).unseen
        self._solver = SolverAgent(self._rules)
        self._samples, self._seconds, self._node_limit = samples, seconds, node_limit
        self._seed = np.uint64(seed % 2**64)
        self._search = _Search(np.zeros(1, _DECISION_DTYPE), new_judge(self._rules), weights)

    @property
    def n_orders(self) -> int:
        """Orders that were tried for the last decision made with cards face down."""
        return int(self._search.decision["n_orders"][0])

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """Decide row by row."""
        actions = np.empty(len(observations), dtype=np.int64)
        hidden = observations[:, self._unseen].any(axis=1)
        for row in np.flatnonzero(hidden):
            actions[row] = self._decide(observations[row])
        if not hidden.all():
            actions[~hidden] = self._solver.act_batch(observations[~hidden], action_masks[~hidden])
        return np.where(actions < 0, action_masks.argmax(axis=1), actions)

    def _decide(self, observation: NDArray[np.int16]) -> int:
        rules = compile_rules(self._rules)
        if self._seconds is None:
            return int(
                _decide(
                    observation, self._seed, self._samples, self._node_limit, rules, self._search
                )
            )
        end = time.perf_counter() + self._seconds
        _begin(observation, self._seed, rules, self._search)
        while _go_on(_ROUND, self._node_limit, rules, self._search):
            if time.perf_counter() >= end:
                break
        return int(_best(rules, self._search))


@kernel
def _decide(
    observation: Any, seed: Any, n_orders: Any, node_limit: Any, rules_array: Any, search: Any
) -> Any:
    _begin(observation, seed, rules_array, search)
    _go_on(n_orders, node_limit, rules_array, search)
    return _best(rules_array, search)


@kernel
def _begin(observation: Any, seed: Any, rules_array: Any, search: Any) -> None:
    """Take up a decision. The random orders depend on seed and observation alone."""
    rules, decision = rules_array[0], search.decision[0]
    counter = seed
    for i in range(observation.size):
        counter = mix(counter ^ np.uint64(observation[np.uint64(i)] + 1))
    position = decode(observation, rules, decision["cards"])
    take_up(decision["cards"], search.judge)
    facts = search.judge.facts[0]
    n_moves = moves_to_try(
        position, WIN, facts["partners"], facts, rules, decision["actions"], decision["removed"]
    )
    decision["position"], decision["counter"] = position, counter
    decision["n_moves"], decision["n_orders"] = n_moves, 0
    decision["racing"] = (_1 << np.uint64(n_moves)) - _1
    for i in range(n_moves):
        decision["points"][np.uint64(i)] = 0
        for j in range(n_moves):
            decision["squares"][np.uint64(i), np.uint64(j)] = 0


@kernel
def _go_on(n_orders: Any, node_limit: Any, rules_array: Any, search: Any) -> Any:
    """Try so many orders more, or until one move is left; whether more than one is."""
    decision = search.decision[0]
    for _ in range(n_orders):
        if not _is_open(decision):
            break
        _draw_order(decision, rules_array[0], search.judge)
        _try_order(node_limit, rules_array, search)
        decision["n_orders"] += 1
        if decision["n_orders"] % _ROUND == 0:
            _drop_trailing(decision, search.weights.certain)
    return _is_open(decision)


@kernel
def _is_open(decision: Any) -> Any:
    """Whether more than one move is left in the race."""
    racing = decision["racing"]
    return racing & (racing - _1) != _0


@kernel
def _draw_order(decision: Any, rules: Any, judge: Any) -> None:
    """Turn to another order of the face-down cards."""
    hidden = face_down_of(decision["position"], rules)
    decision["counter"] = shuffle_places(hidden, decision["counter"], decision["cards"])
    take_up_order(decision["cards"], judge)


@kernel
def _try_order(node_limit: Any, rules_array: Any, search: Any) -> None:
    """Give each move in the race its points for the order that is taken up."""
    decision, rules = search.decision[0], rules_array[0]
    earned = np.zeros(MAX_LEGAL, np.int64)
    racing = decision["racing"]
    while racing:
        move = lowest(racing)
        racing &= racing - _1
        child = apply(decision["position"], np.int64(decision["actions"][move]), rules)
        earned[move] = _points(child, node_limit, rules_array, search)
        decision["points"][move] += earned[move]
    for i in range(decision["n_moves"]):
        for j in range(decision["n_moves"]):
            one, other = np.uint64(i), np.uint64(j)
            decision["squares"][one, other] += (earned[one] - earned[other]) ** 2


@kernel
def _points(position: Any, node_limit: Any, rules_array: Any, search: Any) -> Any:
    """What a position is worth with the order that is taken up.

    The delayed vote comes first: its yes is the other one's, too, and the easier to find.
    """
    judge, weights = search.judge, search.weights
    if weights.delayed != 0:
        seen = play_until_seen(position, rules_array[0], judge)
        if can_win(seen, node_limit, rules_array, judge) == WON:
            return weights.vote + weights.delayed
        if seen == position:
            return 0
    return weights.vote if can_win(position, node_limit, rules_array, judge) == WON else 0


@kernel
def play_until_seen(position: Any, rules: Any, judge: Any) -> Any:
    """The position once the delayed vote's policy has been played until all cards are seen.

    Or until the game is over. `judge` has taken up the deal.
    """
    rank_bits = judge.facts[0]["rank_bits"]
    actions = np.empty(MAX_LEGAL, np.int16)
    while face_down_of(position, rules):
        n_actions = legal_actions(position, rank_bits, rules, actions)
        weights = HINT
        if passes_left(position, rules) != 0:
            n_actions = _drop_hopeless(position, actions, n_actions, rules, judge)
            weights = _PATIENT
        action = best_of(actions, n_actions, position, rank_bits, rules, weights)
        if action < 0:
            break
        position = apply(position, action, rules)
    return position


@kernel
def _drop_hopeless(position: Any, actions: Any, n_actions: Any, rules: Any, judge: Any) -> Any:
    """Keep the actions after which the goal may be in reach, and draws; how many they are."""
    n_kept = 0
    for i in range(n_actions):
        action = np.int64(actions[np.uint64(i)])
        is_removal = action < rules["draw_action"]
        if is_removal and is_out_of_reach(apply(position, action, rules), rules, judge):
            continue
        actions[np.uint64(n_kept)] = action
        n_kept += 1
    return n_kept


@kernel
def _drop_trailing(decision: Any, certain: Any) -> None:
    """Drop the moves that trail the leader for certain, by paired differences (racing).

    Maron and Moore, "Hoeffding Races", NIPS 1993, with standard errors instead of their bound. Of
    moves that all stay equal only the leader stays in the race.
    """
    points, n_orders = decision["points"], decision["n_orders"]
    # A move that was dropped gets no more points, so it never leads again.
    leader = np.uint64(points[: decision["n_moves"]].argmax())
    racing = decision["racing"]
    are_alike = n_orders >= _ALIKE
    while racing:
        move = lowest(racing)
        racing &= racing - _1
        behind = np.float64(points[leader] - points[move])
        squares = np.float64(decision["squares"][leader, move])
        variance = squares - behind * behind / n_orders  # of the sum of the differences
        if behind * behind > certain**2 * max(variance, 1.0):
            decision["racing"] &= ~(_1 << move)
        elif squares > 0:
            are_alike = False
    if are_alike:
        decision["racing"] = _1 << leader


@kernel
def _best(rules_array: Any, search: Any) -> Any:
    """The action to play; -1 when no seen card gives a move, and the hint, too, knows none."""
    decision, rules = search.decision[0], rules_array[0]
    n_moves, position = decision["n_moves"], decision["position"]
    if n_moves == 1:
        return np.int64(decision["actions"][_0])
    if n_moves == 0:
        return hint(position, search.judge.facts[0]["rank_bits"], rules)
    most = decision["points"][:n_moves].max()
    if most == 0:
        return _best_by_cards(rules, search)
    preferred = hint(position, search.judge.facts[0]["rank_bits"], rules)
    if search.weights.draw_on and passes_left(position, rules) != 0:
        preferred = rules["draw_action"]
    best = np.int64(-1)
    for i in range(n_moves):
        action = np.int64(decision["actions"][np.uint64(i)])
        if decision["points"][np.uint64(i)] == most and (best < 0 or action == preferred):
            best = action
    return best


@kernel
def _best_by_cards(rules: Any, search: Any) -> Any:
    """The move after which the hint removes the most cards, over a round of orders."""
    decision, facts = search.decision[0], search.judge.facts[0]
    cards = np.zeros(MAX_LEGAL, np.int64)
    for _ in range(_ROUND):
        _draw_order(decision, rules, search.judge)
        for i in range(decision["n_moves"]):
            child = apply(decision["position"], np.int64(decision["actions"][np.uint64(i)]), rules)
            cards[np.uint64(i)] += _cards_by_hint(child, facts["rank_bits"], rules)
    return np.int64(decision["actions"][np.uint64(cards[: decision["n_moves"]].argmax())])


@kernel
def _cards_by_hint(position: Any, rank_bits: Any, rules: Any) -> Any:
    action = hint(position, rank_bits, rules)
    while action >= 0:
        position = apply(position, action, rules)
        action = hint(position, rank_bits, rules)
    return pyramid_cards_removed(position)
