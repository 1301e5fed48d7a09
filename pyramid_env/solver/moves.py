"""Which moves of a position a search has to try, and in what order.

Each rule below drops moves of which another does at least as well. Two kinds of argument recur:

*Nothing is missed.* Let some cards of the pyramid or the reserve be removed now instead of later,
or never. All other moves of a line can still be made: a pyramid with fewer cards has the others
exposed no later (a covered pair stays one, too: it needs a card's other cover gone, never there).

*Nothing shifts.* With ``draw=1`` the same holds for cards of stock and waste: the others keep their
order, and drawn one by one, their tops are those of the line or, where the line has a removed card
on top, the next card. Draws and recycles that moved only removed cards are left out. With
``draw=3`` a removed card shifts which cards all later draws show: there such moves stay a choice.

So *a pair can be brought forward*: a line that removes two cards together at some time can remove
them as soon as that is legal, with the same cards gone in the end and in no more moves. It holds
for pairs within pyramid and reserve under any rules, and for all pairs where ``draw=1``. Neither
argument can end a game with unlimited passes early: as long as the line has another removal ahead,
so has the changed one.

**Excluded pairs.** When a search has tried a pair that can be brought forward, and is done with it,
no line from the same position, with whatever other move first, has to remove those two cards
together later: that line, brought forward, was among those searched. So the pair is excluded while
the other moves are searched, and each card of it has one partner less to go with. (The table of
positions met may ignore this. Of a position that was left, the lines without its excluded pairs
were searched there, and those with one of them, brought forward, before; so all are done with.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.cards import KING
from pyramid_env.engine import (
    PYRAMID,
    available_of,
    legal_removals,
    removed_by,
    stock_of,
    turn_action,
)
from pyramid_env.jit import inline_kernel, kernel, lowest, popcount
from pyramid_env.pyramid import N_SLOTS, Slot, lies_above

WIN, CARDS, MOVES = range(3)
"""What a search asks: is the goal in reach, how many pyramid cards can go, in how few moves."""

_0 = np.uint64(0)
_1 = np.uint64(1)

_HELD_UP_BY = np.array(
    [
        sum(
            1 << slot for slot in range(N_SLOTS) if slot == low or lies_above(Slot(slot), Slot(low))
        )
        for low in range(N_SLOTS)
    ],
    np.uint64,
)
"""uint64[28]: the cards that stay as long as a pyramid card does: itself, and all it covers."""


@inline_kernel
def moves_to_try(
    position: Any,
    question: Any,
    partners: Any,
    facts: Any,
    rules: Any,
    actions: Any,
    removed: Any,
) -> Any:
    """Write the moves that a search has to try, and return how many.

    As `actions` (int16[`MAX_LEGAL`]), with the cards that each removes (uint64[`MAX_LEGAL`], bits).
    `partners` (uint64[52]) are those that each card may still go with, excluded pairs left out.
    Removals that leave the pyramid alone come first, then those with a card from outside, pairs of
    the pyramid, and last draw or recycle: greedy for cards that are hard to get at.
    """
    turn = turn_action(position, rules)
    count = 0
    for i in range(legal_removals(position, facts["rank_bits"], rules, actions)):
        action = actions[np.uint64(i)]
        cards = removed_by(action, position, rules)
        if not _is_king(cards):
            if partners[lowest(cards)] & cards == _0:
                continue
        elif _goes_at_once(cards, question, rules):
            actions[0], removed[0] = action, cards
            return 1
        elif cards & rules["reserve"]:
            continue
        elif rules["draw"] == 1 and cards & stock_of(position, rules):
            turn = -1
        actions[np.uint64(count)], removed[np.uint64(count)] = action, cards
        count += 1
    card = _card_to_settle(position, question, partners, facts, rules, removed, count)
    if card:
        return _keep_those_with(card, actions, removed, count)
    _sort(actions, removed, count)
    if turn >= 0:
        actions[np.uint64(count)], removed[np.uint64(count)] = turn, _0
        count += 1
    return count


@kernel
def _is_king(cards: Any) -> Any:
    """Whether a removal takes one card."""
    return cards & (cards - _1) == _0


@kernel
def _goes_at_once(king: Any, question: Any, rules: Any) -> Any:
    """Whether a king that can be removed is, before anything else.

    - A king of the pyramid goes at once, under any rules: nothing is missed, as it takes no
      partner, and any line to the goal has to remove it at the same cost.
    - A king of the reserve covers nothing. For the fewest moves to clear the pyramid it stays for
      ever; otherwise it goes at once.
    - A king on top of waste or stock goes at once where ``draw=1``: nothing shifts. Not so for the
      fewest moves to clear the pyramid, where it may stay. There, instead of drawing a king that
      could be removed from the stock, remove it: that costs the same, and nothing shifts.
    """
    if king & PYRAMID:
        return True
    may_stay = question == MOVES and rules["goal"] == PYRAMID
    return not may_stay and can_be_brought_forward(king, rules)


@kernel
def can_be_brought_forward(cards: Any, rules: Any) -> Any:
    """Whether removing the cards as soon as that is legal changes nothing else; see above."""
    return rules["draw"] == 1 or cards & rules["stock"] == _0


@inline_kernel
def _card_to_settle(
    position: Any, question: Any, partners: Any, facts: Any, rules: Any, removed: Any, count: int
) -> Any:
    """A card, as its bit, whose removals are all that has to be tried; 0 for none.

    A card of the goal that could go now with each partner that it has left: a line to the goal
    removes it with one of them, and that pair can be brought forward. The one with the fewest
    partners is taken. With ``"cards"`` no card has to go; there it takes two cards that have no
    partner but each other.
    """
    ready = _0
    for i in range(count):
        ready |= removed[np.uint64(i)]
    cards = ready & ~facts["rank_bits"][np.uint64(KING)]
    if question != CARDS:
        cards &= rules["goal"]
    best, fewest = _0, np.uint64(64)
    while cards:
        card = _1 << lowest(cards)
        cards ^= card
        wanted = partners[lowest(card)] & position
        if (
            wanted & ~ready == _0
            and popcount(wanted) < fewest
            and (question != CARDS or _have_none_but_each_other(card, wanted, position, partners))
            and can_be_brought_forward(card | wanted, rules)
            and _are_all_ready(card | wanted, card, removed, count)
        ):
            best, fewest = card, popcount(wanted)
    return best


@kernel
def _have_none_but_each_other(card: Any, wanted: Any, position: Any, partners: Any) -> Any:
    """Whether the cards `wanted` by a card are one, and that wants no other."""
    return wanted & (wanted - _1) == _0 and partners[lowest(wanted)] & position == card


@kernel
def _are_all_ready(cards: Any, card: Any, removed: Any, count: int) -> Any:
    """Whether some removal takes a card with each of the others."""
    for i in range(count):
        if removed[np.uint64(i)] & card:
            cards &= ~removed[np.uint64(i)]
    return cards == _0


@kernel
def _keep_those_with(card: Any, actions: Any, removed: Any, count: int) -> int:
    """Drop the moves that do not remove a card; returns how many are left."""
    n_kept = 0
    for i in range(count):
        if removed[np.uint64(i)] & card:
            actions[np.uint64(n_kept)] = actions[np.uint64(i)]
            removed[np.uint64(n_kept)] = removed[np.uint64(i)]
            n_kept += 1
    return n_kept


@kernel
def _sort(actions: Any, removed: Any, count: int) -> None:
    """Put removals of fewer pyramid cards first."""
    for i in range(1, count):
        action, cards = actions[np.uint64(i)], removed[np.uint64(i)]
        at = i
        while at > 0 and popcount(removed[np.uint64(at - 1)] & PYRAMID) > popcount(cards & PYRAMID):
            actions[np.uint64(at)] = actions[np.uint64(at - 1)]
            removed[np.uint64(at)] = removed[np.uint64(at - 1)]
            at -= 1
        actions[np.uint64(at)], removed[np.uint64(at)] = action, cards


@inline_kernel
def stuck_cards(position: Any, question: Any, partners: Any, facts: Any, rules: Any) -> Any:
    """Cards that have to go but cannot: available ones without a partner, and those they hold up.

    With ``"cards"`` those are the pyramid's, else the goal's.
    """
    cards = available_of(position, rules) & ~facts["rank_bits"][np.uint64(KING)]
    cards &= PYRAMID if question == CARDS else rules["goal"]
    stuck = _0
    while cards:
        card = lowest(cards)
        cards &= cards - _1
        if partners[card] & position == _0:
            stuck |= held_up_by(card) & position
    return stuck


@kernel
def held_up_by(card: Any) -> Any:
    """The cards, as bits, that stay as long as a card (its bit's index) does."""
    return _HELD_UP_BY[card] if card < np.uint64(N_SLOTS) else _1 << card
