"""How many moves to the goal there must be at least."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.cards import KING
from pyramid_env.engine import ALL_CARDS, PYRAMID, passes_left, stock_of
from pyramid_env.jit import kernel, lowest, popcount
from pyramid_env.solver.relaxation import usable_of
from pyramid_env.solver.tally import FIELDS, larger_of_pairs, missing, of_partners, tally_of, total

OUT_OF_REACH = np.int64(2**31 - 1)
"""The bound where the goal cannot be reached; more than any number of moves."""

_0 = np.uint64(0)
_1 = np.uint64(1)
_FIELD = np.uint64(15)


@kernel
def fewest_moves_bound(position: Any, partners: Any, facts: Any, rules: Any) -> Any:
    """A number of moves that no line to the goal can beat.

    `partners` (uint64[52]) are the cards that each may still go with.
    """
    if rules["goal"] == PYRAMID:
        return _bound_for_pyramid(position, partners, facts, rules)
    return _bound_for_all(position, facts, rules)


@kernel
def _bound_for_all(position: Any, facts: Any, rules: Any) -> Any:
    """The removals of all cards, and the draws without which the stock cannot go.

    A king takes a removal, and of two ranks that sum to 13 the cards of the more frequent one take
    one each. A stock that cannot be played is drawn card by card, all of it. One that can: a card
    played from its top needs a partner that is not in it, or was drawn; so of two ranks, as many
    have to be drawn as one has cards in the stock more than the other elsewhere.
    """
    stock = stock_of(position, rules)
    in_stock = tally_of(stock, facts["tallies"])
    elsewhere = tally_of(position & ALL_CARDS & ~stock, facts["tallies"])
    removals = np.int64(popcount(facts["rank_bits"][np.uint64(KING)] & position))
    removals += total(larger_of_pairs(in_stock + elsewhere))
    drawn = np.int64(popcount(stock))
    if rules["stock_playable"]:
        drawn = total(larger_of_pairs(missing(in_stock, of_partners(elsewhere))))
    return removals + _draws(drawn, rules)


@kernel
def _bound_for_pyramid(position: Any, partners: Any, facts: Any, rules: Any) -> Any:
    """The removals of the pyramid, and the draws and recycles to get at the partners it needs.

    Stock cards, and behind them, one recycle later, those of the waste that cannot go before
    (`usable_of`), have to be passed in their order down to the last that the pyramid cannot do
    without: where a rank has more cards there than partners at hand, so many of its partners.
    """
    stock = stock_of(position, rules)
    usable = usable_of(position, partners, facts, rules)
    buried = position & ~PYRAMID & ALL_CARDS & ~usable
    at_hand = tally_of(position & PYRAMID | usable & ~stock, facts["tallies"])
    needs = missing(tally_of(position & PYRAMID, facts["tallies"]), of_partners(at_hand))
    from_stock, from_buried = _0, _0
    for i in range(1, KING):
        needed = (needs >> FIELDS[np.uint64(i)]) & _FIELD
        if needed == _0:
            continue
        mates = facts["rank_bits"][np.uint64(KING - i)]
        from_stock |= _first_to(mates & stock, needed, stock)
        needed = _more(needed, popcount(mates & stock))
        if needed > popcount(mates & buried):
            return OUT_OF_REACH
        from_buried |= _first_to(mates & buried, needed, buried)
    if from_buried == _0:
        return _removals_and_draws(position, from_stock, facts, rules)
    if passes_left(position, rules) == 0:
        return OUT_OF_REACH
    if rules["stock_playable"]:
        return _removals_and_draws(position, stock | from_buried, facts, rules) + 1
    draws = _draws(popcount(stock), rules) + _draws(popcount(from_buried), rules)
    return _removals_and_draws(position, _0, facts, rules) + draws + 1


@kernel
def _removals_and_draws(position: Any, passed: Any, facts: Any, rules: Any) -> Any:
    """The moves to clear the pyramid when the stock cards `passed` (bits) must be passed.

    The pyramid's kings take a removal each. Of two ranks that sum to 13, it has p and q cards, and
    takes max(p, q) removals, as none takes two of a rank.

    If the stock can be played, with ``draw=1`` each card passed costs a move: its draw, or its
    removal from the stock's top. That removal may be one of those max(p, q). Let t be the pairs
    within the pyramid, and let a cards of the first rank and b of the second be passed. Then p-t
    removals take a card of the second rank, of which b may be paid already: t + max(0, p-t-b) +
    max(0, q-t-a) come on top, which is max(0, p-b, q-a) at least, whatever t. With other draws, no
    cost of passing is counted. If the stock cannot be played, all passed cards are drawn and no
    removal is paid by that.
    """
    pyramid = position & PYRAMID
    pays = _0
    draws = np.int64(0)
    if not rules["stock_playable"]:
        draws = _draws(popcount(passed), rules)
    elif rules["draw"] == 1:
        pays = passed
        draws = np.int64(popcount(passed))
    removals = np.int64(popcount(facts["rank_bits"][np.uint64(KING)] & pyramid))
    paid = of_partners(tally_of(pays, facts["tallies"]))
    removals += total(larger_of_pairs(missing(tally_of(pyramid, facts["tallies"]), paid)))
    return removals + draws


@kernel
def _first_to(wanted: Any, count: Any, cards: Any) -> Any:
    """Of some cards those up to the wanted one of that number; none for number 0."""
    if count == _0 or wanted == _0:
        return _0
    for _ in range(np.int64(min(count, popcount(wanted))) - 1):
        wanted &= wanted - _1
    return cards & ((_1 << (lowest(wanted) + _1)) - _1)


@kernel
def _draws(count: Any, rules: Any) -> Any:
    """Draws that it takes to draw so many cards."""
    return (np.int64(count) + rules["draw"] - 1) // rules["draw"]


@kernel
def _more(a: Any, b: Any) -> Any:
    """By how much a is more than b, both unsigned; 0 when it is not."""
    return a - b if a > b else _0
