"""`Game`: playing, texts, undo, copies, errors with their reasons."""

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from positions import deal_with, game_at, legal_texts

from pyramid_env.actions import DRAW, RECYCLE, Move, action_table
from pyramid_env.cards import card_text, parse_card
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.pyramid import STOCK_TOP, WASTE_TOP, Place
from pyramid_env.rules import PRESETS, Rules


def play_some(game: Game, moves: int, seed: int = 0) -> Game:
    generator = random.Random(seed)
    for _ in range(moves):
        if game.is_over:
            break
        game.play(generator.choice(list(game.legal_moves)))
    return game


def assert_refused(game: Game, move: Any, message: str) -> None:
    """The move raises `ValueError` with these words and changes nothing."""
    before = (game.position, game.history, game.score, legal_texts(game))
    with pytest.raises(ValueError, match=re.escape(message)):
        game.play(move)
    assert (game.position, game.history, game.score, legal_texts(game)) == before


# The start


def test_a_game_starts_from_a_deal_its_number_or_its_text() -> None:
    deal = Deal.from_number(7)
    games = [Game(deal), Game(7), Game(np.int64(7)), Game(str(deal))]  # type: ignore[arg-type]
    assert all(game.deal == deal and game.rules == Rules() for game in games)
    assert Game().deal == Deal.from_number(0)


def test_the_cards_lie_in_deal_order() -> None:
    game = Game(7, "reserve")
    assert game.pyramid == game.deal.cards[:28]
    assert game.reserve == game.deal.cards[28:35]
    assert game.stock == game.deal.cards[35:]
    assert game.waste == ()
    assert (game.score, game.passes_left, game.history) == (0, 0, ())


def test_it_can_start_at_a_position() -> None:
    played = play_some(Game(7, "par"), 20)
    game = Game(7, "par", played.position)
    assert (game.position, game.history) == (played.position, ())
    assert (game.pyramid, game.waste, game.stock) == (played.pyramid, played.waste, played.stock)
    with pytest.raises(ValueError, match="nothing to undo: the game is at its start"):
        game.undo()


@pytest.mark.parametrize(
    "position", [-1, 2**64, 0, 2**52 - 1 | 3 << 57, 31 << 52, "3", True, 2.0**52 + 2**29]
)
def test_what_is_no_position_is_an_error(position: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"position={re.escape(repr(position))} is none of a game by Rules\(goal"
    ):
        Game(7, "kawu", position)


def test_unknown_rules_and_bad_deals_are_errors() -> None:
    with pytest.raises(ValueError, match="unknown rules 'kawu-9'"):
        Game(7, "kawu-9")
    with pytest.raises(ValueError, match="no deal has number -1"):
        Game(-1)
    with pytest.raises(ValueError, match="cannot read 'kawu' as a card"):
        Game("kawu")


# Playing


@pytest.mark.parametrize(
    "text", ["C1+G7", "g7+c1", "G7 C1", "QS AH", "ah+qs", "A♥ Q♠", "A♥\ufe0f+Q♠"]
)
def test_a_pair_is_played_by_places_or_by_cards_in_any_order(text: str) -> None:
    game = game_at({"A1": "2C", "C1": "QS", "G7": "AH"}, "3C")
    assert game.play(text) == Move("pair", (Place(3), Place(27)))
    assert (game.score, game.history) == (27, (Move.parse("C1+G7"),))


def test_cards_are_found_wherever_they_can_be_played_from() -> None:
    game = game_at({"A1": "2C", "G1": "KC", "R2": "QC"}, "QD KD", "2D AC", Rules(reserve=2))
    for text, move in (("QC AC", "W+R2"), ("AC QD", "W+S"), ("KC", "G1"), ("2C QD", "A1+S")):
        assert game.find_move(text) == Move.parse(move)


