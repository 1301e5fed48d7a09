"""The rules of the game as compiled kernels on one 64-bit position.

A position is one unsigned integer, and a value: playing makes a new one.

::

    bit 63 ... 57   56 ... 52   51 ................. 28+r   27+r .. 28   27 .................. 0
       the pass      drawn       the stock in draw order     r reserve    pyramid, 27 is G7

A set bit is a card that remains. *Drawn* is the place of the next card to be drawn, so the stock's
remaining cards before it are the waste, the last of them its top. It always names a card that
remains (or the stock's size when none is left to draw), so each situation is exactly one integer.
*The pass* counts from 0; with unlimited passes it stays at 1 after the first.

Two things of a deal and its rules go with a position: `rank_bits` (uint64[14]), for each rank the
places of its cards as bits, and the record `rules` (see `RULES_DTYPE`). The kernels trust their
callers; `Game` and the environments check.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import DRAW, RECYCLE, action_table
from pyramid_env.cards import KING, N_CARDS, N_RANKS
from pyramid_env.jit import highest, inline_kernel, kernel, lowest, popcount
from pyramid_env.pyramid import (
    FIRST_RESERVE,
    N_PLACES,
    N_ROWS,
    N_SLOTS,
    ROW_OF,
    ROW_START,
    STOCK_TOP,
    WASTE_TOP,
)
from pyramid_env.rules import Rules

Position = NewType("Position", int)

MAX_ACTIONS = 565
"""Size of the largest action table: reserve of 7 and covered pairs."""

MAX_LEGAL = 64
"""More than the legal actions of any position: at most 16 cards are available at once."""

RULES_DTYPE = np.dtype(
    [
        ("goal", np.uint64),  # the cards that must go
        ("passes", np.int64),  # 0: unlimited
        ("draw", np.int64),
        ("stock_playable", np.bool_),
        ("covered_pairs", np.bool_),
        ("first_stock", np.uint64),  # bit of the stock's first place
        ("stock", np.uint64),  # bits of all stock places
        ("reserve", np.uint64),  # bits of the reserve
        ("draw_action", np.int64),
        ("recycle_action", np.int64),
        ("n_actions", np.int64),
        ("first_place", np.int16, (MAX_ACTIONS,)),  # of each action; -1 for draw and recycle
        ("second_place", np.int16, (MAX_ACTIONS,)),  # -1 for all but pairs
        ("place_of", np.uint64, (N_CARDS,)),  # of each card; the waste's for all of the stock
        ("king_action", np.int16, (N_PLACES,)),
        ("pair_action", np.int16, (N_PLACES, N_PLACES)),  # symmetric
    ],
    align=True,
)
"""What the kernels know of `Rules`, action table included."""

PYRAMID = np.uint64(2**N_SLOTS - 1)
ALL_CARDS = np.uint64(2**N_CARDS - 1)

_0 = np.uint64(0)
_1 = np.uint64(1)
_DRAWN_SHIFT = np.uint64(52)
_DRAWN_FIELD = np.uint64(31 << 52)
_PASS_SHIFT = np.uint64(57)
_WASTE_TOP = np.int64(WASTE_TOP)
_STOCK_TOP = np.int64(STOCK_TOP)
_RESERVE_TO_PLACE = np.uint64(FIRST_RESERVE - N_SLOTS)
_ROW_BITS = np.array([(2 ** (row + 1) - 1) << ROW_START[row] for row in range(N_ROWS)], np.uint64)
_ROW_OF = np.array(ROW_OF, np.uint64)


@cache
def compile_rules(rules: Rules) -> NDArray[np.void]:
    """The rules as kernels read them: a read-only array of one `RULES_DTYPE` record."""
    table = action_table(rules)
    array = np.zeros(1, dtype=RULES_DTYPE)
    record: Any = array[0]
    record["goal"] = {"pyramid": PYRAMID, "all": ALL_CARDS}[rules.goal]
    record["passes"] = rules.passes or 0
    for field in ("draw", "stock_playable", "covered_pairs"):
        record[field] = getattr(rules, field)
    record["first_stock"] = N_SLOTS + rules.reserve
    record["stock"] = 2**N_CARDS - 2 ** (N_SLOTS + rules.reserve)
    record["reserve"] = 2 ** (N_SLOTS + rules.reserve) - 2**N_SLOTS
    record["draw_action"] = table.action(DRAW)
    record["recycle_action"] = table.action(RECYCLE)
    record["n_actions"] = len(table)
    record["place_of"] = WASTE_TOP
    record["place_of"][:N_SLOTS] = np.arange(N_SLOTS)
    record["place_of"][N_SLOTS:][: rules.reserve] = FIRST_RESERVE + np.arange(rules.reserve)
    for name in ("first_place", "second_place", "king_action", "pair_action"):
        record[name] = -1
    for action, move in enumerate(table):
        if move.kind == "king":
            record["first_place"][action] = move.places[0]
            record["king_action"][move.places[0]] = action
        elif move.kind == "pair":
            a, b = move.places
            record["first_place"][action], record["second_place"][action] = a, b
            record["pair_action"][a, b] = record["pair_action"][b, a] = action
    array.flags.writeable = False
    return array


@kernel
def find_rank_bits(cards: Any, rank_bits: Any) -> None:
    """From `cards` (uint8[52]) write for each rank 1-13 the places of its cards as bits."""
    rank_bits[:] = _0
    for i in range(N_CARDS):
        place = np.uint64(i)
        rank_bits[np.uint64(cards[place] % N_RANKS + 1)] |= _1 << place


@kernel
def start_position() -> Any:
    """All cards there, nothing drawn, first pass."""
    return ALL_CARDS


@kernel
def is_position(position: Any, rules: Any) -> Any:
    """Whether an integer has the form of a position: the next card is there, the pass exists."""
    n_passes = rules["passes"] if rules["passes"] else 2
    next_bit = rules["first_stock"] + drawn_of(position)
    return np.int64(pass_of(position)) < n_passes and (
        next_bit == np.uint64(N_CARDS)
        or (next_bit < np.uint64(N_CARDS) and (position >> next_bit) & _1 == _1)
    )


@kernel
def drawn_of(position: Any) -> Any:
    """Stock places passed: the place (from 0) of the next card to draw."""
    return (position & _DRAWN_FIELD) >> _DRAWN_SHIFT


@kernel
def pass_of(position: Any) -> Any:
    """The current pass, from 0; with unlimited passes 0 in the first and 1 in all later ones."""
    return position >> _PASS_SHIFT


@kernel
def stock_of(position: Any, rules: Any) -> Any:
    """The cards not yet drawn in this pass, as bits; the lowest is the stock's top."""
    return position & rules["stock"] & (~_0 << (rules["first_stock"] + drawn_of(position)))


