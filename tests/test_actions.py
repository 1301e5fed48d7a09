"""The action table: ids, moves and their texts."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from pyramid_env.actions import (
    DRAW,
    RECYCLE,
    ActionTable,
    Move,
    action_table,
    sample_actions,
)
from pyramid_env.pyramid import N_SLOTS, STOCK_TOP, WASTE_TOP, Place, Slot, lies_above
from pyramid_env.rules import PRESETS, Rules

RULE_SETS = [
    Rules(reserve=reserve, covered_pairs=covered_pairs, stock_playable=stock_playable)
    for reserve, covered_pairs, stock_playable in product((0, 1, 7), (False, True), (False, True))
]


def kinds_and_places(table: ActionTable) -> list[tuple[str, str]]:
    """For each move its kind and the kinds of its places: a slot, or the place's own letter."""
    found: list[tuple[str, str]] = []
    for move in table:
        names = ["slot" if p < N_SLOTS else "WSRRRRRRR"[p - N_SLOTS] for p in move.places]
        found.append((move.kind, "+".join(names)))
    return found


def test_the_default_table_has_285_actions() -> None:
    table = action_table(Rules())
    pairs_of_slots = sum(not lies_above(Slot(a), Slot(b)) for b in range(N_SLOTS) for a in range(b))
    assert pairs_of_slots == 196
    blocks = kinds_and_places(table)
    assert blocks == [
        *[("pair", "slot+slot")] * 196,
        *[("pair", "slot+W")] * 28,
        *[("pair", "slot+S")] * 28,
        ("pair", "W+S"),
        *[("king", "slot")] * 28,
        ("king", "W"),
        ("king", "S"),
        ("draw", ""),
        ("recycle", ""),
    ]
    assert len(table) == 196 + 28 + 28 + 1 + 30 + 2 == 285


@pytest.mark.parametrize(
    ("rules", "size"),
    [
        (PRESETS["kawu"], 285),
        (PRESETS["classic"], 285),
        (PRESETS["covered"], 285 + 42),  # 21 cards with two covers each
        (PRESETS["tuts-tomb"], 285 - 28 - 1 - 1),  # nothing with the stock
        (PRESETS["reserve"], 285 + 7 * 28 + 7 * 2 + 21 + 7),  # slots, W and S, each other, kings
        (Rules(reserve=7, covered_pairs=True), 565),
    ],
)
def test_a_table_has_every_pair_that_its_places_allow(rules: Rules, size: int) -> None:
    assert len(action_table(rules)) == size


@pytest.mark.parametrize("rules", RULE_SETS)
def test_ids_and_moves_are_pairs(rules: Rules) -> None:
    table = action_table(rules)
    moves = list(table)
    assert len(set(moves)) == len(moves) == len(table)
    assert [table.action(move) for move in moves] == list(range(len(table)))
    assert [table[action] for action in range(len(table))] == moves
    assert all(move in table for move in moves)
    assert moves[-2:] == [DRAW, RECYCLE]


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_move_is_read_back_from_its_text(rules: Rules) -> None:
    for move in action_table(rules):
        assert Move.parse(str(move)) == move
        assert Move.parse(str(move).lower()) == move
        assert Move.parse(" + ".join(reversed(str(move).split("+")))) == move


def test_a_covered_pair_is_in_the_table_only_by_that_rule() -> None:
    covered, plain = action_table(Rules(covered_pairs=True)), action_table(Rules())
    assert Move.parse("C2+D3") in covered
    assert Move.parse("C2+D3") not in plain
    assert Move.parse("C2+E3") not in covered  # not directly below
    assert set(covered.moves) - set(plain.moves) == {
        Move.parse(text)
        for row, below in ("AB", "BC", "CD", "DE", "EF", "FG")
        for column in range(1, ord(row) - ord("A") + 2)
        for text in (f"{row}{column}+{below}{column}", f"{row}{column}+{below}{column + 1}")
    }


def test_rules_with_the_same_places_share_a_table() -> None:
    tables = [action_table(PRESETS[name]) for name in ("kawu", "kawu-1", "classic", "par")]
    assert all(table is tables[0] for table in tables)


def test_ids_do_not_change() -> None:
    # A change of any of these needs a new version of the environment's id.
    table = action_table(Rules())
    pinned = {0: "B1+B2", 1: "B1+C3", 195: "G6+G7", 196: "A1+W", 224: "A1+S", 252: "W+S"}
    pinned |= {253: "A1", 280: "G7", 281: "W", 282: "S", 283: "draw", 284: "recycle"}
    assert {action: str(table[action]) for action in pinned} == pinned
    texts = [str(move) for move in action_table(PRESETS["reserve"])]
    assert (texts[252], texts[448], texts[449]) == ("A1+R1", "W+S", "W+R1")
    assert texts[484:-2] == [*texts[484:512], "W", "S", "R1", "R2", "R3", "R4", "R5", "R6", "R7"]


@pytest.mark.parametrize("action", [-1, 285, 10**6])
def test_an_id_outside_the_table_is_an_error_that_says_the_range(action: int) -> None:
    with pytest.raises(ValueError, match=f"no action has id {action}: 0 to 284"):
        action_table(Rules())[action]


