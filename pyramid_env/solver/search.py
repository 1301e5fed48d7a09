"""The search behind all three questions: depth first, branch and bound, with a table of positions.

A line is worth its *value*, the more the better: 1 for a win; the pyramid cards removed; or, for
the fewest moves, minus their number. A position is left alone when no line from it can be worth
more than the best one found, by the relaxed game or the bound on moves. The table's key is the
whole position, so two ways to it are one; for the fewest moves it is searched again when it is met
after fewer moves than before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.cards import N_CARDS
from pyramid_env.deals import mix
from pyramid_env.engine import MAX_LEGAL, PYRAMID, apply, is_won, pyramid_cards_removed
from pyramid_env.jit import inline_kernel, kernel, lowest, popcount
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.solver.bounds import fewest_moves_bound
from pyramid_env.solver.moves import (
    CARDS,
    MOVES,
    WIN,
    can_be_brought_forward,
    held_up_by,
    moves_to_try,
    stuck_cards,
)
from pyramid_env.solver.relaxation import fewest_left

DONE, PAUSED, TABLE_FULL, MEMO_FULL = range(4)
"""Why `go_on` returned: it has finished, used its share of nodes, or needs more room first."""

NO_LINE = -(2**15)
"""With `MOVES`, the value when no line to the goal is known."""

_LEVEL_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("stuck", np.uint64),  # cards that cannot go from here, but in ways searched before
        ("n_actions", np.int64),
        ("n_tried", np.int64),
        ("actions", np.int16, (MAX_LEGAL,)),
        ("removed", np.uint64, (MAX_LEGAL,)),
    ],
    align=True,
)

_PROGRESS_DTYPE = np.dtype(
    [
        ("depth", np.int64),  # of the level being searched; -1 when all is done
        ("nodes", np.int64),  # positions looked at
        ("met", np.int64),  # positions in the table
        ("best", np.int64),  # value of the best line found
        ("ceiling", np.int64),  # no line has a higher one
        ("line_length", np.int64),
        # The cards that each may go with, without the pairs excluded at the levels.
        ("partners", np.uint64, (N_CARDS,)),
    ],
    align=True,
)

_NO_ROOM = -(2**16)
_FIRST_SIZE = 2**9
_0 = np.uint64(0)
_1 = np.uint64(1)


class Search(NamedTuple):
    """A search under way."""

    progress: NDArray[np.void]
    """One record of `_PROGRESS_DTYPE`."""

    levels: NDArray[np.void]
    """The positions of the line being searched, with their moves."""

    line: NDArray[np.int16]
    """The actions of the best line found."""

    visited: NDArray[np.uint64]
    """Hash table of positions; 0 marks an empty place, and is no position."""

    n_moves: NDArray[np.int16]
    """For each of them the fewest moves after which it was met."""


def new_search(longest_line: int) -> Search:
    """A search that has not begun, for lines that meet at most so many positions."""
    return Search(
        progress=np.zeros(1, _PROGRESS_DTYPE),
        levels=np.empty(longest_line + 1, _LEVEL_DTYPE),
        line=np.empty(longest_line, np.int16),
        visited=np.zeros(_FIRST_SIZE, np.uint64),
        n_moves=np.empty(_FIRST_SIZE, np.int16),
    )


def grown(search: Search) -> Search:
    """The same search with a table of four times the size."""
    size = 4 * search.visited.size
    larger = search._replace(visited=np.zeros(size, np.uint64), n_moves=np.empty(size, np.int16))
    _copy(search, larger)
    return larger


@kernel
def _copy(old: Any, new: Any) -> None:
    for i in range(old.visited.size):
        position = old.visited[np.uint64(i)]
        if position != _0:
            place = _find(position, new.visited)
            new.visited[place] = position
            new.n_moves[place] = old.n_moves[np.uint64(i)]


@inline_kernel
def _find(position: Any, visited: Any) -> Any:
    """The place of a position, or the empty one where it belongs."""
    mask = np.uint64(visited.size) - _1
    place = mix(position) & mask
    while visited[place] != _0 and visited[place] != position:
        place = (place + _1) & mask
    return place


@kernel
def begin(
    position: Any, question: Any, facts_array: Any, rules_array: Any, search: Any, memo: Any
) -> int:
    """Set a search at its first position; returns `DONE`, or `MEMO_FULL` to be called again."""
    facts, rules = facts_array[0], rules_array[0]
    progress = search.progress[0]
    progress["nodes"], progress["met"], progress["line_length"] = 0, 0, 0
    for i in range(search.visited.size):
        search.visited[np.uint64(i)] = _0
    partners = progress["partners"]
    for i in range(N_CARDS):
        partners[np.uint64(i)] = facts["partners"][np.uint64(i)]
    progress["best"] = _value(position, 0, question, rules)
    progress["ceiling"] = _highest_value(
        position, 0, NO_LINE, question, partners, facts, rules, memo
    )
    if progress["ceiling"] == _NO_ROOM:
        return MEMO_FULL
    progress["depth"] = 0
    _enter(search.levels[0], position, _0, question, partners, facts, rules)
    return DONE


@kernel
def go_on(
    n_nodes: int, question: Any, facts_array: Any, rules_array: Any, search: Any, memo: Any
) -> int:
    """Search on for at most `n_nodes` positions; returns why it stopped."""
    facts, rules = facts_array[0], rules_array[0]
    progress, levels = search.progress[0], search.levels
    visited, met_after = search.visited, search.n_moves
    partners = progress["partners"]
    last_node = progress["nodes"] + n_nodes
    while progress["depth"] >= 0 and progress["best"] < progress["ceiling"]:
        level = levels[np.uint64(progress["depth"])]
        if level["n_tried"] == level["n_actions"] or (
            _value_at_most(level["stuck"], question) <= progress["best"]
        ):
            _allow_again(level, partners, rules)
            progress["depth"] -= 1
            if progress["depth"] >= 0:
                level = levels[np.uint64(progress["depth"])]
                _be_done_with_move(level, question, partners, rules)
            continue
        if progress["nodes"] >= last_node:
            return PAUSED
        if 2 * progress["met"] >= visited.size:
            return TABLE_FULL
        action = np.int64(level["actions"][np.uint64(level["n_tried"])])
        child = apply(level["position"], action, rules)
        n_moves = progress["depth"] + 1
        place = _find(child, visited)
        is_new = visited[place] != child
        if not is_new and (question != MOVES or met_after[place] <= n_moves):
            _be_done_with_move(level, question, partners, rules)
            continue
        highest = _highest_value(
            child, n_moves, progress["best"], question, partners, facts, rules, memo
        )
        if highest == _NO_ROOM:
            return MEMO_FULL
        visited[place], met_after[place] = child, n_moves
        progress["met"] += is_new
        progress["nodes"] += 1
        value = _value(child, n_moves, question, rules)
        if value > progress["best"]:
            progress["best"] = value
            _keep_line(search)
        if highest <= progress["best"]:
            _be_done_with_move(level, question, partners, rules)
            continue
        progress["depth"] = n_moves
        stuck = level["stuck"]
        level = levels[np.uint64(n_moves)]
        _enter(level, child, stuck, question, partners, facts, rules)
    return DONE


@inline_kernel
def _enter(
    level: Any,
    position: Any,
    stuck: Any,
    question: Any,
    partners: Any,
    facts: Any,
    rules: Any,
) -> None:
    """Start a level; `stuck` are the cards that were stuck at the one before."""
    level["position"] = position
    level["stuck"] = stuck | stuck_cards(position, question, partners, facts, rules)
    level["n_tried"] = 0
    level["n_actions"] = moves_to_try(
        position, question, partners, facts, rules, level["actions"], level["removed"]
    )


@inline_kernel
def _be_done_with_move(level: Any, question: Any, partners: Any, rules: Any) -> None:
    """Go on to the next move of a level, and exclude the pair that the last one removed."""
    cards = level["removed"][np.uint64(level["n_tried"])]
    level["n_tried"] += 1
    first, second = lowest(cards), cards & (cards - _1)
    if second == _0 or not can_be_brought_forward(cards, rules):
        return
    has_to_go = PYRAMID if question == CARDS else rules["goal"]
    partners[first] &= ~second
    partners[lowest(second)] &= ~(_1 << first)
    for card in (first, lowest(second)):
        if partners[card] & level["position"] == _0 and has_to_go & (_1 << card):
            level["stuck"] |= held_up_by(card) & level["position"]


@inline_kernel
def _allow_again(level: Any, partners: Any, rules: Any) -> None:
    """Allow the pairs that a level has excluded."""
    for i in range(level["n_tried"]):
        cards = level["removed"][np.uint64(i)]
        first, second = lowest(cards), cards & (cards - _1)
        if second != _0 and can_be_brought_forward(cards, rules):
            partners[first] |= second
            partners[lowest(second)] |= _1 << first


@inline_kernel
def _value(position: Any, n_moves: Any, question: Any, rules: Any) -> Any:
    """What the line to a position is worth."""
    if question == CARDS:
        return pyramid_cards_removed(position)
    if not is_won(position, rules):
        return np.int64(0 if question == WIN else NO_LINE)
    return np.int64(1 if question == WIN else -n_moves)


@inline_kernel
def _highest_value(
    position: Any,
    n_moves: Any,
    best: Any,
    question: Any,
    partners: Any,
    facts: Any,
    rules: Any,
    memo: Any,
) -> Any:
    """No line through a position that takes `n_moves` is worth more; `_NO_ROOM` for a full memo."""
    if question == MOVES:
        value = -np.int64(n_moves) - fewest_moves_bound(position, partners, facts, rules)
        if value <= best:
            return value
    left = fewest_left(position, question != CARDS, partners, facts, rules, memo)
    if left < 0:
        return np.int64(_NO_ROOM)
    if question == CARDS:
        return N_SLOTS - left
    if question == WIN:
        return np.int64(left == 0)
    return value if left == 0 else np.int64(NO_LINE)


@kernel
def _value_at_most(stuck: Any, question: Any) -> Any:
    """No line is worth more that leaves the stuck cards."""
    if question == CARDS:
        return np.int64(N_SLOTS) - np.int64(popcount(stuck))
    if question == WIN:
        return np.int64(stuck == _0)
    return np.int64(0 if stuck == _0 else NO_LINE)


@kernel
def _keep_line(search: Any) -> None:
    """Keep the moves tried now at each level."""
    progress = search.progress[0]
    progress["line_length"] = progress["depth"] + 1
    for i in range(progress["line_length"]):
        level = search.levels[np.uint64(i)]
        search.line[np.uint64(i)] = level["actions"][np.uint64(level["n_tried"])]
