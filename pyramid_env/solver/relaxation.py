"""A relaxed game that is easily solved: what is out of reach there is out of reach in the real one.

The pyramid is the real one; all cards outside it are *loose*, always available. No card is ever
drawn. In the last pass, cards of the waste that cannot go any more (`usable_of`) are not loose but
gone for good.

**Why it bounds the real game, under any rules.** Take a real line and leave out its draws,
recycles, and removals outside the pyramid. What is left can be played in the relaxed game in the
same order: every removal there takes a king, two pyramid cards, or one with a card from outside,
and what covers what is the same in both (pairs of the pyramid, covered ones included, are the
engine's). Loose cards are there whenever the real line has them. The removals left out only take
loose cards, and more of those never hurt here. So the number of cards drawn at once, a face-down
stock, the passes and the reserve can make the real game only harder.

**In the relaxed game itself** these hold, each by changing a best line without making it worse:

- A king goes at once: it only uncovers.
- If of both ranks of a pair as many cards are loose as the other has in the pyramid, none of them
  ever has to share: each goes with a loose card as soon as it is uncovered.
- No more loose cards of a rank matter than it has partners in the pyramid.

A state is the pyramid and the tally of the loose cards. A deal has a few hundred of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.deals import mix
from pyramid_env.engine import (
    ALL_CARDS,
    MAX_LEGAL,
    PYRAMID,
    exposed_of,
    legal_removals,
    passes_left,
    removed_by,
    stock_of,
    waste_of,
)
from pyramid_env.jit import highest, inline_kernel, kernel, lowest, popcount
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.solver.tally import at_least, missing, of_partners, smaller, tally_of, total

MEMO_FULL = -1
"""What `fewest_left` returns when the memo has to grow first."""

_UNKNOWN = np.int64(-2)
_FIRST_SIZE = 2**9

_0 = np.uint64(0)
_1 = np.uint64(1)
_LEFT_SHIFT = np.uint64(N_SLOTS)
_TALLY_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd; spreads the tally's bits over the key


_STATE_DTYPE = np.dtype([("pyramid", np.uint64), ("tally", np.uint64)])
_CHILDREN_DTYPE = np.dtype(
    [
        ("pyramids", np.uint64, (MAX_LEGAL,)),
        ("tallies", np.uint64, (MAX_LEGAL,)),
        ("actions", np.int16, (MAX_LEGAL,)),
    ],
    align=True,
)


class Memo(NamedTuple):
    """The states solved so far, of one deal, rules and question: a hash table."""

    states: NDArray[np.void]
    """Each state's pyramid, above its bits the answer, and the tally of its loose cards; a pyramid
    of 0 marks an empty place."""

    n_stored: NDArray[np.int64]
    """int64[1]: entries in the table."""

    children: NDArray[np.void]
    """Room for the states after each removal, by how many cards the pyramid has."""


def new_memo(size: int = _FIRST_SIZE) -> Memo:
    """An empty memo with a table of `size`, a power of two."""
    return Memo(
        states=np.zeros(size, _STATE_DTYPE),
        n_stored=np.zeros(1, np.int64),
        children=np.empty(N_SLOTS + 1, _CHILDREN_DTYPE),
    )


@kernel
def forget(memo: Any) -> None:
    """Leave nothing in a memo."""
    for i in range(memo.states.size):
        memo.states[np.uint64(i)]["pyramid"] = _0
    memo.n_stored[0] = 0


def grown(memo: Memo) -> Memo:
    """The same memo in a table of four times the size."""
    larger = new_memo(4 * memo.states.size)
    _copy(memo, larger)
    return larger


@kernel
def _copy(old: Any, new: Any) -> None:
    for i in range(old.states.size):
        state = old.states[np.uint64(i)]
        if state["pyramid"] != _0:
            left = np.int64(state["pyramid"] >> _LEFT_SHIFT)
            _store(state["pyramid"] & PYRAMID, state["tally"], left, new)


@inline_kernel
def _find(pyramid: Any, tally: Any, states: Any) -> Any:
    """The place of a state in the table, or the empty one where it belongs."""
    mask = np.uint64(states.size) - _1
    place = mix(pyramid ^ (tally * _TALLY_FACTOR)) & mask
    while states[place]["pyramid"] != _0 and (
        states[place]["pyramid"] & PYRAMID != pyramid or states[place]["tally"] != tally
    ):
        place = (place + _1) & mask
    return place


@kernel
def _store(pyramid: Any, tally: Any, left: Any, memo: Any) -> None:
    state = memo.states[_find(pyramid, tally, memo.states)]
    state["pyramid"] = pyramid | (np.uint64(left) << _LEFT_SHIFT)
    state["tally"] = tally
    memo.n_stored[0] += 1


@inline_kernel
def fewest_left(
    position: Any, win_only: Any, partners: Any, facts: Any, rules: Any, memo: Any
) -> Any:
    """The fewest pyramid cards that must stay: no line of the real game leaves fewer.

    `partners` (uint64[52]) are the cards that each may still go with.
    With `win_only` it is 0 when the goal may be in reach, and any other number stands for "lost".
    Returns `MEMO_FULL` when the memo has to grow first; nothing is lost then. A memo answers for
    one deal and rules, and either with `win_only` or without.
    """
    loose = position & ~PYRAMID & ALL_CARDS
    if passes_left(position, rules) == 0:
        usable = usable_of(position, partners, facts, rules)
        if win_only and usable != loose and rules["goal"] != PYRAMID:
            return np.int64(1)
        loose = usable
    tally = tally_of(loose, facts["tallies"])
    left, pyramid, tally = _known(position & PYRAMID, tally, win_only, facts, memo.states)
    return _solve(pyramid, tally, win_only, facts, rules, memo) if left == _UNKNOWN else left


@inline_kernel
def usable_of(position: Any, partners: Any, facts: Any, rules: Any) -> Any:
    """The cards outside the pyramid that may be removed before the waste is next turned over.

    As bits, rather too many than too few: from the top of the waste down, each card needs a partner
    of its own in the pyramid, the reserve or, where that can be played, the stock, and one of
    `partners`. The first that finds none and all below it cannot go. This holds with any draw: the
    partners are those of all draws to come, and two cards of the waste never go with each other.
    """
    waste = waste_of(position, rules)
    elsewhere = position & (PYRAMID | rules["reserve"])
    if rules["stock_playable"]:
        elsewhere |= stock_of(position, rules)
    available = of_partners(tally_of(elsewhere, facts["tallies"]))
    needed = _0
    while waste:
        card = highest(waste)
        needed += facts["ones"][card]
        is_king = facts["ones"][card] == _0
        if missing(needed, available) or (partners[card] & elsewhere == _0 and not is_king):
            break
        waste ^= _1 << card
    return position & ~PYRAMID & ALL_CARDS & ~waste


@inline_kernel
def _known(pyramid: Any, tally: Any, win_only: Any, facts: Any, states: Any) -> Any:
    """What is known of a state, or `_UNKNOWN`; with the pyramid and tally of its normal form."""
    pyramid = _without_free_cards(pyramid, tally, facts)
    in_pyramid = tally_of(pyramid, facts["tallies"])
    tally = smaller(tally, of_partners(in_pyramid))
    left = _UNKNOWN
    if pyramid == _0:
        left = np.int64(0)
    elif win_only and _short_of_partners(in_pyramid, tally):
        left = np.int64(1)
    else:
        entry = states[_find(pyramid, tally, states)]["pyramid"]
        if entry != _0:
            left = np.int64(entry >> _LEFT_SHIFT)
    return left, pyramid, tally


@kernel
def _short_of_partners(in_pyramid: Any, loose: Any) -> Any:
    """Pyramid cards that have to stay as too few partners are left, as a tally."""
    return missing(in_pyramid, of_partners(in_pyramid + loose))


@kernel
def _solve(pyramid: Any, tally: Any, win_only: Any, facts: Any, rules: Any, memo: Any) -> Any:
    """`fewest_left` of a state in its normal form that is not known: every removal is tried."""
    in_pyramid = tally_of(pyramid, facts["tallies"])
    short = total(_short_of_partners(in_pyramid, tally))
    left = np.int64(popcount(pyramid))
    children = memo.children[popcount(pyramid)]
    for i in range(_removals(pyramid, tally, facts, rules, children)):
        child = np.uint64(i)
        best, rest, loose = _known(
            children["pyramids"][child], children["tallies"][child], win_only, facts, memo.states
        )
        if best == _UNKNOWN:
            best = _solve(rest, loose, win_only, facts, rules, memo)
        left = min(left, best)
        if left <= short:
            break
    if left == MEMO_FULL or 2 * memo.n_stored[0] >= memo.states.size:
        return np.int64(MEMO_FULL)
    _store(pyramid, tally, left, memo)
    return left


@kernel
def _removals(pyramid: Any, tally: Any, facts: Any, rules: Any, children: Any) -> Any:
    """Write the states after each removal and return how many.

    Pairs of the pyramid come first, as they spare other partners.
    """
    pyramids, tallies, actions = children["pyramids"], children["tallies"], children["actions"]
    count = legal_removals(pyramid, facts["rank_bits"], rules, actions)
    for i in range(count):
        child = np.uint64(i)
        pyramids[child] = pyramid & ~removed_by(actions[child], pyramid, rules)
        tallies[child] = tally
    exposed = exposed_of(pyramid)
    while exposed:
        card = lowest(exposed)
        exposed &= exposed - _1
        mate = of_partners(facts["ones"][card])
        if missing(mate, tally) == _0:
            pyramids[np.uint64(count)] = pyramid & ~(_1 << card)
            tallies[np.uint64(count)] = tally - mate
            count += 1
    return count


@inline_kernel
def _without_free_cards(pyramid: Any, tally: Any, facts: Any) -> Any:
    """The pyramid when kings, and cards that never have to share loose partners, are gone."""
    while True:
        partners = of_partners(tally_of(pyramid, facts["tallies"]))
        enough = at_least(tally, partners)
        free = facts["rank_pairs"][_index(enough & of_partners(enough))]
        going = exposed_of(pyramid) & free
        if going == _0:
            return pyramid
        while going:
            pyramid ^= going
            going = exposed_of(pyramid) & free


@kernel
def _index(tops: Any) -> Any:
    """Squeeze the top bits of the fields of ranks 1 to 6 into six neighbouring bits."""
    bits = (tops >> np.uint64(3)) & np.uint64(0x111111)
    twos = (bits | (bits >> np.uint64(3))) & np.uint64(0x030303)
    return (twos | (twos >> np.uint64(6)) | (twos >> np.uint64(12))) & np.uint64(63)
