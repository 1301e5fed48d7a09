"""A relaxed game that is easily solved: what is out of reach there is out of reach in the real one.

The pyramid is the real one. Of the cards outside, some are *loose*, always available, and the rest
lies in a *pile* of which only the top can be played. No card is ever drawn. Before the last pass
all cards outside are loose. In the last pass the waste is the pile; stock and reserve are loose.

**Why it bounds the real game, under any rules.** Take a real line and leave out its draws,
recycles, and removals outside the pyramid that touch no pile. What is left can be played in the
relaxed game in the same order: every removal there takes a king, two pyramid cards, or one with a
card from outside, and what covers what is the same in both (pairs of the pyramid, covered ones
included, are the engine's). Loose cards are there whenever the real line has them. The pile: in
the last pass the waste is never turned over, so a card that lies in it now is played only after all
that lie above it now are gone, whatever is drawn onto it; and no two of its cards ever go with each
other, as one of them is always below the other. The removals left out only take loose cards, and
more of those never hurt here. So the number of cards drawn at once, a face-down stock, the passes
and the reserve can make the real game only harder.

**In the relaxed game itself** these hold, each by changing a best line without making it worse:

- A king goes at once: it only uncovers.
- If of both ranks of a pair as many cards are loose as the other has in pyramid and pile, none
  of them ever has to share: each goes with a loose card as soon as it is uncovered. Such cards of
  the pile, and its kings, may be taken out of it beforehand.
- No more loose cards of a rank matter than it has partners in pyramid and pile.
- From the top of the pile down, each card needs a partner of its own that is loose or in the
  pyramid; the first that finds none and all below it stay for ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.cards import KING
from pyramid_env.deals import mix
from pyramid_env.engine import (
    ALL_CARDS,
    MAX_LEGAL,
    PYRAMID,
    apply,
    exposed_of,
    legal_actions,
    passes_left,
    stock_of,
    waste_of,
)
from pyramid_env.jit import highest, kernel, lowest, popcount
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import MAX_STOCK

MEMO_FULL = -1
"""What `fewest_left` returns when the memo has to grow first."""

_FRAME_DTYPE = np.dtype(
    [
        ("state", np.uint64),
        ("pile", np.uint64),
        ("left", np.int64),  # fewest cards left of the lines tried
        ("floor", np.int64),  # no line leaves fewer
        ("n_children", np.int64),  # not tried yet
        ("children", np.uint64, (MAX_LEGAL,)),
        ("piles", np.uint64, (MAX_LEGAL,)),
    ],
    align=True,
)

_N_FRAMES = N_SLOTS + MAX_STOCK + 1
_FIRST_SIZE = 2**11

_0 = np.uint64(0)
_1 = np.uint64(1)
_COUNT_SHIFT = np.uint64(N_SLOTS)
_COUNT_BITS = np.uint64(3)
_COUNT_MASK = np.uint64(7)
_PILE_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd; spreads the pile's bits over the key


class Memo(NamedTuple):
    """The memo of one deal, rules and question, and the scratch space of `fewest_left`.

    A state is one integer: the pyramid's bits, then three bits a rank from ace to queen for the
    number of loose cards. It has an entry for each pile (bits of a position).
    """

    states: NDArray[np.uint64]
    """Hash table of a power of two places; 0 marks an empty one."""

    piles: NDArray[np.uint64]
    left: NDArray[np.int8]
    """The answers: the fewest cards that must stay."""

    n_stored: NDArray[np.int64]
    """int64[1]: entries in the table."""

    frames: NDArray[np.void]
    """The levels of the depth-first search; each removes a card or more."""


def new_memo(size: int = _FIRST_SIZE) -> Memo:
    """An empty memo with a table of `size`, a power of two."""
    return Memo(
        states=np.zeros(size, np.uint64),
        piles=np.empty(size, np.uint64),
        left=np.empty(size, np.int8),
        n_stored=np.zeros(1, np.int64),
        frames=np.empty(_N_FRAMES, _FRAME_DTYPE),
    )


def grown(memo: Memo) -> Memo:
    """The same memo in a table of four times the size."""
    larger = new_memo(4 * memo.states.size)
    _copy(memo, larger)
    return larger


@kernel
def _copy(old: Any, new: Any) -> None:
    new.n_stored[0] = old.n_stored[0]
    for i in range(old.states.size):
        if old.states[i] != _0:
            place = _find(old.states[i], old.piles[i], new)
            new.states[place] = old.states[i]
            new.piles[place] = old.piles[i]
            new.left[place] = old.left[i]


@kernel
def fewest_left(
    position: Any, too_many: Any, win_only: Any, facts: Any, rules: Any, memo: Any
) -> Any:
    """The fewest pyramid cards that must stay; a bound, as the game played is the relaxed one.

    In the last pass, cards that `usable_of` rules out count as gone for good from the start. From
    `too_many` on, any bound will do. With `win_only` it is 0 when the goal may be in reach, and
    any other number stands for "lost". Returns `MEMO_FULL` when the memo has to grow first; nothing
    is lost then. A memo answers for one deal and rules, and either with `win_only` or without.
    """
    pyramid = position & PYRAMID
    loose = position & ~PYRAMID & ALL_CARDS
    if passes_left(position, rules) != 0:
        return _solve(pyramid, loose, _0, win_only, False, facts, rules, memo)
    clear_pile = win_only and rules["goal"] != PYRAMID
    usable = usable_of(position, facts, rules)
    if clear_pile and usable != loose:
        return 1
    left = _solve(pyramid, usable, _0, win_only, False, facts, rules, memo)
    pile = waste_of(position, rules) & usable
    if pile == _0 or left == MEMO_FULL or left >= too_many:
        return left
    return _solve(pyramid, usable ^ pile, pile, win_only, clear_pile, facts, rules, memo)


@kernel
def usable_of(position: Any, facts: Any, rules: Any) -> Any:
    """The cards outside the pyramid that may be removed before the waste is next turned over.

    As bits, rather too many than too few: from the top of the waste down, each card needs a partner
    of its own in the pyramid, the reserve or, where that can be played, the stock. The first that
    finds none and all below it cannot go. This holds with any draw: the partners are those of all
    draws to come, and two cards of the waste never go with each other.
    """
    loose = position & rules["reserve"]
    if rules["stock_playable"]:
        loose |= stock_of(position, rules)
    waste = waste_of(position, rules)
    usable = _usable_pile(waste, position & PYRAMID, _counts_of(loose, facts), facts)
    return position & ~PYRAMID & ALL_CARDS & ~(waste ^ usable)


@kernel
def _usable_pile(pile: Any, pyramid: Any, counts: Any, facts: Any) -> Any:
    """The cards of a pile above the first that finds no partner of its own."""
    left = pile
    while left:
        card = highest(left)
        below = left ^ (_1 << card)
        rank = np.uint64(facts.rank_of[card])
        if rank != KING:
            mate = np.uint64(KING) - rank
            needing = popcount(facts.rank_bits[rank] & pile & ~below)
            if needing > popcount(facts.rank_bits[mate] & pyramid) + _count(counts, mate):
                return pile & ~left
        left = below
    return pile


@kernel
def _solve(
    pyramid: Any,
    loose: Any,
    pile: Any,
    win_only: Any,
    clear_pile: Any,
    facts: Any,
    rules: Any,
    memo: Any,
) -> Any:
    """`fewest_left` of a relaxed position; with `clear_pile` the pile has to go too.

    Depth first with an explicit stack. Its lowest level is no state: the start is its only child.
    """
    frames = memo.frames
    frames[0]["left"] = N_SLOTS
    frames[0]["floor"] = 0
    frames[0]["n_children"] = 0
    counts = _counts_of(loose, facts)
    _append(frames[0], pyramid, counts, pile, win_only, clear_pile, facts)
    depth = np.uint64(0)
    while True:
        frame = frames[depth]
        if frame["n_children"] == 0 or frame["left"] <= frame["floor"]:
            if depth == 0:
                return frame["left"]
            if 2 * memo.n_stored[0] >= memo.states.size:
                return MEMO_FULL
            _store(frame, memo)
            depth -= _1
            frames[depth]["left"] = min(frames[depth]["left"], frame["left"])
            continue
        frame["n_children"] -= 1
        child = np.uint64(frame["n_children"])
        state, pile = frame["children"][child], frame["piles"][child]
        place = _find(state, pile, memo)
        if memo.states[place] == state:
            frame["left"] = min(frame["left"], np.int64(memo.left[place]))
        else:
            depth += _1
            _open(frames[depth], state, pile, win_only, clear_pile, facts, rules)


@kernel
def _find(state: Any, pile: Any, memo: Any) -> Any:
    """The place of a state and pile in the memo, or the empty one where they belong."""
    mask = np.uint64(memo.states.size) - _1
    place = mix(state ^ (pile * _PILE_FACTOR)) & mask
    while memo.states[place] != _0 and (memo.states[place] != state or memo.piles[place] != pile):
        place = (place + _1) & mask
    return place


@kernel
def _store(frame: Any, memo: Any) -> None:
    place = _find(frame["state"], frame["pile"], memo)
    memo.states[place] = frame["state"]
    memo.piles[place] = frame["pile"]
    memo.left[place] = frame["left"]
    memo.n_stored[0] += 1


@kernel
def _open(
    frame: Any, state: Any, pile: Any, win_only: Any, clear_pile: Any, facts: Any, rules: Any
) -> None:
    """Start a level of the search: the bounds of a state, and its children.

    Children are tried from the last: pairs of the pyramid first, as they spare other partners.
    """
    pyramid, counts = state & PYRAMID, state & ~PYRAMID
    frame["state"] = state
    frame["pile"] = pile
    frame["left"] = np.int64(popcount(pyramid))
    frame["floor"] = 0 if win_only else _short_of_partners(state, pile, facts)
    frame["n_children"] = 0
    if clear_pile:
        frame["left"] += np.int64(popcount(pile))
    top = _1 << highest(pile) if pile else _0
    exposed = exposed_of(pyramid)
    cards = exposed | top
    while cards:
        card = lowest(cards)
        bit = _1 << card
        cards ^= bit
        mate = np.uint64(KING - facts.rank_of[card])
        if _count(counts, mate):
            rest = counts - (_1 << _shift(mate))
            if _append(frame, pyramid & ~bit, rest, pile & ~bit, win_only, clear_pile, facts):
                return
    if top:
        cards = facts.rank_bits[np.uint64(KING - facts.rank_of[highest(pile)])] & exposed
        while cards:
            bit = _1 << lowest(cards)
            cards ^= bit
            if _append(frame, pyramid ^ bit, counts, pile ^ top, win_only, clear_pile, facts):
                return
    actions = np.empty(MAX_LEGAL, np.int16)
    for i in range(legal_actions(pyramid, facts.rank_bits, rules, actions)):
        rest = apply(pyramid, np.int64(actions[np.uint64(i)]), rules) & PYRAMID
        if _append(frame, rest, counts, pile, win_only, clear_pile, facts):
            return


@kernel
def _append(
    frame: Any,
    pyramid: Any,
    counts: Any,
    pile: Any,
    win_only: Any,
    clear_pile: Any,
    facts: Any,
) -> bool:
    """Bring a state to its normal form and make it a child, unless it is solved or hopeless.

    Returns whether nothing has to stay: then no other child is needed.
    """
    free = _free_cards(pyramid | pile, counts, facts)
    pile &= ~free
    going = exposed_of(pyramid) & free
    while going:
        pyramid ^= going
        going = exposed_of(pyramid) & free
    usable = _usable_pile(pile, pyramid, counts, facts)
    if clear_pile and usable != pile:
        return False
    pile = usable if pyramid or clear_pile else _0
    state = pyramid | _cut_counts(counts, pyramid | pile, facts)
    if state == _0 and pile == _0:
        frame["left"] = 0
        return True
    if win_only and _short_of_partners(state, pile, facts):
        return False
    child = np.uint64(frame["n_children"])
    frame["children"][child] = state
    frame["piles"][child] = pile
    frame["n_children"] += 1
    return False


@kernel
def _free_cards(cards: Any, counts: Any, facts: Any) -> Any:
    """Kings, and all cards of the ranks that never have to share loose partners, as bits."""
    free = facts.rank_bits[np.uint64(KING)]
    for i in range(1, (KING + 1) // 2):
        low, high = np.uint64(i), np.uint64(KING - i)
        lows, highs = facts.rank_bits[low], facts.rank_bits[high]
        if _count(counts, low) >= popcount(highs & cards) and (
            _count(counts, high) >= popcount(lows & cards)
        ):
            free |= lows | highs
    return free


@kernel
def _cut_counts(counts: Any, cards: Any, facts: Any) -> Any:
    """Of each rank no more loose cards than it has partners among `cards`."""
    cut = _0
    for i in range(1, KING):
        rank = np.uint64(i)
        mates = popcount(facts.rank_bits[np.uint64(KING) - rank] & cards)
        cut |= min(_count(counts, rank), mates) << _shift(rank)
    return cut


@kernel
def _short_of_partners(state: Any, pile: Any, facts: Any) -> Any:
    """Pyramid cards that have to stay because too few partners are left."""
    pyramid = state & PYRAMID
    short = np.int64(0)
    for i in range(1, KING):
        rank, mate = np.uint64(i), np.uint64(KING - i)
        cards = popcount(facts.rank_bits[rank] & pyramid)
        partners = popcount(facts.rank_bits[mate] & (pyramid | pile)) + _count(state, mate)
        if cards > partners:
            short += np.int64(cards - partners)
    return short


@kernel
def _counts_of(cards: Any, facts: Any) -> Any:
    """How many of some cards are of each rank, in the places where a state has the loose ones."""
    counts = _0
    for i in range(1, KING):
        rank = np.uint64(i)
        counts |= popcount(facts.rank_bits[rank] & cards) << _shift(rank)
    return counts


@kernel
def _count(counts: Any, rank: Any) -> Any:
    return (counts >> _shift(rank)) & _COUNT_MASK


@kernel
def _shift(rank: Any) -> Any:
    return _COUNT_SHIFT + _COUNT_BITS * (rank - _1)
