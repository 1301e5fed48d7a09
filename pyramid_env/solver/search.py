"""Depth-first search with a table of all positions met: can the goal be reached, how many cards go.

It is a branch and bound: a position is left alone when the relaxed game cannot better the best line
found. The table's key is the whole position, so two ways to it are one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.deals import mix
from pyramid_env.engine import MAX_LEGAL, apply, is_won, pyramid_cards_removed
from pyramid_env.jit import kernel
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.solver.moves import CARDS, moves_to_try
from pyramid_env.solver.relaxation import fewest_left

DONE, PAUSED, TABLE_FULL, MEMO_FULL = range(4)
"""Why `search` returned: it has finished, used its share of nodes, or needs more room first."""

_LEVEL_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("n_actions", np.int64),
        ("n_tried", np.int64),
        ("actions", np.int16, (MAX_LEGAL,)),
    ],
    align=True,
)

_PROGRESS_DTYPE = np.dtype(
    [
        ("depth", np.int64),  # of the level being searched; -1 when all is done
        ("nodes", np.int64),  # positions in the table
        ("best", np.int64),  # value of the best line found
        ("ceiling", np.int64),  # no line has a higher one
        ("line_length", np.int64),
    ],
    align=True,
)

_FIRST_SIZE = 2**11
_0 = np.uint64(0)
_1 = np.uint64(1)


class Search(NamedTuple):
    """A search under way; values are pyramid cards removed, or 1 for a win and 0 for none."""

    progress: NDArray[np.void]
    """One record of `_PROGRESS_DTYPE`."""

    levels: NDArray[np.void]
    """The positions of the line being searched, with their moves."""

    line: NDArray[np.int16]
    """The actions of the best line found."""

    visited: NDArray[np.uint64]
    """Hash table of positions; 0 marks an empty place, and is no position."""


def new_search(longest_line: int) -> Search:
    """A search that has not begun, for lines that meet at most so many positions."""
    return Search(
        progress=np.zeros(1, _PROGRESS_DTYPE),
        levels=np.empty(longest_line + 1, _LEVEL_DTYPE),
        line=np.empty(longest_line, np.int16),
        visited=np.zeros(_FIRST_SIZE, np.uint64),
    )


def grown(search: Search) -> Search:
    """The same search with a table of four times the size."""
    visited = np.zeros(4 * search.visited.size, np.uint64)
    _copy(search.visited, visited)
    return search._replace(visited=visited)


@kernel
def _copy(old: Any, new: Any) -> None:
    for i in range(old.size):
        position = old[np.uint64(i)]
        if position != _0:
            new[_find(position, new)] = position


@kernel
def _find(position: Any, visited: Any) -> Any:
    """The place of a position, or the empty one where it belongs."""
    mask = np.uint64(visited.size) - _1
    place = mix(position) & mask
    while visited[place] != _0 and visited[place] != position:
        place = (place + _1) & mask
    return place


@kernel
def begin(
    position: Any, question: Any, facts: Any, rules_array: Any, search: Any, memo: Any
) -> int:
    """Set a search at its first position; returns `DONE`, or `MEMO_FULL` to be called again."""
    rules = rules_array[0]
    too_many = N_SLOTS if question == CARDS else 1
    left = fewest_left(position, too_many, question != CARDS, facts, rules, memo)
    if left < 0:
        return MEMO_FULL
    progress = search.progress[0]
    progress["best"] = _value(position, question, rules)
    progress["ceiling"] = _highest_value(left, question)
    progress["depth"] = 0
    _enter(search.levels[0], position, question, facts, rules)
    return DONE


@kernel
def go_on(n_nodes: int, question: Any, facts: Any, rules_array: Any, search: Any, memo: Any) -> int:
    """Search on for at most `n_nodes` new positions; returns why it stopped."""
    rules = rules_array[0]
    progress = search.progress[0]
    visited = search.visited
    last_node = progress["nodes"] + n_nodes
    while progress["depth"] >= 0 and progress["best"] < progress["ceiling"]:
        depth = np.uint64(progress["depth"])
        level = search.levels[depth]
        if level["n_tried"] == level["n_actions"]:
            progress["depth"] -= 1
            continue
        if progress["nodes"] >= last_node:
            return PAUSED
        if 2 * progress["nodes"] >= visited.size:
            return TABLE_FULL
        action = np.int64(level["actions"][np.uint64(level["n_tried"])])
        child = apply(level["position"], action, rules)
        place = _find(child, visited)
        if visited[place] == child:
            level["n_tried"] += 1
            continue
        too_many = N_SLOTS - progress["best"] if question == CARDS else 1
        left = fewest_left(child, too_many, question != CARDS, facts, rules, memo)
        if left < 0:
            return MEMO_FULL
        level["n_tried"] += 1
        visited[place] = child
        progress["nodes"] += 1
        if _value(child, question, rules) > progress["best"]:
            progress["best"] = _value(child, question, rules)
            _keep_line(search)
        if _highest_value(left, question) > progress["best"]:
            progress["depth"] += 1
            _enter(search.levels[depth + _1], child, question, facts, rules)
    return DONE


@kernel
def _enter(level: Any, position: Any, question: Any, facts: Any, rules: Any) -> None:
    level["position"] = position
    level["n_tried"] = 0
    level["n_actions"] = moves_to_try(position, question, facts, rules, level["actions"])


@kernel
def _value(position: Any, question: Any, rules: Any) -> Any:
    if question == CARDS:
        return pyramid_cards_removed(position)
    return np.int64(is_won(position, rules))


@kernel
def _highest_value(left: Any, question: Any) -> Any:
    """No line has a higher value where the relaxed game leaves so many cards."""
    return N_SLOTS - left if question == CARDS else np.int64(left == 0)


@kernel
def _keep_line(search: Any) -> None:
    """Keep the moves tried last at each level."""
    progress = search.progress[0]
    progress["line_length"] = progress["depth"] + 1
    for i in range(progress["line_length"]):
        level = search.levels[np.uint64(i)]
        search.line[np.uint64(i)] = level["actions"][np.uint64(level["n_tried"] - 1)]