@kernel
def waste_of(position: Any, rules: Any) -> Any:
    """The cards of the waste, as bits; the highest is its top."""
    return (position & rules["stock"]) ^ stock_of(position, rules)


@inline_kernel
def exposed_of(position: Any) -> Any:
    """The pyramid's cards that no remaining card covers, as bits."""
    covered = _0
    for row in range(N_ROWS - 1):
        left = position >> np.uint64(row + 1)
        covered |= (left | (left >> _1)) & _ROW_BITS[row]
    return position & PYRAMID & ~covered


@inline_kernel
def available_of(position: Any, rules: Any) -> Any:
    """The cards that may be played now, as bits."""
    available = exposed_of(position) | (position & rules["reserve"])
    waste = waste_of(position, rules)
    if waste:
        available |= _1 << highest(waste)
    if rules["stock_playable"]:
        stock = stock_of(position, rules)
        available |= stock & (~stock + _1)
    return available


@kernel
def is_won(position: Any, rules: Any) -> Any:
    """Whether all cards of the goal are gone."""
    return position & rules["goal"] == _0


@kernel
def can_recycle(position: Any, rules: Any) -> Any:
    """Whether the stock is empty, the waste is not, and a pass is left."""
    return (
        stock_of(position, rules) == _0
        and position & rules["stock"] != _0
        and (rules["passes"] == 0 or np.int64(pass_of(position)) + 1 < rules["passes"])
    )