def test_a_move_that_the_rules_never_have_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="R1 can never be legal under these rules"):
        action_table(Rules()).action(Move.parse("R1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read '' as a move: two places such as B1+G7, one for a king, draw or recycle"),
        ("A1+B1+C1", "cannot read 'A1+B1+C1' as a move: two places such as B1+G7, one for a king"),
        ("H1", "no place is named 'H1'"),
        ("A1+X", "no place is named 'X'"),
        ("pass", "no place is named 'pass'"),
    ],
)
def test_a_text_that_is_no_move_is_an_error_that_says_what_is(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Move.parse(text)


@pytest.mark.parametrize(
    ("kind", "places", "message"),
    [
        ("swap", (), "no move is a 'swap': pair, king, draw, recycle"),
        ("pair", (3,), "a pair has 2 places, not 1"),
        ("draw", (3,), "a draw has 0 places, not 1"),
        ("pair", (4, 3), "the places of a pair must ascend: (4, 3)"),
        ("pair", (3, 3), "the places of a pair must ascend: (3, 3)"),
    ],
)
def test_a_move_that_makes_no_sense_is_an_error(kind: Any, places: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Move(kind, places)


def test_a_kind_that_is_no_text_is_an_error_too() -> None:
    with pytest.raises(ValueError, match=r"no move is a \['king'\]"):
        Move(["king"])  # type: ignore[arg-type]


def test_places_may_be_any_sequence() -> None:
    assert Move("pair", [Place(26), Place(27)]) in action_table(Rules())  # type: ignore[arg-type]


def test_the_shortest_ways_to_write_a_move() -> None:
    assert Move.parse("w s") == Move("pair", (WASTE_TOP, STOCK_TOP))
    assert Move.parse("G7") == Move("king", (Place(27),))
    assert Move.parse(" DRAW ") is DRAW
    assert Move.parse("Recycle") is RECYCLE


# Sampling


def test_only_legal_actions_are_drawn_and_each_of_them_equally_often() -> None:
    n = 60_000
    masks = np.tile(np.array([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0]], np.int8), (n, 1))
    actions = sample_actions(masks, np.random.default_rng(0))
    assert actions.dtype == np.int64
    assert actions.shape == (2 * n,)
    assert set(actions[1::2]) == {0}
    counts = np.bincount(actions[::2], minlength=5)
    assert counts[[0, 2]].tolist() == [0, 0]
    # Each count has a standard deviation of sqrt(n * 2/9), about 115.
    assert abs(counts[[1, 3, 4]] - n / 3).max() < 6 * np.sqrt(n * 2 / 9)


@pytest.mark.parametrize("n_actions", [1, 7, 8, 9, 16, 23, 285])
def test_every_action_of_a_row_can_be_drawn(n_actions: int) -> None:
    masks = np.eye(n_actions, dtype=np.int8)
    generator = np.random.default_rng(0)
    assert sample_actions(masks, generator).tolist() == list(range(n_actions))
    for same in (np.asfortranarray(masks), np.repeat(masks, 2, axis=0)[::2]):
        same.flags.writeable = False
        assert sample_actions(same, generator).tolist() == list(range(n_actions))
    all_legal = np.ones((200 * n_actions, n_actions), np.int8)
    assert set(sample_actions(all_legal, generator)) == set(range(n_actions))


def test_the_generator_alone_decides() -> None:
    masks = np.ones((50, 285), np.int8)
    first, again, other = (sample_actions(masks, np.random.default_rng(i)) for i in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_the_ends_of_the_generator_draw_the_first_and_the_last_legal_action() -> None:
    class Ends(np.random.Generator):
        def random(self, *_: Any) -> Any:  # type: ignore[override]
            return np.array([0.0, np.nextafter(1.0, 0.0)])

    masks = np.zeros((2, 285), np.int8)
    masks[:, 7:280] = 1
    assert sample_actions(masks, Ends(np.random.PCG64())).tolist() == [7, 279]


@pytest.mark.parametrize("value", [2, 3, -1, -128])
@pytest.mark.parametrize("n_actions", [5, 8, 285])
def test_a_mask_of_other_numbers_is_an_error_that_names_the_row(n_actions: int, value: int) -> None:
    """A byte with several bits set once stood for as many actions, past the end of their list."""
    for wrong in (slice(n_actions - 1, None), slice(None)):
        masks = np.ones((3, n_actions), np.int8)
        masks[1, wrong] = value
        with pytest.raises(ValueError, match="row 1 of action_masks has something else than 0 and"):
            sample_actions(masks, np.random.default_rng(0))


def test_a_row_without_a_legal_action_is_an_error_that_names_it() -> None:
    masks = np.ones((3, 5), np.int8)
    masks[1] = 0
    with pytest.raises(ValueError, match="row 1 of action_masks has no legal action"):
        sample_actions(masks, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("masks", "given"),
    [
        (np.ones((2, 5)), "float64 of shape (2, 5)"),
        (np.ones(5, np.int8), "int8 of shape (5,)"),
        (np.ones((2, 5), np.bool_), "bool of shape (2, 5)"),
    ],
)
def test_masks_of_another_shape_or_type_are_an_error(masks: Any, given: str) -> None:
    message = f"action_masks must be int8 of shape (n, n_actions), not {given}"
    with pytest.raises(ValueError, match=re.escape(message)):
        sample_actions(masks, np.random.default_rng(0))
