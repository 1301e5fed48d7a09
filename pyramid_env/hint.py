"""The greedy hint: one good legal move for a player who has watched the game.

Kings go at once. Every other move is judged by the position it leads to, on a scale of whole
numbers (`Weights`), and the best one is named; of equal ones that with the lowest action id:

- cards of the goal that are removed, and pyramid cards that are uncovered;
- pairs that lie ready afterwards;
- how many partners each card of the goal still has. Cards above and below it in the pyramid are
  none, and in the last pass neither are those under the top of the waste. This also decides whether
  the stock's card is better spent on the waste or kept for the pyramid.

A removal that costs too many partners waits: drawing or recycling is a move like any other, at a
price. With unlimited passes it waits only while cards are face down, so that every game ends.

The hint is fair. Of the face-down cards it uses how many there are of each rank, which everyone
knows who has counted the cards, and never their order. ``docs/decisions.md`` has the figures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pyramid_env.cards import KING, N_CARDS
from pyramid_env.engine import (
    ALL_CARDS,
    MAX_LEGAL,
    apply,
    available_of,
    exposed_of,
    face_down_of,
    legal_actions,
    pass_of,
    waste_of,
)
from pyramid_env.jit import highest, kernel, lowest, popcount
from pyramid_env.pyramid import N_SLOTS, Slot, covers_of, lies_above


class Weights(NamedTuple):
    """What the hint counts, in points; the defaults are the hint."""

    card: int = 1
    """For each card of the goal that the move removes."""

    uncovered: int = 2
    """For each pyramid card that it uncovers."""

    ready: int = 1
    """For each pair that can be removed next, as far as its cards have been seen."""

    waiting: int = 2
    """Price of a draw or a recycle."""

    scarcity: tuple[int, int, int] = (6, 3, 1)
    """Price of each card of the goal that is left with no partner, with one, with two."""

    hopeless: int = 10
    """Price, paid once, when any card of the goal has no partner: the game cannot be won."""


WEIGHTS = Weights()

_0 = np.uint64(0)
_1 = np.uint64(1)
_KING = np.uint64(KING)


def _blocked_partners() -> Any:
    """uint64[2, 52]: the slots that can never pair with a card; row 1 is with covered pairs."""
    blocked = np.zeros((2, N_CARDS), dtype=np.uint64)
    for a in map(Slot, range(N_SLOTS)):
        for b in map(Slot, range(N_SLOTS)):
            if lies_above(a, b):
                for row in (0,) if b in covers_of(a) else (0, 1):
                    blocked[row, a] |= _1 << np.uint64(b)
                    blocked[row, b] |= _1 << np.uint64(a)
    return blocked


_BLOCKED = _blocked_partners()


@kernel
def hint(position: Any, rank_bits: Any, rules: Any) -> Any:
    """The action to play next; -1 when the game is over."""
    return best_action(position, rank_bits, rules, WEIGHTS)


@kernel
def best_action(position: Any, rank_bits: Any, rules: Any, weights: Any) -> Any:
    """The legal action that some `Weights` like best; -1 when the game is over."""
    actions = np.empty(MAX_LEGAL, np.int16)
    n_legal = legal_actions(position, rank_bits, rules, actions)
    return best_of(actions, n_legal, position, rank_bits, rules, weights)


@kernel
def best_of(
    actions: Any, n_actions: Any, position: Any, rank_bits: Any, rules: Any, weights: Any
) -> Any:
    """The one of some legal actions that `Weights` like best; -1 for none."""
    face_down = face_down_of(position, rules)
    may_wait = rules["passes"] != 0 or face_down != _0
    best = np.int64(-1)
    best_score = np.int64(0)
    for i in range(n_actions):
        action = np.int64(actions[np.uint64(i)])
        is_removal = action < rules["draw_action"]
        if is_removal and rules["second_place"][np.uint64(action)] < 0:
            return action
        if best >= 0 and not is_removal and not may_wait:
            break
        after = apply(position, action, rules)
        score = _score(position, after, face_down, rank_bits, rules, weights)
        if best < 0 or score > best_score or (score == best_score and action < best):
            best, best_score = action, score
    return best


@kernel
def _score(
    position: Any, after: Any, face_down: Any, rank_bits: Any, rules: Any, weights: Any
) -> Any:
    """What the move from `position` to `after` is worth to who does not see `face_down`."""
    removed = position & ~after & ALL_CARDS
    uncovered = exposed_of(after) & ~exposed_of(position)
    score = weights.card * np.int64(popcount(removed & rules["goal"]))
    score += weights.uncovered * np.int64(popcount(uncovered))
    score += weights.ready * _pairs_among(available_of(after, rules) & ~face_down, rank_bits)
    score -= _price_of_scarcity(after, face_down, rank_bits, rules, weights)
    if removed == _0:
        score -= weights.waiting
    return score


@kernel
def _pairs_among(cards: Any, rank_bits: Any) -> Any:
    """How many pairs of the cards sum to 13."""
    pairs = _0
    for low_rank in range(1, (KING + 1) // 2):
        rank = np.uint64(low_rank)
        lows = rank_bits[rank] & cards
        pairs += popcount(lows) * popcount(rank_bits[_KING - rank] & cards)
    return np.int64(pairs)


@kernel
def _price_of_scarcity(
    position: Any, face_down: Any, rank_bits: Any, rules: Any, weights: Any
) -> Any:
    reachable = position & ~(_buried_for_good(position, rules) & ~face_down)
    covered_pairs = _1 if rules["covered_pairs"] else _0
    price = np.int64(0)
    hopeless = np.int64(0)
    for low_rank in range(1, KING):
        rank = np.uint64(low_rank)
        cards = rank_bits[rank] & position & rules["goal"]
        partners = rank_bits[_KING - rank] & reachable
        while cards:
            n_partners = popcount(partners & ~_BLOCKED[covered_pairs, lowest(cards)])
            cards &= cards - _1
            if n_partners < np.uint64(len(weights.scarcity)):
                price += weights.scarcity[n_partners]
            if n_partners == _0:
                hopeless = weights.hopeless
    return price + hopeless


@kernel
def _buried_for_good(position: Any, rules: Any) -> Any:
    """In the last pass the cards under the waste's top, as bits; before it none."""
    waste = waste_of(position, rules)
    is_last = rules["passes"] != 0 and np.int64(pass_of(position)) + 1 >= rules["passes"]
    if not is_last or waste == _0:
        return _0
    return waste & ~(_1 << highest(waste))
