"""A game in a person's hands: picking, undo and redo, and the solver's word."""

from __future__ import annotations

import datetime

import pytest

from pyramid_env.actions import DRAW
from pyramid_env.cards import card_face
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.play.session import Session, last_winnable, verdict
from pyramid_env.pyramid import STOCK_TOP, Place, parse_place
from pyramid_env.rules import PRESETS, Rules, rules_words
from pyramid_env.solver import Undecided, solve

CANNOT_BE_WON = 8
THREW_IT_AWAY = Game.replay("kawu", 20, ["draw", "G1+G7", "draw"])
"""Its second move throws the win away (see `analyse`)."""


def session(deal: int = 7, rules: str | Rules = "kawu") -> Session:
    """Deal 7 has 5H 9C JC 2S 8H KD 3S in its bottom row, and 7S 5C ... above."""
    return Session(Game(deal, rules))


# Picking


def test_a_king_goes_at_once_and_other_cards_in_pairs() -> None:
    play = session()
    assert play.pick(parse_place("G6")) == "Removed K♦."
    assert play.game.card_at(parse_place("G6")) is None
    assert play.pick(parse_place("G1")) == "Picked 5♥: now one worth 8."
    assert play.picked == parse_place("G1")
    assert play.pick(parse_place("G5")) == "Removed 5♥ + 8♥."
    assert (play.picked, play.game.score, len(play.game.history)) == (None, 3, 2)


def test_the_order_of_picking_does_not_matter() -> None:
    first, second = session(), session()
    for play, names in ((first, "G1 G5"), (second, "G5 G1")):
        for name in names.split():
            play.pick(parse_place(name))
    assert first.game.position == second.game.position
    assert first.game.score == 2


def test_a_card_picked_again_is_put_back_and_one_that_does_not_match_takes_its_place() -> None:
    play = session()
    play.pick(parse_place("G1"))
    assert play.pick(parse_place("G1")) == "Put 5♥ back."
    assert play.picked is None
    play.pick(parse_place("G1"))
    assert play.pick(parse_place("G2")) == "5♥ + 9♣ is 14, not 13."
    assert play.picked == parse_place("G2")
    assert not play.game.history


@pytest.mark.parametrize(
    ("name", "reason"),
    [("F1", "7♠ is covered."), ("W", "There is no card."), ("R1", "There is no card.")],
)
def test_what_cannot_be_picked_is_said_and_changes_nothing(name: str, reason: str) -> None:
    play = session()
    play.pick(parse_place("G1"))
    with pytest.raises(ValueError, match=reason):
        play.pick(parse_place(name))
    assert play.picked == parse_place("G1")


def test_a_covered_king_stays() -> None:
    play = session()  # KC lies at E1
    with pytest.raises(ValueError, match="K♣ is covered"):
        play.pick(parse_place("E1"))


def test_a_face_down_stock_cannot_be_picked() -> None:
    play = session(7, "tuts-tomb")
    with pytest.raises(ValueError, match="face down"):
        play.pick(STOCK_TOP)


def test_a_card_may_go_with_one_that_it_alone_covers_where_the_rules_say_so() -> None:
    play = session(7, "covered")
    while not (upper_and_lower := covered_pairs(play.game)):
        play.play(play.game.hint())
    upper, lower = upper_and_lower[0]
    plain = Session(Game(7, "classic", play.game.position))
    play.pick(upper)
    assert play.pick(lower).startswith("Removed")
    with pytest.raises(ValueError, match="is covered"):
        plain.pick(upper)


def covered_pairs(game: Game) -> list[tuple[Place, ...]]:
    """The pairs that may go now although one card lies on the other."""
    pairs = [move.places for move in game.legal_moves if move.kind == "pair"]
    return [(a, b) for a, b in pairs if b < 28 and not game.is_exposed(a)]


def test_two_cards_on_each_other_that_sum_to_13_stay_without_that_rule() -> None:
    play = session(7, "covered")
    while not (upper_and_lower := covered_pairs(play.game)):
        play.play(play.game.hint())
    # Picking the lower card first makes no difference.
    upper, lower = upper_and_lower[0]
    plain = Session(Game(7, "classic", play.game.position))
    plain.pick(lower)
    with pytest.raises(ValueError, match="is covered"):
        plain.pick(upper)


# Drawing


