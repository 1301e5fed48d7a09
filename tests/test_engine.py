"""The kernels: the position's bits, what is exposed and available, and the records they read."""

from itertools import product

import numpy as np
import pytest
from positions import game_at

from pyramid_env import engine
from pyramid_env.actions import Move, action_table
from pyramid_env.engine import MAX_ACTIONS, MAX_LEGAL, RULES_DTYPE, compile_rules
from pyramid_env.game import Game
from pyramid_env.pyramid import STOCK_TOP, WASTE_TOP, Slot, covers_of, parse_place
from pyramid_env.rules import PRESETS, Rules

ALL_RULES = [
    Rules(reserve=reserve, covered_pairs=covered, stock_playable=playable, passes=passes)
    for reserve, covered, playable, passes in product(
        range(8), (False, True), (False, True), (1, None)
    )
]


START = np.uint64(engine.start_position())


def bits(*indices: int) -> int:
    return sum(1 << index for index in indices)


def drawn_of(game: Game) -> int:
    return int(engine.drawn_of(np.uint64(game.position)))


# Positions


def test_at_the_start_all_52_cards_are_there_and_nothing_else_is_set() -> None:
    for rules in PRESETS:
        assert Game(0, rules).position == 2**52 - 1


def test_a_move_changes_these_bits() -> None:
    game = game_at({"A1": "2C", "G1": "KS"}, "KD 5C 6C", "7C 8C")
    cards = bits(0, 21, 28, 29, 30, 31, 32)
    assert game.position == cards | 2 << 52
    game.play("draw")
    assert game.position == cards | 3 << 52
    game.play("G1")
    assert game.position == cards - bits(21) | 3 << 52
    game.play("W")  # the king that was drawn
    assert game.position == cards - bits(21, 30) | 3 << 52


def test_what_is_drawn_always_names_the_next_card_that_remains() -> None:
    game = game_at({"A1": "2C", "G1": "AS"}, "KD QC 6C", "7C 8C")
    game.play("S")
    assert drawn_of(game) == 3  # place 2 is gone
    game.play("G1+S")
    assert drawn_of(game) == 4
    game.play("draw")
    assert drawn_of(game) == 24  # none is left to draw
    game.play("recycle")
    assert (drawn_of(game), game.position >> 57) == (0, 1)


def test_a_recycle_starts_at_the_first_card_that_remains() -> None:
    game = game_at({"A1": "2C"}, "QD", "KC")
    game.play("W")
    game.play("draw")
    game.play("recycle")
    assert drawn_of(game) == 1


def test_the_passes_of_limited_rules_are_counted_and_of_unlimited_ones_only_once() -> None:
    table = {"A1": "6S", "B1": "2C"}
    for rules, passes in ((Rules(passes=127), range(127)), (Rules(passes=None), (0, 1, 1, 1))):
        game = game_at(table, "JD 3C", rules=rules)
        for number in passes:
            assert game.position >> 57 == number
            if "draw" in game.legal_moves:
                game.play("draw")
                game.play("draw")
            if "recycle" in game.legal_moves:
                game.play("recycle")
        assert ("recycle" in game.legal_moves) == (rules.passes is None and game.stock == ())


@pytest.mark.parametrize(
    ("rules", "position", "valid"),
    [
        ("kawu", 2**52 - 1, True),
        ("kawu", 0, False),  # the next card is to be the first of the stock, which is gone
        ("kawu", 24 << 52, True),
        ("kawu", 25 << 52, False),
        ("kawu", 31 << 52, False),
        ("kawu", 1 << 52 | 1 << 29, True),
        ("kawu", 1 << 52 | 1 << 28, False),
        ("kawu", 24 << 52 | 2 << 57, True),
        ("kawu", 24 << 52 | 3 << 57, False),
        ("kawu-1", 24 << 52 | 1 << 57, False),
        ("tuts-tomb", 24 << 52 | 1 << 57, True),
        ("tuts-tomb", 24 << 52 | 2 << 57, False),
        ("reserve", 17 << 52, True),
        ("reserve", 24 << 52, False),
    ],
)
def test_a_position_names_a_next_card_that_is_there_and_a_pass_that_exists(
    rules: str, position: int, valid: bool
) -> None:
    record = compile_rules(PRESETS[rules])[0]
    assert bool(engine.is_position(np.uint64(position), record)) == valid


# What is exposed and available


def test_the_bottom_row_is_exposed_at_the_start() -> None:
    assert int(engine.exposed_of(START)) == bits(*range(21, 28))


@pytest.mark.parametrize("slot", range(21))
def test_a_slot_is_exposed_when_neither_cover_is_there(slot: int) -> None:
    left, right = covers_of(Slot(slot))
    for there, exposed in (
        ((), True),
        ((left,), False),
        ((right,), False),
        ((left, right), False),
        (tuple(set(range(28)) - {slot, left, right}), True),  # only its covers count
    ):
        found = int(engine.exposed_of(np.uint64(bits(slot, *there))))
        assert bool(found >> slot & 1) == exposed