@pytest.mark.parametrize("move", [DRAW, "draw", " Draw ", 283, np.int64(283), np.int16(283)])
def test_a_move_is_played_as_itself_its_text_or_its_id(move: Any) -> None:
    game = Game(0)
    assert game.find_move(move) == DRAW
    assert game.play(move) == DRAW
    assert game.history == (DRAW,)


def test_a_draw_moves_as_many_cards_as_the_rules_say_and_at_last_what_is_left() -> None:
    game = Game(0, Rules(draw=5, stock_playable=False))
    sizes = []
    while game.stock:
        game.play("draw")
        sizes.append(len(game.waste))
    assert sizes == [5, 10, 15, 20, 24]
    assert game.waste == game.deal.cards[28:]


def test_a_recycle_turns_the_waste_into_a_stock_of_the_same_order() -> None:
    game = Game(0)
    stock = game.stock
    for _ in range(24):
        game.play("draw")
    game.play("recycle")
    assert (game.stock, game.waste, game.passes_left) == (stock, (), 1)


def test_playing_goes_on_until_no_move_is_legal() -> None:
    for preset in PRESETS:
        game = play_some(Game(3, preset), 1000)
        assert game.is_over
        assert game.is_won != game.is_lost
        assert (len(game.legal_moves), bool(game.legal_moves)) == (0, False)


# Moves that may not be played


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ("G1", "illegal move G1 (5C): 5C is no king, and only kings go alone"),
        ("5C", "illegal move G1 (5C): 5C is no king, and only kings go alone"),
        ("G1+G2", "illegal move G1+G2 (5C+6C): 5C and 6C sum to 11, not 13"),
        ("F1", "illegal move F1 (KC): KC covered by cards of the row below"),
        ("E1+G3", "illegal move E1+G3 (8C+5D): 8C covered by cards of the row below"),
        ("F1+G1", "F1+G1 (KC+5C): KC and 5C sum to 18, not 13"),
        ("G7", "illegal move G7 (gone): no card is at G7"),
        ("G1+G7", "illegal move G1+G7 (5C+gone): no card is at G7"),
        ("W", "illegal move W (gone): no card is at W"),
        ("recycle", "illegal move recycle: the stock still has cards to draw"),
    ],
)
def test_an_illegal_move_is_refused_with_the_reason(move: str, reason: str) -> None:
    table = {"F1": "KC", "G1": "5C", "G2": "6C", "E1": "8C", "G3": "5D"}
    game = game_at(table, "3C 4D")
    assert_refused(game, move, reason)


@pytest.mark.parametrize(
    ("cards", "reason"),
    [
        ("KH", "KH lies under other cards of the waste or the stock"),
        ("KS", "KS lies under other cards of the waste or the stock"),
        ("KD", "KD is gone"),
        ("4C KD", "KD is gone"),
    ],
)
def test_a_card_that_is_out_of_reach_is_named(cards: str, reason: str) -> None:
    assert_refused(game_at({"A1": "2C"}, "3C KS", "KH 4C"), cards, reason)


def test_an_empty_stock_or_waste_or_no_pass_left_is_named() -> None:
    waste_only = game_at({"A1": "2C", "G1": "KC"}, "", "3C", recycles=2)
    assert_refused(waste_only, "draw", "illegal move draw: the stock is empty: nothing to draw")
    assert_refused(waste_only, "recycle", "illegal move recycle: no pass is left")
    nothing = game_at({"A1": "2C", "G1": "KC"})
    assert_refused(nothing, "recycle", "the waste is empty: nothing to recycle")
    assert_refused(nothing, "draw", "the stock is empty: nothing to draw")


def test_a_stock_that_is_face_down_is_not_played() -> None:
    game = game_at({"A1": "2C", "G1": "6C"}, "7C", rules=Rules(stock_playable=False))
    assert_refused(game, "G1+S", "the stock is face down under these rules")


