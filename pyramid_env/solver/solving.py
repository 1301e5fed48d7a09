"""`solve` and `solve_position`: the exact answer to one question about one position."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import Move, action_table
from pyramid_env.cards import N_CARDS
from pyramid_env.engine import compile_rules, is_position
from pyramid_env.rules import MAX_STOCK, Rules, get_rules
from pyramid_env.solver import relaxation, search, shortest
from pyramid_env.solver.facts import Facts, find_facts
from pyramid_env.solver.moves import CARDS, WIN
from pyramid_env.solver.solution import Objective, Solution, Status, check_objective

if TYPE_CHECKING:
    from pyramid_env.game import Game

DEFAULT_NODE_LIMIT = 20_000_000
"""Positions that one search may meet."""

_SLICE = 20_000
"""Nodes between two looks at the clock, the stop signal and Ctrl-C."""


class Stopped(Exception):  # noqa: N818 - not an error
    """The search was told to stop."""


def solve(
    game: Game,
    objective: Objective = "win",
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
    time_limit: float | None = None,
) -> Solution:
    """Answer a question about a game as it stands, exactly, all its cards known.

    `objective` is ``"win"`` (can the goal be reached?), ``"cards"`` (the most pyramid cards that
    can be removed in all) or ``"moves"`` (the fewest moves to the goal). A search that has met
    `node_limit` positions, or taken `time_limit` seconds, ends with status LIMIT and the bounds
    that it knows.

    >>> from pyramid_env import Game
    >>> solution = solve(Game(0), "moves")
    >>> solution.status.name, solution.value, len(solution.moves)
    ('PROVED', 39, 39)
    """
    return solve_position(
        game.position,
        game.deal.array,
        game.rules,
        objective,
        node_limit=node_limit,
        time_limit=time_limit,
    )


def solve_position(
    position: int,
    cards: NDArray[np.uint8],
    rules: str | Rules,
    objective: Objective = "win",
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
    time_limit: float | None = None,
    stop: Event | None = None,
) -> Solution:
    """Like `solve`, for agents: a position (see `pyramid_env.engine`) and cards (uint8[52]).

    Setting `stop`, from another thread, ends the search with `Stopped`.
    """
    check_objective(objective)
    rules = get_rules(rules)
    if isinstance(node_limit, bool) or not isinstance(node_limit, int) or node_limit < 1:
        raise ValueError(f"node_limit={node_limit!r} is not allowed: a whole number from 1 on")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit!r} is not allowed: seconds above 0, or None")
    if cards.shape != (N_CARDS,) or cards.dtype != np.uint8:
        raise ValueError(f"cards must be uint8[52], not {cards.dtype} of shape {cards.shape}")
    if not np.array_equal(np.sort(cards), np.arange(N_CARDS)):
        raise ValueError("cards must be the 52 of one deck, each number from 0 to 51 once")
    if not 0 <= position < 2**64 or not is_position(np.uint64(position), compile_rules(rules)[0]):
        raise ValueError(f"position={position} is none of a game by {rules}")
    run = _Run(rules, find_facts(cards, rules), node_limit, time_limit, stop)
    if objective == "moves":
        return _fewest_moves(run, np.uint64(position))
    return _best_value(run, np.uint64(position), objective)


@dataclass
class _Run:
    """One call: what is asked about, its limits, and the memo that its searches share."""

    rules: Rules
    facts: Facts
    node_limit: int
    time_limit: float | None
    stop: Event | None
    started: float = field(default_factory=time.perf_counter)
    nodes: int = 0
    """Nodes of the searches that have ended."""

    def __post_init__(self) -> None:
        self.rules_array = compile_rules(self.rules)

    def shares(self, progress: NDArray[np.void]) -> Iterator[int]:
        """Nodes that a search may meet until it asks again; ends when a limit is reached.

        `progress` is the search's record; it tells the nodes so far.
        """
        while True:
            if self.stop is not None and self.stop.is_set():
                raise Stopped
            left = self.node_limit - self.nodes - int(progress["nodes"][0])
            if left <= 0 or (self.time_limit is not None and self.seconds >= self.time_limit):
                return
            yield min(left, _SLICE)

    @property
    def seconds(self) -> float:
        """Time since the call."""
        return time.perf_counter() - self.started

    def moves(self, actions: list[int]) -> tuple[Move, ...]:
        """The moves of action ids."""
        return tuple(map(action_table(self.rules).moves.__getitem__, actions))


def _best_value(run: _Run, position: np.uint64, objective: Objective) -> Solution:
    """Search for a win, or for the most cards."""
    question = CARDS if objective == "cards" else WIN
    under_way = search.new_search(_longest_line(run.rules))
    memo = relaxation.new_memo()
    setting = question, run.facts, run.rules_array
    while search.begin(position, *setting, under_way, memo) == search.MEMO_FULL:
        memo = relaxation.grown(memo)
    proved = False
    for n_nodes in run.shares(under_way.progress):
        reason = search.go_on(n_nodes, *setting, under_way, memo)
        if reason == search.DONE:
            proved = True
            break
        if reason == search.TABLE_FULL:
            under_way = search.grown(under_way)
        elif reason == search.MEMO_FULL:
            memo = relaxation.grown(memo)
    progress: Any = under_way.progress[0]
    run.nodes += int(progress["nodes"])
    best = int(progress["best"])
    upper = best if proved else int(progress["ceiling"])
    value = best if objective == "cards" else best == 1
    return Solution(
        objective=objective,
        status=Status.PROVED if proved else Status.LIMIT,
        value=value if proved else None,
        lower=best,
        upper=upper,
        moves=run.moves(under_way.line[: int(progress["line_length"])].tolist()),
        nodes=run.nodes,
        seconds=run.seconds,
    )


def _fewest_moves(run: _Run, position: np.uint64) -> Solution:
    """Search for any win first, which may show that there is none; then for the shortest."""
    win = _best_value(run, position, "win")
    if win.value is False:
        return _moves_solution(run, Status.PROVED, None, None, ())
    under_way = shortest.new_shortest(len(win.moves) if win.value else _longest_line(run.rules))
    memo = relaxation.new_memo()
    setting = run.facts, run.rules_array
    shortest.begin(position, *setting, under_way)
    proved = False
    for n_nodes in run.shares(under_way.progress):
        reason = shortest.go_on(n_nodes, *setting, under_way, memo)
        if reason == shortest.DONE:
            proved = True
            break
        if reason == shortest.NODES_FULL:
            under_way = shortest.with_more_nodes(under_way)
        elif reason == shortest.TABLE_FULL:
            under_way = shortest.with_larger_table(under_way)
        elif reason == shortest.MEMO_FULL:
            memo = relaxation.grown(memo)
    progress: Any = under_way.progress[0]
    run.nodes += int(progress["nodes"])
    if not proved:
        upper = len(win.moves) if win.value else None
        return _moves_solution(run, Status.LIMIT, int(progress["bound"]), upper, win.moves)
    if progress["goal"] < 0:  # nothing shorter than the win that is known, or no win at all
        length = len(win.moves) if win.value else None
        return _moves_solution(run, Status.PROVED, length, length, win.moves)
    line = run.moves(shortest.line_to_goal(under_way))
    return _moves_solution(run, Status.PROVED, len(line), len(line), line)


def _moves_solution(
    run: _Run, status: Status, lower: int | None, upper: int | None, line: tuple[Move, ...]
) -> Solution:
    value = upper if status is Status.PROVED else None
    return Solution("moves", status, value, lower, upper, line, run.nodes, run.seconds)


def _longest_line(rules: Rules) -> int:
    """No line that meets each position once has more moves.

    With unlimited passes, between two removals come at most the draws of two passes (the first pass
    is told from later ones), and two recycles.
    """
    if rules.longest_game is not None:
        return rules.longest_game
    return (N_CARDS + 1) * (2 * MAX_STOCK + 3)