def test_pyramid_reserve_waste_top_and_stock_top_are_available() -> None:
    rules = Rules(reserve=3)
    game = game_at({"F1": "2C", "G1": "3C", "R1": "4C", "R3": "5C"}, "6C 7C", "8C 9C", rules)
    found = engine.available_of(np.uint64(game.position), compile_rules(rules)[0])
    assert int(found) == bits(21, 28, 30, 32, 33)  # G1, R1, R3, 9C and 6C


def test_a_face_down_stock_is_not_available() -> None:
    rules = Rules(stock_playable=False)
    game = game_at({"G1": "3C"}, "6C 7C", rules=rules)
    found = engine.available_of(np.uint64(game.position), compile_rules(rules)[0])
    assert int(found) == bits(21)


def test_a_place_knows_its_card_and_an_empty_one_has_none() -> None:
    rules = compile_rules(Rules(reserve=2))[0]
    game = game_at({"F1": "2C", "G1": "3C", "R2": "4C"}, "6C 7C", "8C 9C", Rules(reserve=2))
    places = {"F1": 15, "G1": 21, "G2": 64, "R1": 64, "R2": 29, "W": 31, "S": 32}
    for name, bit in places.items():
        place = np.int64(parse_place(name))
        assert int(engine.card_at(place, np.uint64(game.position), rules)) == bit
    empty = np.uint64(22 << 52)
    assert int(engine.card_at(np.int64(WASTE_TOP), empty, rules)) == 64
    assert int(engine.card_at(np.int64(STOCK_TOP), empty, rules)) == 64


def test_removals_come_first_and_draw_or_recycle_last() -> None:
    game = Game(0, "reserve")
    actions = np.empty(MAX_LEGAL, np.int16)
    rank_bits = np.empty(14, np.uint64)
    engine.find_rank_bits(game.deal.array, rank_bits)
    rules = compile_rules(game.rules)[0]
    count = engine.legal_actions(np.uint64(game.position), rank_bits, rules, actions)
    table = action_table(game.rules)
    moves = [table[int(action)] for action in actions[:count]]
    assert moves[-1] == Move("draw")
    assert all(move.places for move in moves[:-1])
    assert len(set(moves)) == count > 1


def test_the_most_legal_moves_fit() -> None:
    # Of 7 + 7 + 2 available cards at most four are of one rank: two times four by four pairs.
    deck = [rank + suit for rank in "A2QJ" for suit in "CDHS"]
    places = [*(f"G{i}" for i in range(1, 8)), *(f"R{i}" for i in range(1, 8))]
    game = game_at(dict(zip(places, deck, strict=False)), deck[14], deck[15], Rules(reserve=7))
    assert len(game.legal_moves) == 2 * 4 * 4 + 1 < MAX_LEGAL


# Counts


def test_the_score_counts_removed_pyramid_cards() -> None:
    for goal in ("pyramid", "all"):
        rules = Rules(goal=goal)  # type: ignore[arg-type]
        game = game_at({"A1": "2C", "G1": "3C"}, "KC", rules=rules)
        assert int(engine.pyramid_cards_removed(np.uint64(game.position))) == 26


def test_no_number_of_passes_left_stands_for_unlimited_ones() -> None:
    assert int(engine.passes_left(START, compile_rules(Rules(passes=None))[0])) == -1
    assert int(engine.passes_left(START, compile_rules(Rules(passes=3))[0])) == 2
    last = np.uint64(24 << 52 | 2 << 57)
    assert int(engine.passes_left(last, compile_rules(Rules(passes=3))[0])) == 0


# Records


def test_each_rank_has_the_bits_of_its_four_cards() -> None:
    deal = Game(5).deal
    rank_bits = np.full(14, 99, np.uint64)
    engine.find_rank_bits(deal.array, rank_bits)
    expected = [bits(*(i for i in range(52) if deal.cards[i] % 13 == rank)) for rank in range(13)]
    assert rank_bits.tolist() == [0, *expected]


@pytest.mark.parametrize("rules", ALL_RULES)
def test_the_record_of_some_rules_agrees_with_their_action_table(rules: Rules) -> None:
    array = compile_rules(rules)
    record = array[0]
    table = action_table(rules)
    assert (array.shape, array.dtype) == ((1,), RULES_DTYPE)
    assert record["n_actions"] == len(table) <= MAX_ACTIONS
    assert table[record["draw_action"]] == Move("draw")
    assert table[record["recycle_action"]] == Move("recycle")
    for action, move in enumerate(table):
        first, second = (*move.places, -1, -1)[:2]
        assert (record["first_place"][action], record["second_place"][action]) == (first, second)
        if move.kind == "pair":
            assert record["pair_action"][first, second] == action
            assert record["pair_action"][second, first] == action
        elif move.kind == "king":
            assert record["king_action"][first] == action
    n_pairs = sum(move.kind == "pair" for move in table)
    n_kings = sum(move.kind == "king" for move in table)
    assert (record["pair_action"] >= 0).sum() == 2 * n_pairs
    assert (record["king_action"] >= 0).sum() == n_kings


def test_the_largest_table_has_max_actions() -> None:
    assert max(len(action_table(rules)) for rules in ALL_RULES) == MAX_ACTIONS


def test_a_record_is_made_once_and_cannot_be_changed() -> None:
    array = compile_rules(Rules())
    assert compile_rules(Rules(passes=3)) is array
    with pytest.raises(ValueError, match="read-only"):
        array["passes"] = 5