@inline_kernel
def legal_actions(position: Any, rank_bits: Any, rules: Any, actions: Any) -> Any:
    """Write the legal actions (int16[`MAX_LEGAL`]), removals first, and return how many."""
    if is_won(position, rules):
        return 0
    count = legal_removals(position, rank_bits, rules, actions)
    if rules["passes"] == 0 and count == 0 and not _removal_ahead(position, rank_bits, rules):
        return 0
    actions[count] = turn_action(position, rules)
    return count + (actions[count] >= 0)


@inline_kernel
def turn_action(position: Any, rules: Any) -> Any:
    """Draw or recycle, whichever the stock allows; -1 for neither."""
    if stock_of(position, rules):
        return rules["draw_action"]
    return rules["recycle_action"] if can_recycle(position, rules) else -1


@inline_kernel
def legal_removals(position: Any, rank_bits: Any, rules: Any, actions: Any) -> Any:
    """Write the legal pairs and kings and return how many."""
    available = available_of(position, rules)
    matching = _matching_ranks(available, rank_bits)
    count = _0
    while matching:
        low_rank = lowest(matching)
        matching &= matching - _1
        lows = rank_bits[low_rank] & available
        highs = rank_bits[np.uint64(KING) - low_rank] & available
        while lows:
            first = _place_of(lowest(lows), position, rules)
            lows &= lows - _1
            partners = highs
            while partners:
                second = _place_of(lowest(partners), position, rules)
                partners &= partners - _1
                actions[count] = rules["pair_action"][first, second]
                count += _1
    if rules["covered_pairs"]:
        count = _covered_pairs(position, rank_bits, rules, actions, count)
    kings = rank_bits[np.uint64(KING)] & available
    while kings:
        actions[count] = rules["king_action"][_place_of(lowest(kings), position, rules)]
        kings &= kings - _1
        count += _1
    return np.int64(count)


