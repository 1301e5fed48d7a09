"""What the player sees, as a fixed number of small integers, and back.

`observation_fields` names every slice. Ranks only, since suits never matter. The fair view shows
what a person at the table has seen: the pyramid and the reserve, the waste, the stock's top card
where it is face up, and from the second pass on the whole stock. It also counts, rank by rank, the
cards that are still face down (anyone who keeps count of the removed cards knows that), so the
observation says all that can be known: an agent needs no memory. The thoughtful view shows the
stock from the start.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from gymnasium.spaces import MultiDiscrete
from numpy.typing import NDArray

from pyramid_env.cards import N_CARDS, N_RANKS, Card, make_card, rank_of
from pyramid_env.deals import Deal
from pyramid_env.engine import (
    Position,
    compile_rules,
    face_down_of,
    find_rank_bits,
    passes_left,
    waste_of,
)
from pyramid_env.jit import highest, inline_kernel, kernel, popcount
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import MAX_STOCK, Rules
from pyramid_env.simd import count_8, widen_8, widen_8_backwards

Information = Literal["fair", "thoughtful"]

FACE_DOWN = 14
"""What a stock card that has not been seen shows; 0 is no card, 1-13 a rank."""

MANY_PASSES = 9
"""Nine passes left or more, or unlimited, look the same."""

MAX_UNSEEN = 4

_STOCK_SIZE = 3 * MAX_STOCK + 1
_FACE_UP_SIZE = 40  # 28 slots and a reserve of 7, in whole runs of 8

_0 = np.uint64(0)
_1 = np.uint64(1)
_FACE_DOWN = np.uint64(FACE_DOWN)
_LAST_8_RANKS = np.uint64(N_RANKS - 7)
_ALL_PLACES = np.uint64(2**N_CARDS - 1)
_DRAWN_SHIFT = np.uint64(52)
_PASS_SHIFT = np.uint64(57)


class ObservationFields(NamedTuple):
    """The slices of an observation, in order; their lengths depend on the reserve alone."""

    pyramid: slice
    """28 ranks by slot, 0 where the card is gone."""

    reserve: slice
    """One rank a reserve place, 0 where the card is gone."""

    waste: slice
    """24 less the reserve: ranks from the top down, then 0."""

    stock: slice
    """24 less the reserve: ranks from the next card on, 14 face down, then 0."""

    passes_left: slice
    """One number: passes after the current one, at most 9; 9 also when unlimited."""

    unseen: slice
    """13 counts: the face-down cards of each rank, ace to king."""


def observation_fields(rules: Rules) -> ObservationFields:
    """Where each part of the observation lies.

    >>> observation_fields(Rules()).stock
    slice(52, 76, None)
    """
    sizes = (N_SLOTS, rules.reserve, rules.stock_size, rules.stock_size, 1, N_RANKS)
    slices = []
    start = 0
    for size in sizes:
        slices.append(slice(start, start + size))
        start += size
    return ObservationFields(*slices)


def observation_size(rules: Rules) -> int:
    """Numbers in an observation: 90 less the reserve."""
    return int(observation_fields(rules).unseen.stop)


def observation_space(rules: Rules) -> MultiDiscrete:
    """`MultiDiscrete` of dtype int16, one category a number."""
    fields = observation_fields(rules)
    categories = np.empty(observation_size(rules), dtype=np.int64)
    for name, part in fields._asdict().items():
        categories[part] = {
            "stock": FACE_DOWN + 1,
            "passes_left": MANY_PASSES + 1,
            "unseen": MAX_UNSEEN + 1,
        }.get(name, N_RANKS + 1)
    return MultiDiscrete(categories, dtype=np.int16)  # type: ignore[arg-type]


def is_thoughtful(information: str) -> bool:
    """Whether the view shows the hidden stock; `ValueError` for a word that names no view."""
    if information not in get_args(Information):
        raise ValueError(f"information={information!r} is not allowed: 'fair' or 'thoughtful'")
    return information == "thoughtful"


LAYOUT_DTYPE = np.dtype(
    [
        ("face_up", np.uint8, (_FACE_UP_SIZE,)),  # of the pyramid and the reserve, by bit
        ("stock", np.uint8, (_STOCK_SIZE,)),  # 24 zeros, the stock and the waste, zeros
    ],
    align=True,
)
"""The ranks of a game's cards, laid out so that each part of an observation is a run of them.