def test_after_the_end_the_end_is_the_reason() -> None:
    assert_refused(game_at({}, "KC"), "draw", "illegal move draw: the game is won")
    lost = game_at({"A1": "2C"}, "3C", rules="tuts-tomb")
    assert_refused(lost, "draw", "illegal move draw: the game is lost")


def test_what_names_no_move_is_refused() -> None:
    game = Game(0)
    assert_refused(game, 285, "no action has id 285: 0 to 284")
    assert_refused(game, -1, "no action has id -1: 0 to 284")
    assert_refused(game, None, "cannot play None: give a Move, its text or an action id")
    assert_refused(game, True, "cannot play True: give a Move, its text or an action id")
    assert_refused(game, 1.0, "cannot play 1.0: give a Move, its text or an action id")
    assert_refused(game, "8D G1", "no place is named '8D'")  # either cards or places
    assert_refused(game, "hello", "no place is named 'hello': pyramid slots are A1 to G7")
    assert_refused(game, "QS QS", "cannot read 'QS QS' as a move: name one card or two")
    assert_refused(game, "", "cannot read '' as a move")


@pytest.mark.parametrize("number", [0, 24])  # 24: a king comes first in the stock
def test_a_reserve_that_the_rules_do_not_have_is_empty(number: int) -> None:
    game = Game(number)
    assert game.card_at(Place(30)) is None
    with pytest.raises(ValueError, match="illegal move R1 ") as refusal:
        game.play("R1")
    assert card_text(game.stock[0]) not in str(refusal.value)
    assert_refused(game, "R1", "no card is at R1")


def test_a_place_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="99"):
        Game(0).play(Move("king", (Place(99),)))


def test_a_refusal_does_not_tell_a_face_down_card() -> None:
    game = Game(0, "tuts-tomb")
    with pytest.raises(ValueError, match="the stock is face down") as refusal:
        game.play("S")
    assert card_text(game.stock[0]) not in str(refusal.value)


# The legal moves


def test_the_legal_moves_are_iterated_counted_and_looked_up() -> None:
    game = game_at({"A1": "2C", "G1": "6C", "G2": "KC"}, "7C 8C")
    assert legal_texts(game) == {"G1+S", "G2", "draw"}
    assert (len(game.legal_moves), bool(game.legal_moves)) == (3, True)
    for known in ("G1+S", "7C 6C", "KC", DRAW, 283):
        assert known in game.legal_moves
    for unknown in ("G1", "8C", "recycle", RECYCLE, 284, 999, "what", None, ()):
        assert unknown not in game.legal_moves
    assert repr(game.legal_moves) == "<LegalMoves: G1+S, G2, draw>"
    assert repr(game_at({}).legal_moves) == "<LegalMoves: none>"


def test_the_view_follows_the_game() -> None:
    game = game_at({"A1": "2C", "G2": "KC"}, "7C 8C")
    view = game.legal_moves
    assert "G2" in view
    game.play("G2")
    assert "G2" not in view


def test_legal_actions_are_the_ids_of_the_legal_moves_ascending() -> None:
    for preset in PRESETS:
        game = Game(0, preset)
        table = action_table(game.rules)
        assert [table[action] for action in game.legal_actions()] == list(game.legal_moves)
        assert game.legal_actions() == sorted(set(game.legal_actions()))


# What lies where


def test_cards_exposed_cards_and_tops() -> None:
    game = game_at({"F1": "2C", "G1": "3C", "R2": "4C"}, "6C 7C", "8C 9C", Rules(reserve=2))
    assert [slot for slot in range(28) if game.is_exposed(slot)] == [21]
    assert [place for place, card in enumerate(game.pyramid) if card is not None] == [15, 21]
    assert game.reserve == (None, parse_card("4C"))
    assert list(map(card_text, game.waste)) == ["8C", "9C"]
    assert list(map(card_text, game.stock)) == ["6C", "7C"]
    assert list(map(card_text, game.unseen)) == ["7C"]
    for place, card in ((15, "2C"), (WASTE_TOP, "9C"), (STOCK_TOP, "6C"), (31, "4C")):
        assert game.card_at(Place(place)) == parse_card(card)
    assert game.card_at(Place(16)) is game.card_at(Place(30)) is None
    empty = game_at({"A1": "2C"})
    assert empty.card_at(WASTE_TOP) is empty.card_at(STOCK_TOP) is None


