"""The simplest exact solver: look at every position that can be reached, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    find_rank_bits,
    is_won,
    legal_actions,
    pyramid_cards_removed,
    start_position,
)
from pyramid_env.game import Game
from pyramid_env.jit import kernel
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.solver import Objective

_WIN, _CARDS, _MOVES = range(3)
_QUESTION: dict[Objective, int] = {"win": _WIN, "cards": _CARDS, "moves": _MOVES}
_0 = np.uint64(0)
_1 = np.uint64(1)


def solve_plainly(game: Game, objective: Objective, limit: int) -> tuple[int, int] | None:
    """The value of a game at its start, -1 for none, and the positions met.

    Depth first, for the fewest moves breadth first. None when `limit` positions were not enough.
    """
    rank_bits = np.empty(14, np.uint64)
    find_rank_bits(game.deal.array, rank_bits)
    table = np.zeros(2 ** (2 * limit).bit_length(), np.uint64)
    to_do = np.empty(limit + MAX_LEGAL, np.uint64)
    depths = np.empty(limit + MAX_LEGAL, np.int16)
    rules = compile_rules(game.rules)
    value, n_met = _walk(_QUESTION[objective], rank_bits, rules, limit, table, to_do, depths)
    return (int(value), int(n_met)) if n_met <= limit else None


@kernel
def _walk(
    question: int, rank_bits: Any, rules_array: Any, limit: int, table: Any, to_do: Any, depths: Any
) -> Any:
    rules = rules_array[0]
    actions = np.empty(MAX_LEGAL, np.int16)
    to_do[0], depths[0] = start_position(), 0
    first, end, n_met = 0, 1, 1
    best = 0 if question != _MOVES else -1
    while first < end and n_met <= limit:
        if question == _MOVES:
            position, depth = to_do[first], depths[first]
            first += 1
        else:
            end -= 1
            position, depth = to_do[end], depths[end]
        if question == _CARDS:
            best = max(best, pyramid_cards_removed(position))
        if is_won(position, rules) and question != _CARDS:
            return 1 if question == _WIN else depth, n_met
        if best == N_SLOTS:
            break
        for i in range(legal_actions(position, rank_bits, rules, actions)):
            child = apply(position, np.int64(actions[i]), rules)
            place = _find(child, table)
            if table[place] == _0:
                table[place] = child
                to_do[end], depths[end] = child, depth + 1
                end += 1
                n_met += 1
    return best, n_met


@kernel
def _find(position: Any, table: Any) -> Any:
    mask = np.uint64(table.size) - _1
    place = (position * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(30) & mask
    while table[place] != _0 and table[place] != position:
        place = (place + _1) & mask
    return place