::

    stock    0 0 ... 0   waste, bottom to top   stock, next card first   0 0 ... 0
             24 zeros    <------------ as they are drawn ----------->    24 or more

The waste is read backwards and the stock forwards from where they meet, both for a whole part's
length, so no loop depends on how many cards are left. The record stays true until a card of the
stock or the waste is removed: then `lift_cards`.
"""


@inline_kernel
def lay_out(position: Any, cards: Any, rules: Any, layout: Any) -> None:
    """Write the `LAYOUT_DTYPE` record of a position of the deal `cards` (uint8[52])."""
    first_stock = rules["first_stock"]
    for i in range(_FACE_UP_SIZE):
        bit = np.uint64(i)
        layout["face_up"][bit] = cards[bit] % N_RANKS + 1 if bit < first_stock else 0
    for i in range(_STOCK_SIZE):
        layout["stock"][np.uint64(i)] = 0
    at = np.uint64(MAX_STOCK)
    for i in range(first_stock, N_CARDS):
        bit = np.uint64(i)
        layout["stock"][at] = cards[bit] % N_RANKS + 1
        at += (position >> bit) & _1
    layout["stock"][at] = 0


@inline_kernel
def lift_cards(removed: Any, before: Any, rules: Any, layout: Any) -> None:
    """Take the cards `removed` (bits) from the `before` position out of its layout."""
    stock = layout["stock"]
    lifted = removed & rules["stock"]
    while lifted:
        bit = highest(lifted)
        lifted ^= _1 << bit
        at = np.uint64(MAX_STOCK) + popcount(before & rules["stock"] & ((_1 << bit) - _1))
        for i in range(MAX_STOCK):
            stock[at + np.uint64(i)] = stock[at + np.uint64(i) + _1]


@inline_kernel
def encode(
    position: Any,
    layout: Any,
    rank_bits: Any,
    rules: Any,
    thoughtful: bool,
    observations: Any,
    start: Any,
) -> None:
    """Write the observation of a position: int16, `observation_size` long, from index `start` on.

    Each part is written in whole runs of eight; where it is shorter than that, the next part writes
    over what is too much, or it ends in two runs that overlap. No branch depends on the position:
    that took a quarter off the time of what a game shows.
    """
    face_up, stock = layout["face_up"], layout["stock"]
    for i in range(0, _FACE_UP_SIZE, 8):
        at = np.uint64(i)
        widen_8(observations, start + at, face_up, at, position >> at, _0)

    waste = start + rules["first_stock"]
    meeting = np.uint64(MAX_STOCK) + popcount(waste_of(position, rules))
    for i in range(0, MAX_STOCK, 8):
        depth = np.uint64(i)
        widen_8_backwards(observations, waste + depth, stock, meeting - depth)

    at = start + np.uint64(N_CARDS)
    end = at + np.uint64(N_CARDS) - rules["first_stock"]
    face_down = _0 if thoughtful else face_down_of(position, rules)
    hidden = (_1 << popcount(face_down)) - _1
    if rules["stock_playable"]:
        hidden <<= _1  # the top is face up
    for i in range(0, MAX_STOCK, 8):
        depth = np.uint64(i)
        source, seen = meeting + depth, ~hidden >> depth
        widen_8(observations, at + depth, stock, source, seen, _FACE_DOWN)
    count_8(observations, end + _1, rank_bits, _1, face_down)
    count_8(observations, end + _LAST_8_RANKS, rank_bits, _LAST_8_RANKS, face_down)
    left = passes_left(position, rules)
    observations[end] = MANY_PASSES if left < 0 or left > MANY_PASSES else left


@kernel
def decode(observation: Any, rules: Any, cards: Any) -> Any:
    """The position that an observation shows, with its cards written into `cards` (uint8[52]).

    The waste takes the first stock places, the stock the next ones, so the position plays exactly
    as the one that was encoded. A card's suit and a removed card are made up (suit 0, an ace), and
    face-down cards lie in ascending rank: shuffle them to get a deal that the player may face.
    """
    first_stock = rules["first_stock"]
    position = _0
    for i in range(N_CARDS):
        cards[np.uint64(i)] = 0
    for i in range(first_stock):
        bit = np.uint64(i)
        if observation[bit]:
            position |= _1 << bit
            cards[bit] = observation[bit] - 1

    n_waste = _0
    while n_waste < np.uint64(N_CARDS) - first_stock and observation[first_stock + n_waste]:
        n_waste += _1
    for i in range(n_waste):
        depth = np.uint64(i)
        bit = first_stock + n_waste - _1 - depth
        position |= _1 << bit
        cards[bit] = observation[first_stock + depth] - 1

    passes_at = np.uint64(N_CARDS) + np.uint64(N_CARDS) - first_stock
    at = np.uint64(N_CARDS)
    bit = first_stock + n_waste
    hidden_rank = _1
    n_hidden_of_rank = 0
    is_first_pass = False
    while at < passes_at and observation[at]:
        position |= _1 << bit
        if observation[at] == FACE_DOWN:
            is_first_pass = True
            while n_hidden_of_rank == observation[passes_at + hidden_rank]:
                hidden_rank += _1
                n_hidden_of_rank = 0
            n_hidden_of_rank += 1
            cards[bit] = hidden_rank - _1
        else:
            cards[bit] = observation[at] - 1
        at += _1
        bit += _1

    has_stock = at > np.uint64(N_CARDS)
    drawn = n_waste if has_stock else np.uint64(N_CARDS) - first_stock
    passed = _0
    if not is_first_pass:
        limited = np.uint64(max(rules["passes"] - 1 - observation[passes_at], 0))
        passed = limited if rules["passes"] else _1
    return position | (drawn << _DRAWN_SHIFT) | (passed << _PASS_SHIFT)


def observe(
    position: int, deal: Deal, rules: Rules, information: Information = "fair"
) -> NDArray[np.int16]:
    """What a player sees of a position: int16[`observation_size`]."""
    rank_bits = np.empty(N_RANKS + 1, dtype=np.uint64)
    find_rank_bits(deal.array, rank_bits)
    observation = np.empty(observation_size(rules), dtype=np.int16)
    _observe(
        np.uint64(position),
        deal.array,
        rank_bits,
        compile_rules(rules)[0],
        is_thoughtful(information),
        np.empty(1, LAYOUT_DTYPE)[0],
        observation,
    )
    return observation


@kernel
def _observe(
    position: Any,
    cards: Any,
    rank_bits: Any,
    rules: Any,
    thoughtful: bool,
    layout: Any,
    observation: Any,
) -> None:
    lay_out(position, cards, rules, layout)
    encode(position, layout, rank_bits, rules, thoughtful, observation, _0)


def position_from_observation(
    observation: NDArray[np.int16], rules: Rules
) -> tuple[Position, Deal]:
    """The position that an observation (int16[size]) shows, and a deal that it may be of.

    Suits, removed cards and the order of the face-down cards are made up; see `decode`.
    """
    cards = np.empty(N_CARDS, dtype=np.uint8)
    position = int(decode(observation, compile_rules(rules)[0], cards))
    unused = {rank: [make_card(rank, suit) for suit in range(4)] for rank in range(1, N_RANKS + 1)}
    there = {
        place: unused[rank_of(Card(int(cards[place])))].pop()
        for place in range(N_CARDS)
        if (position >> place) & 1
    }
    gone = [card for cards_of_rank in unused.values() for card in cards_of_rank]
    deal = Deal(tuple(there[i] if i in there else gone.pop() for i in range(N_CARDS)))
    return Position(position), deal