def test_a_move_is_described_in_places_and_cards() -> None:
    game = game_at({"A1": "2C", "G1": "6C", "G2": "KC"}, "7C 8C")
    moves = [game.describe(move) for move in game.legal_moves]
    assert moves == ["G1+S (6C+7C)", "G2 (KC)", "draw"]
    assert game.why_illegal(DRAW) is None


# Undo, copies, replay


def test_undo_gives_back_the_move_and_the_position_before_it() -> None:
    game = Game(5, "tuts-tomb")
    positions = [game.position]
    while not game.is_over:
        play_some(game, 1, seed=len(positions))
        positions.append(game.position)
    history = list(game.history)
    while history:
        assert game.position == positions.pop()
        assert game.undo() == history.pop()
        assert list(game.history) == history
    assert game.position == positions.pop() == Game(5, "tuts-tomb").position
    with pytest.raises(ValueError, match="nothing to undo: the game is at its start"):
        game.undo()


def test_a_copy_is_played_and_undone_alone() -> None:
    game = play_some(Game(5), 10)
    twin = game.copy()
    assert (twin.position, twin.history, twin.deal, twin.rules) == (
        game.position,
        game.history,
        game.deal,
        game.rules,
    )
    before = game.position
    twin.undo()
    twin.undo()
    assert (game.position, len(game.history)) == (before, 10)
    play_some(game, 5)
    assert len(twin.history) == 8


def test_a_game_is_replayed_from_texts_moves_or_ids() -> None:
    game = play_some(Game(5, "par"), 40)
    table = action_table(game.rules)
    spellings: list[Callable[[Move], Any]] = [str, lambda move: move, table.action]
    for spell in spellings:
        again = Game.replay("par", 5, [spell(move) for move in game.history])
        assert (again.position, again.history) == (game.position, game.history)


def test_a_replay_names_the_first_move_that_is_illegal() -> None:
    message = "move 3: illegal move recycle: the stock still has cards to draw"
    with pytest.raises(ValueError, match=message):
        Game.replay("kawu", 0, ["draw", "draw", "recycle", "what"])


def test_repr_rebuilds_the_game() -> None:
    played = play_some(Game(5, "covered"), 12)
    from_text = play_some(Game(str(Deal.from_number(6)), Rules(passes=None, draw=2)), 7)
    from_position = Game(5, "par", play_some(Game(5, "par"), 12).position)
    for game in (Game(5), played, from_text, from_position):
        again = eval(repr(game))
        assert (again.position, again.deal, again.rules) == (game.position, game.deal, game.rules)
        assert again.history == game.history


def test_a_deal_with_given_cards_has_them_where_they_are_wanted() -> None:
    deal = deal_with({"A1": "KS", "R1": "QH"}, "AC 2C", Rules(reserve=1))
    texts = str(deal).split()
    assert (texts[0], texts[28], texts[29:31]) == ("KS", "QH", ["AC", "2C"])


def test_a_card_is_found_where_it_can_be_played() -> None:
    game = Game(7, "reserve")
    for place in map(Place, (0, 27, 29, 30, 36)):  # apex, bottom right, stock's top, reserve
        card = game.card_at(place)
        assert card is not None
        assert game.place_of(card) == place
    drawn = game.stock[0]
    game.play("draw")
    assert game.place_of(drawn) == WASTE_TOP
    game.play("draw")
    with pytest.raises(ValueError, match="lies under other cards of the waste or the stock"):
        game.place_of(drawn)
