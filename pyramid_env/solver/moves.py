"""Which moves of a position a search has to try, and in what order.

Each rule below drops moves of which another does at least as well. Two kinds of argument recur:

*Nothing is missed.* Let some cards of the pyramid or the reserve be removed now instead of later,
or never. All other moves of a line can still be made: a pyramid with fewer cards has the others
exposed no later (a covered pair stays one, too: it needs a card's other cover gone, never there).

*Nothing shifts.* With ``draw=1`` the same holds for cards of stock and waste: the others keep their
order, and drawn one by one, their tops are those of the line or, where the line has a removed card
on top, the next card. Draws and recycles that moved only removed cards are left out. With
``draw=3`` a removed card shifts which cards all later draws show: there such moves stay a choice.

Neither can end a game with unlimited passes early: as long as the line has another removal ahead,
so has the changed one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.engine import PYRAMID, card_at, legal_actions
from pyramid_env.jit import kernel
from pyramid_env.pyramid import N_SLOTS, STOCK_TOP, WASTE_TOP

WIN, CARDS, MOVES = range(3)
"""What a search asks: is the goal in reach, how many pyramid cards can go, in how few moves."""

_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel
def moves_to_try(position: Any, question: Any, facts: Any, rules: Any, actions: Any) -> Any:
    """Write the actions (int16[`MAX_LEGAL`]) that a search has to try, and return how many.

    Removals that leave the pyramid alone come first, then those with a card from outside, pairs of
    the pyramid, and last draw or recycle: greedy for cards that are hard to get at.
    """
    count = legal_actions(position, facts.rank_bits, rules, actions)
    count = _settle_kings(question, rules, actions, count)
    for i in range(count):
        action = np.int64(actions[np.uint64(i)])
        if is_forced_pair(position, action, question, facts, rules):
            actions[0] = action
            return 1
    _sort_removals(rules, actions, count)
    return count


@kernel
def _settle_kings(question: Any, rules: Any, actions: Any, count: int) -> int:
    """Keep one king alone if it can go at once, else drop moves that its rules make useless.

    - A king of the pyramid goes at once, under any rules: nothing is missed, as it takes no
      partner, and any line to the goal has to remove it at the same cost.
    - A king of the reserve covers nothing. For the fewest moves to clear the pyramid it stays for
      ever; otherwise it goes at once.
    - A king on top of waste or stock goes at once where ``draw=1``: nothing shifts. Not so for the
      fewest moves to clear the pyramid, where it may stay. There, instead of drawing a king that
      could be removed from the stock, remove it: that costs the same, and nothing shifts.
    """
    may_stay = question == MOVES and rules["goal"] == PYRAMID
    n_kept = 0
    king_on_stock = False
    for i in range(count):
        action = actions[np.uint64(i)]
        first = np.int64(rules["first_place"][np.uint64(action)])
        is_king = first >= 0 and rules["second_place"][np.uint64(action)] < 0
        from_stock = is_from_stock(first)
        if is_king and (
            first < N_SLOTS or (not may_stay and (not from_stock or rules["draw"] == 1))
        ):
            actions[0] = action
            return 1
        if is_king and first == STOCK_TOP and rules["draw"] == 1:
            king_on_stock = True
        if (is_king and not from_stock) or (king_on_stock and action == rules["draw_action"]):
            continue
        actions[np.uint64(n_kept)] = action
        n_kept += 1
    return n_kept


@kernel
def is_from_stock(place: Any) -> Any:
    """Whether a place is the top of the waste or of the stock."""
    return place in (WASTE_TOP, STOCK_TOP)


@kernel
def is_forced_pair(position: Any, action: Any, question: Any, facts: Any, rules: Any) -> Any:
    """Whether an action removes a pair that every line worth its cost removes, sooner or later.

    That is so when a card of the goal has one partner left, of all the cards that it could ever go
    with: a line to the goal removes the two together. With ``"cards"`` no card has to go, so there
    each must be the other's only partner: then either stays of no use to anyone else. Such a pair
    goes at once if both lie in pyramid and reserve (nothing is missed), or if ``draw=1`` (nothing
    shifts).
    """
    first = np.int64(rules["first_place"][np.uint64(action)])
    second = np.int64(rules["second_place"][np.uint64(action)])
    if second < 0 or (rules["draw"] != 1 and (is_from_stock(first) or is_from_stock(second))):
        return False
    a, b = card_at(first, position, rules), card_at(second, position, rules)
    a_has_one = _has_one_partner(a, position, facts)
    b_has_one = _has_one_partner(b, position, facts)
    if question == CARDS:
        return a_has_one and b_has_one
    goal = rules["goal"]
    return (a_has_one and (goal >> a) & _1 != _0) or (b_has_one and (goal >> b) & _1 != _0)


@kernel
def _has_one_partner(card: Any, position: Any, facts: Any) -> Any:
    """Whether one partner of a removable card is left (that it has one is known)."""
    partners = facts.partners[card] & position
    return partners & (partners - _1) == _0


@kernel
def _sort_removals(rules: Any, actions: Any, count: int) -> None:
    """Put removals in descending order of their ids, and leave draw or recycle last."""
    for i in range(1, count):
        action = actions[np.uint64(i)]
        if action == rules["draw_action"] or action == rules["recycle_action"]:
            break
        at = i
        while at > 0 and actions[np.uint64(at - 1)] < action:
            actions[np.uint64(at)] = actions[np.uint64(at - 1)]
            at -= 1
        actions[np.uint64(at)] = action