@inline_kernel
def _matching_ranks(cards: Any, rank_bits: Any) -> Any:
    """The ranks 1-6, as bits, of which there are cards together with cards that make 13.

    Without a branch, since most ranks fail: that saves a quarter of `legal_removals`.
    """
    matching = _0
    for rank in range(1, (KING + 1) // 2):
        lows, highs = rank_bits[np.uint64(rank)] & cards, rank_bits[np.uint64(KING - rank)] & cards
        matching |= np.uint64((lows != _0) & (highs != _0)) << np.uint64(rank)
    return matching


@inline_kernel
def _covered_pairs(position: Any, rank_bits: Any, rules: Any, actions: Any, count: Any) -> Any:
    """Append the pairs of an exposed card with a card that it alone covers."""
    exposed = exposed_of(position)
    uppers = _0
    for row in range(N_ROWS - 1):
        to_left = np.uint64(row + 1)
        gone, open_ = ~position >> to_left, exposed >> to_left
        one_left = (open_ & (gone >> _1)) | ((open_ >> _1) & gone)
        uppers |= one_left & _ROW_BITS[row]
    uppers &= position
    while uppers:
        upper = lowest(uppers)
        uppers &= uppers - _1
        left = upper + _ROW_OF[upper] + _1
        cover = left if (position >> left) & _1 else left + _1
        if _matching_ranks((_1 << upper) | (_1 << cover), rank_bits):
            actions[count] = rules["pair_action"][upper, cover]
            count += _1
    return count


@kernel
def _removal_ahead(position: Any, rank_bits: Any, rules: Any) -> Any:
    """Whether drawing on through this pass and one whole further pass meets any removal.

    Nothing is removed on the way, so every later pass would repeat that one: with unlimited passes
    the game is lost exactly when this is false and nothing can be removed now.
    """
    actions = np.empty(MAX_LEGAL, np.int16)
    recycles = 0
    while True:
        if stock_of(position, rules):
            position = _draw(position, rules)
        elif can_recycle(position, rules) and recycles == 0:
            position = _recycle(position, rules)
            recycles = 1
        else:
            return False
        if legal_removals(position, rank_bits, rules, actions):
            return True


@inline_kernel
def _place_of(bit: Any, position: Any, rules: Any) -> Any:
    """The place that an available card (by its bit) is played from."""
    is_stock = bit >= rules["first_stock"] + drawn_of(position)
    return rules["place_of"][bit] + np.uint64(is_stock)  # the stock's top follows the waste's


@inline_kernel
def card_at(place: Any, position: Any, rules: Any) -> Any:
    """The bit (its index) of the card that can be played from a place, 64 when there is none.

    A slot's card counts whether it is covered or not.
    """
    if place == _WASTE_TOP:
        waste = waste_of(position, rules)
        return highest(waste) if waste else np.uint64(64)
    if place == _STOCK_TOP:
        return lowest(stock_of(position, rules))
    bit = np.uint64(place) if place < N_SLOTS else np.uint64(place) - _RESERVE_TO_PLACE
    return bit if (position >> bit) & _1 else np.uint64(64)


@inline_kernel
def removed_by(action: Any, position: Any, rules: Any) -> Any:
    """The cards that a legal action removes, as bits; none for draw and recycle."""
    first = np.int64(rules["first_place"][np.uint64(action)])
    second = np.int64(rules["second_place"][np.uint64(action)])
    removed = _1 << card_at(first, position, rules) if first >= 0 else _0
    return removed | (_1 << card_at(second, position, rules)) if second >= 0 else removed


@inline_kernel
def apply(position: Any, action: Any, rules: Any) -> Any:
    """The position after a legal action."""
    if action == rules["draw_action"]:
        return _draw(position, rules)
    if action == rules["recycle_action"]:
        return _recycle(position, rules)
    removed = removed_by(action, position, rules)
    return _skip_gone(position & ~removed, stock_of(position, rules) & ~removed, rules)


@inline_kernel
def _draw(position: Any, rules: Any) -> Any:
    stock = stock_of(position, rules)
    for _ in range(rules["draw"]):
        stock &= stock - _1
    return _skip_gone(position, stock, rules)


@inline_kernel
def _recycle(position: Any, rules: Any) -> Any:
    if rules["passes"] or pass_of(position) == _0:
        position += _1 << _PASS_SHIFT
    return _skip_gone(position, position & rules["stock"], rules)


@inline_kernel
def _skip_gone(position: Any, stock: Any, rules: Any) -> Any:
    """Set what is drawn so that `stock` (bits) is left; gaps of removed cards are passed."""
    next_bit = lowest(stock) if stock else np.uint64(N_CARDS)
    drawn = next_bit - rules["first_stock"]
    return (position & ~_DRAWN_FIELD) | (drawn << _DRAWN_SHIFT)


@kernel
def pyramid_cards_removed(position: Any) -> Any:
    """The score, 0 to 28."""
    return np.int64(popcount(PYRAMID & ~position))


@kernel
def passes_left(position: Any, rules: Any) -> Any:
    """Passes after the current one, that is recycles still allowed; -1 when unlimited."""
    return rules["passes"] - 1 - np.int64(pass_of(position)) if rules["passes"] else np.int64(-1)


@kernel
def face_down_of(position: Any, rules: Any) -> Any:
    """The stock cards that a person at the table has not seen, as bits."""
    stock = stock_of(position, rules)
    if rules["stock_playable"]:
        stock &= stock - _1
    return stock if pass_of(position) == _0 else _0
