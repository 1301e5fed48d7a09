"""A* search for the fewest moves to the goal.

Positions are taken in the order of their bound: the moves made and those that must follow. Of equal
bounds, the one met last comes first, so the search dives for the goal once the bound is right. A
position met again with fewer moves is a new node, and the old one is left out when its turn comes;
so the bound need not be consistent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.deals import mix
from pyramid_env.engine import MAX_LEGAL, apply, is_won
from pyramid_env.jit import kernel
from pyramid_env.solver.bounds import fewest_moves_bound
from pyramid_env.solver.moves import MOVES, moves_to_try
from pyramid_env.solver.relaxation import fewest_left

DONE, PAUSED, TABLE_FULL, NODES_FULL, MEMO_FULL = range(5)
"""Why `go_on` returned: it has finished, used its share of nodes, or needs more room first."""

_NODE_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("parent", np.int32),  # -1 for the first
        ("next", np.int32),  # the next node with the same bound; -1 after the last
        ("action", np.int16),  # that led here from the parent
        ("n_moves", np.int16),  # from the first position
    ],
    align=True,
)

_PROGRESS_DTYPE = np.dtype(
    [
        ("nodes", np.int64),
        ("bound", np.int64),  # no line is shorter
        ("goal", np.int64),  # the node that reached the goal; -1 for none
    ],
    align=True,
)

_FIRST_SIZE = 2**11
_NO_NODE = -1
_1 = np.uint64(1)


class Shortest(NamedTuple):
    """A search under way."""

    progress: NDArray[np.void]
    """One record of `_PROGRESS_DTYPE`."""

    nodes: NDArray[np.void]
    """The positions met, each with the shortest way to it that was known."""

    heads: NDArray[np.int32]
    """The first node of each bound, -1 for none; a line as long as this array is too long."""

    table: NDArray[np.int32]
    """Hash table of positions: their nodes, -1 in an empty place."""


def new_shortest(too_long: int) -> Shortest:
    """A search that has not begun, for lines of fewer moves than `too_long`."""
    return Shortest(
        progress=np.zeros(1, _PROGRESS_DTYPE),
        nodes=np.empty(_FIRST_SIZE, _NODE_DTYPE),
        heads=np.full(too_long, _NO_NODE, np.int32),
        table=np.full(2 * _FIRST_SIZE, _NO_NODE, np.int32),
    )


def with_more_nodes(search: Shortest) -> Shortest:
    """The same search with room for twice as many nodes."""
    nodes = np.empty(2 * search.nodes.size, _NODE_DTYPE)
    nodes[: search.nodes.size] = search.nodes
    return search._replace(nodes=nodes)


def with_larger_table(search: Shortest) -> Shortest:
    """The same search with a table of four times the size."""
    table = np.full(4 * search.table.size, _NO_NODE, np.int32)
    _copy(search.table, search.nodes, table)
    return search._replace(table=table)


@kernel
def _copy(old: Any, nodes: Any, new: Any) -> None:
    for i in range(old.size):
        index = old[np.uint64(i)]
        if index != _NO_NODE:
            new[_find(nodes[np.uint64(index)]["position"], nodes, new)] = index


@kernel
def _find(position: Any, nodes: Any, table: Any) -> Any:
    """The place of a position, or the empty one where it belongs."""
    mask = np.uint64(table.size) - _1
    place = mix(position) & mask
    while table[place] != _NO_NODE and nodes[np.uint64(table[place])]["position"] != position:
        place = (place + _1) & mask
    return place


def line_to_goal(search: Shortest) -> list[int]:
    """The actions that led to the goal."""
    actions: list[int] = []
    node: Any = search.nodes[search.progress["goal"][0]]
    while node["parent"] != _NO_NODE:
        actions.append(int(node["action"]))
        node = search.nodes[node["parent"]]
    return actions[::-1]


@kernel
def begin(position: Any, facts: Any, rules_array: Any, search: Any) -> None:
    """Set a search at its first position."""
    progress = search.progress[0]
    progress["goal"] = _NO_NODE
    progress["bound"] = fewest_moves_bound(position, facts, rules_array[0])
    search.nodes[0]["position"] = position
    _add(search, _NO_NODE, 0, 0, progress["bound"], _find(position, search.nodes, search.table))


@kernel
def _add(search: Any, parent: Any, action: Any, n_moves: Any, bound: Any, place: Any) -> None:
    """Make the next node, whose position is set already, and put it into table and queue."""
    progress = search.progress[0]
    node = search.nodes[np.uint64(progress["nodes"])]
    node["parent"] = parent
    node["action"] = action
    node["n_moves"] = n_moves
    search.table[place] = progress["nodes"]
    if bound < search.heads.size:
        node["next"] = search.heads[np.uint64(bound)]
        search.heads[np.uint64(bound)] = progress["nodes"]
    progress["nodes"] += 1


@kernel
def go_on(n_nodes: int, facts: Any, rules_array: Any, search: Any, memo: Any) -> int:
    """Search on for about `n_nodes` new nodes; returns why it stopped."""
    rules = rules_array[0]
    progress = search.progress[0]
    last_node = progress["nodes"] + n_nodes
    while progress["bound"] < search.heads.size:
        bound = np.uint64(progress["bound"])
        index = search.heads[bound]
        if index == _NO_NODE:
            progress["bound"] += 1
            continue
        if progress["nodes"] >= last_node:
            return PAUSED
        if progress["nodes"] + MAX_LEGAL > search.nodes.size:
            return NODES_FULL
        if 2 * (progress["nodes"] + MAX_LEGAL) > search.table.size:
            return TABLE_FULL
        node = search.nodes[np.uint64(index)]
        search.heads[bound] = node["next"]
        if search.table[_find(node["position"], search.nodes, search.table)] != index:
            continue
        if is_won(node["position"], rules):
            progress["goal"] = index
            return DONE
        if not _expand(index, facts, rules, search, memo):
            node["next"] = search.heads[bound]
            search.heads[bound] = index
            return MEMO_FULL
    return DONE


@kernel
def _expand(index: Any, facts: Any, rules: Any, search: Any, memo: Any) -> bool:
    """Add the children of a node; False when the memo has to grow before that can be finished."""
    progress = search.progress[0]
    node = search.nodes[np.uint64(index)]
    actions = np.empty(MAX_LEGAL, np.int16)
    n_moves = node["n_moves"] + 1
    for i in range(moves_to_try(node["position"], MOVES, facts, rules, actions)):
        action = actions[np.uint64(i)]
        child = apply(node["position"], np.int64(action), rules)
        place = _find(child, search.nodes, search.table)
        known = search.table[place]
        if known != _NO_NODE and search.nodes[np.uint64(known)]["n_moves"] <= n_moves:
            continue
        bound = max(progress["bound"], n_moves + fewest_moves_bound(child, facts, rules))
        if bound >= search.heads.size:
            continue
        left = fewest_left(child, 1, True, facts, rules, memo)
        if left < 0:
            return False
        if left == 0:
            search.nodes[np.uint64(progress["nodes"])]["position"] = child
            _add(search, index, action, n_moves, bound, place)
    return True