def test_drawing_and_recycling_are_one_thing_to_do() -> None:
    play = session()
    assert play.draw_or_recycle() == "Drawn: 3♥"
    for _ in range(23):
        play.draw_or_recycle()
    assert play.game.stock == ()
    assert play.draw_or_recycle() == "The waste is the stock again."
    assert (len(play.game.stock), play.game.passes_left) == (24, 1)


def test_three_cards_drawn_at_once_are_named_in_their_order() -> None:
    play = session(7, "tuts-tomb")
    stock = play.game.stock
    assert play.draw_or_recycle() == f"Drawn: {' '.join(map(card_face, stock[:3]))}"


def test_without_a_pass_left_the_reason_is_told() -> None:
    play = session(7, "kawu-1")
    for _ in range(24):
        play.draw_or_recycle()
    with pytest.raises(ValueError, match=r"^No pass is left\.$"):
        play.draw_or_recycle()


# Undo and redo


def test_every_move_can_be_undone_and_redone() -> None:
    play = Session(Game(CANNOT_BE_WON))
    positions = [play.game.position]
    while not play.game.is_over:
        play.play(play.game.hint())
        positions.append(play.game.position)
    for position in reversed(positions[:-1]):
        play.undo()
        assert play.game.position == position
    with pytest.raises(ValueError, match="Nothing to take back"):
        play.undo()
    for position in positions[1:]:
        play.redo()
        assert play.game.position == position
    with pytest.raises(ValueError, match="No move was taken back"):
        play.redo()


def test_a_new_move_ends_redo() -> None:
    play = session()
    play.play(DRAW)
    play.undo()
    play.pick(parse_place("G6"))
    assert play.undone == []


def test_going_to_a_move_undoes_or_redoes_up_to_it() -> None:
    play = session()
    for _ in range(5):
        play.play(DRAW)
    assert play.go_to(2) == "After move 2."
    assert (len(play.game.history), len(play.undone)) == (2, 3)
    assert play.go_to(0) == "At the start."
    play.go_to(5)
    assert (len(play.game.history), len(play.undone)) == (5, 0)


# The daily deal


@pytest.mark.parametrize(
    ("number", "rules", "date"),
    [
        (20260704, "kawu", datetime.date(2026, 7, 4)),
        (20260704, "kawu-2", None),
        (20260732, "kawu", None),
        (7, "kawu", None),
        (2**64 - 1, "kawu", None),
    ],
)
def test_a_daily_deal_is_known_by_its_number_and_rules(
    number: int, rules: str, date: datetime.date | None
) -> None:
    assert session(number, rules).date == date


def test_cards_without_a_number_are_no_daily_deal() -> None:
    assert Session(Game(str(Deal.from_number(20260704)))).date is None


# The solver's word


def test_the_solver_tells_whether_and_since_when_a_game_is_lost() -> None:
    assert verdict(Game.replay("kawu", 20, ["draw"])) == "Still winnable."
    most = solve(THREW_IT_AWAY, "cards").value
    expected = f"Lost since move 2. At most {most} of 28 pyramid cards can go."
    assert verdict(THREW_IT_AWAY) == expected
    lost = verdict(Game(CANNOT_BE_WON))
    assert lost.startswith("Lost from the start: this deal cannot be won.")


def test_a_won_game_is_called_won() -> None:
    game = Game(7)
    for move in solve(game).moves:
        game.play(move)
    assert verdict(game) == "Won."


def test_the_way_back_leads_to_the_last_winnable_position() -> None:
    number = last_winnable(THREW_IT_AWAY)
    assert number == 1
    game = THREW_IT_AWAY.copy()
    while len(game.history) > number:
        game.undo()
    assert solve(game).value
    assert last_winnable(Game.replay("kawu", 20, ["draw"])) == 1
    assert last_winnable(Game(CANNOT_BE_WON)) is None


def test_a_limit_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyramid_env.play.session._NODE_LIMIT", 1)
    for question in (verdict, last_winnable):
        with pytest.raises(Undecided):
            question(Game(20))


def test_faces_show_ten_and_the_suit() -> None:
    assert [card_face(card) for card in Deal.parse(str(Deal.from_number(7))).cards[17:19]] == [
        "10♠",
        "J♠",
    ]


def test_the_rules_of_presets_are_told_by_name() -> None:
    assert rules_words(PRESETS["tuts-tomb"]) == ("tuts-tomb", None)
    assert rules_words(Rules(passes=5)) == ("kawu", "5")
    assert rules_words(Rules(draw=2, passes=None)) == ("own rules", "unlimited")
