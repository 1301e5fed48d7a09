"""Exact counts of the game tree: how many sequences of so many moves a position allows."""

from typing import Any

import numpy as np

from pyramid_env import engine
from pyramid_env.engine import MAX_LEGAL, apply, compile_rules, is_won, legal_actions
from pyramid_env.game import Game
from pyramid_env.jit import kernel

COLUMNS = ("pair", "king", "draw", "recycle", "won", "lost")
"""What is counted at each depth: sequences by their last move, and those that end the game."""

_N_COLUMNS = len(COLUMNS)
_WON = 4
_LOST = 5


def tree_counts(game: Game, depth: int) -> list[dict[str, int]]:
    """For each depth from 1 on, the sequences of so many moves: their total and its parts."""
    counts = np.zeros((depth + 1, _N_COLUMNS), np.int64)
    rank_bits = np.empty(14, np.uint64)
    engine.find_rank_bits(game.deal.array, rank_bits)
    rules = compile_rules(game.rules)[0]
    _count_sequences(np.uint64(game.position), rank_bits, rules, depth, counts)
    return [
        {"depth": i, "total": sum(row[:4])} | dict(zip(COLUMNS, row, strict=True))
        for i, row in enumerate(counts.tolist())
        if i > 0
    ]


def totals_by_first_move(game: Game, depth: int) -> dict[str, int]:
    """The sequences of `depth` moves (at least 2) by their first one, to find where two differ."""
    totals = {}
    for move in game.legal_moves:
        child = game.copy()
        child.play(move)
        totals[str(move)] = tree_counts(child, depth - 1)[-1]["total"]
    return totals


@kernel
def _count_sequences(position: Any, rank_bits: Any, rules: Any, depth: int, counts: Any) -> None:
    """Walk the tree depth first and add to `counts` (int64[depth + 1, columns])."""
    positions = np.empty(depth + 1, np.uint64)
    actions = np.empty((depth + 1, MAX_LEGAL), np.int16)
    left = np.zeros(depth + 1, np.int64)  # actions of each level not yet walked
    positions[0] = position
    left[0] = legal_actions(position, rank_bits, rules, actions[0])
    level = 0
    while level >= 0:
        if left[level] == 0:
            level -= 1
            continue
        left[level] -= 1
        action = np.int64(actions[level, left[level]])
        child = apply(positions[level], action, rules)
        n_legal = legal_actions(child, rank_bits, rules, actions[level + 1])
        counts[level + 1, _column_of(action, rules)] += 1
        if n_legal == 0:
            counts[level + 1, _WON if is_won(child, rules) else _LOST] += 1
        elif level + 1 < depth:
            level += 1
            positions[level] = child
            left[level] = n_legal


@kernel
def _column_of(action: Any, rules: Any) -> int:
    if action == rules["draw_action"]:
        return 2
    if action == rules["recycle_action"]:
        return 3
    return 0 if rules["second_place"][np.uint64(action)] >= 0 else 1
