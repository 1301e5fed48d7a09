"""Exact counts of the game tree, against the golden file and against the reference.

``python tests/make_golden.py`` writes the golden file.
"""

import json
from functools import cache
from typing import Any

import pytest
from make_golden import TREE_COUNTS
from reference import ReferenceGame, ReferenceRules
from trees import COLUMNS, totals_by_first_move, tree_counts

from pyramid_env.game import Game
from pyramid_env.rules import PRESETS

MOST_BY_REFERENCE = 250
"""Sequences up to which a depth is also counted by the reference, which is slow."""

TREES: dict[str, list[dict[str, Any]]] = json.loads(TREE_COUNTS.read_text("utf-8"))
CASES = [
    pytest.param(preset, tree, id=f"{preset}-{tree['deal']}")
    for preset, trees in TREES.items()
    for tree in trees
]


@cache
def game_of(preset: str, deal: int, line: str) -> Game:
    return Game.replay(preset, deal, line.split())


def differences(ours: dict[str, int], expected: dict[str, int]) -> str:
    """The first moves whose totals differ, to follow one of them further down."""
    moves = sorted(ours.keys() | expected.keys())
    return "\n".join(
        f"{move}: {ours.get(move, 'illegal')}, expected {expected.get(move, 'illegal')}"
        for move in moves
        if ours.get(move) != expected.get(move)
    )


@pytest.mark.parametrize(("preset", "tree"), CASES)
def test_the_engine_counts_what_the_golden_file_says(preset: str, tree: dict[str, Any]) -> None:
    game = game_of(preset, tree["deal"], tree["line"])
    counts = tree_counts(game, tree["depth"])
    by_first_move = totals_by_first_move(game, tree["depth"])
    wrong = [
        f"depth {row['depth']}: {row}" for row in counts if row != tree["counts"][row["depth"] - 1]
    ]
    assert not wrong, "\n".join(wrong) + "\n" + differences(by_first_move, tree["by_first_move"])
    assert by_first_move == tree["by_first_move"]


@pytest.mark.parametrize(("preset", "tree"), CASES)
def test_every_total_is_the_sum_of_its_parts(preset: str, tree: dict[str, Any]) -> None:
    assert [row["depth"] for row in tree["counts"]] == list(range(1, tree["depth"] + 1))
    for row in tree["counts"]:
        assert row["total"] == row["pair"] + row["king"] + row["draw"] + row["recycle"]
    assert sum(tree["by_first_move"].values()) == tree["counts"][-1]["total"]


@pytest.mark.parametrize(("preset", "tree"), CASES)
def test_the_reference_counts_the_same_at_shallow_depths(preset: str, tree: dict[str, Any]) -> None:
    game = game_of(preset, tree["deal"], tree["line"])
    reference = ReferenceGame(str(game.deal).split(), ReferenceRules(**vars(game.rules)))
    for move in tree["line"].split():
        reference.play(move)
    shallow = [row for row in tree["counts"] if row["total"] <= MOST_BY_REFERENCE]
    level = [(reference, "")]  # games and the first move that led to each
    for row in shallow:
        counted = dict.fromkeys(("depth", "total", *COLUMNS), 0) | {"depth": row["depth"]}
        next_level = []
        by_first_move: dict[str, int] = {}
        for parent, first in level:
            for move in parent.legal_moves():
                child = parent.copy()
                child.play(move)
                kind = move if move in COLUMNS else "pair" if "+" in move else "king"
                counted["total"] += 1
                counted[kind] += 1
                counted["won"] += child.is_won
                counted["lost"] += child.is_lost
                next_level.append((child, first or move))
                by_first_move[first or move] = by_first_move.get(first or move, 0) + 1
        if counted != row:
            ours = totals_by_first_move(game, row["depth"]) if row["depth"] > 1 else {}
            pytest.fail(f"{row}\nreference: {counted}\n{differences(ours, by_first_move)}")
        level = next_level
    assert len(shallow) >= 2


def test_every_preset_has_two_trees_and_some_of_them_start_within_a_game() -> None:
    assert list(TREES) == list(PRESETS)
    for trees in TREES.values():
        assert len({tree["deal"] for tree in trees}) >= 2
        assert {bool(tree["line"]) for tree in trees} == {False, True}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_trees_of_a_preset_hold_moves_of_every_kind_and_both_ends(preset: str) -> None:
    rows = [row for tree in TREES[preset] for row in tree["counts"]]
    held = {column for column in COLUMNS if any(row[column] for row in rows)}
    impossible = {"recycle"} if PRESETS[preset].passes == 1 else set()
    assert held == set(COLUMNS) - impossible
