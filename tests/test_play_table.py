"""The table on the screen, played through Textual's pilot by mouse and keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from table import SMALL, WIDE, message, play_move, run, solved, text_of
from textual.pilot import Pilot
from textual.widgets import Button

from pyramid_env.game import Game
from pyramid_env.play.app import Table
from pyramid_env.play.dialogs import EndDialog
from pyramid_env.play.saves import Saves
from pyramid_env.play.session import Session
from pyramid_env.play.widgets import CardView, Lines
from pyramid_env.pyramid import N_SLOTS, place_name
from pyramid_env.solver import solve


@pytest.fixture
def saves(tmp_path: Path) -> Saves:
    return Saves(tmp_path)


# What is on the table


@pytest.mark.parametrize("size", [SMALL, WIDE, (120, 36), (300, 80)])
@pytest.mark.parametrize("rules", ["kawu", "reserve", "tuts-tomb"])
def test_every_card_that_can_be_played_is_on_the_screen_with_its_name(
    rules: str, size: tuple[int, int], saves: Saves
) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        for view in pilot.app.query(CardView):
            if view.place >= N_SLOTS and session.game.card_at(view.place) is None:
                continue
            assert view.visible
            assert pilot.app.screen.region.contains_region(view.region), view.id
            card = session.game.card_at(view.place)
            assert card is not None
            y = view.region.y + 1  # no row below covers this line
            for x in (view.region.x, view.region.right - 1):
                assert pilot.app.screen.get_widget_at(x, y)[0] is view
        for selector in ("#message", "#draw", Lines, "Footer"):
            region = pilot.app.query_one(selector).region  # type: ignore[call-overload]
            assert region.height > 0
            assert pilot.app.screen.region.contains_region(region)

    run(scenario, saves, Game(7, rules), size)


def test_the_lines_beside_the_pyramid_fit_a_small_terminal_at_their_longest(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        side = pilot.app.query_one("#side").region
        assert side.contains_region(pilot.app.query_one("#message").region)
        lines = text_of(pilot, "Lines")
        assert "Pass 2 of 3" in lines
        assert "Cards removed: 0 of 52" in lines
        assert lines.count("♦") + lines.count("♥") + lines.count("♣") + lines.count("♠") == 22

    run(scenario, saves, Game.replay("par", 7, [*["draw"] * 24, "recycle", *["draw"] * 12]))


def test_cards_not_yet_seen_are_not_shown(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        shown = pilot.app.export_screenshot()
        for card in session.game.unseen:
            rank, suit = "A23456789TJQK"[card % 13], "♣♦♥♠"[card // 13]
            assert f"{rank}{suit}".replace("T", "10") not in shown
        assert "3♥" in shown  # the stock's top

    run(scenario, saves, Game(7))


def test_a_face_down_stock_shows_no_card_and_draws_when_clicked(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        assert "♥" not in text_of(pilot, "#S")
        await pilot.click("#S")
        assert [str(move) for move in session.game.history] == ["draw"]
        await pilot.press("3", "h")  # buried in the waste by two more
        assert "lies under other cards" in message(pilot)

    run(scenario, saves, Game(7, "tuts-tomb"))


def test_what_can_be_played_is_picked_and_is_hinted_is_told_without_colour(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        border = lambda name: pilot.app.query_one(name).styles.border_top[0]  # noqa: E731
        assert "*" not in text_of(pilot, "#G6")
        await pilot.press("question_mark")
        assert text_of(pilot, "#G6").startswith("*K♦")
        assert border("#G6") == "dashed"
        await pilot.click("#G1")
        assert text_of(pilot, "#G1").startswith("▸5♥")
        assert border("#G1") == "heavy"
        assert border("#G2") == "round"
        assert pilot.app.query_one("#G2").styles.text_style.bold
        assert not pilot.app.query_one("#F1").styles.text_style.bold

    run(scenario, saves, Game(7))


# Playing


def test_by_mouse(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.click("#G6")
        assert session.game.score == 1
        assert not pilot.app.query_one("#G6").visible
        await pilot.click("#G1")
        await pilot.click("#G5")
        assert session.game.score == 3
        await pilot.click("#draw")
        assert len(session.game.waste) == 1
        await pilot.click("#F1", offset=(2, 1))
        assert message(pilot) == "7♠ is covered."
        await pilot.click("#S")
        assert "Picked J♥" in message(pilot)

    run(scenario, saves, Game(7))


def test_by_typing_cards(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("k")
        assert message(pilot) == "K_"
        await pilot.press("d")
        assert message(pilot) == "Removed K♦."
        await pilot.press("5", "h", "8", "H")
        assert session.game.score == 3
        await pilot.press("1", "0", "s")
        assert message(pilot) == "10♠ is covered."
        await pilot.press("t", "s")
        assert message(pilot) == "10♠ is covered."
        await pilot.press("q", "x")
        assert "QX is no card" in message(pilot)
        await pilot.press("k", "d")
        assert message(pilot) == "KD is gone"
        await pilot.press("9", "escape", "c")
        assert message(pilot) == ""

    run(scenario, saves, Game(7))


def test_by_arrows_and_enter(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("left")
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "G1"
        await pilot.press("right", "right", "left")
        assert pilot.app.focused.id == "G2"
        await pilot.press("up")
        assert pilot.app.focused.id == "S"
        await pilot.press("left")
        assert pilot.app.focused.id == "G7"
        await pilot.press("left")
        assert pilot.app.focused.id == "G6"
        await pilot.press("enter")
        assert session.game.score == 1

    run(scenario, saves, Game(7))


def test_draw_recycle_undo_and_redo_by_their_keys(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press(*["space"] * 24)
        assert session.game.stock == ()
        assert str(pilot.app.query_one("#draw", Button).label) == "Recycle"
        await pilot.press("space")
        assert session.game.passes_left == 1
        await pilot.press("u", "u")
        assert (len(session.game.stock), session.game.passes_left) == (1, 2)
        await pilot.press("home")
        assert session.game.history == ()
        await pilot.press("u")
        assert "Nothing to take back" in message(pilot)
        await pilot.press("y", "end")
        assert len(session.game.history) == 25
        await pilot.press("y")
        assert message(pilot) == "No move was taken back."

    run(scenario, saves, Game(7))


def test_the_hint_is_the_greedy_one_and_a_move_takes_it_off(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        assert session.game.hint() == session.game.find_move("G6")
        await pilot.press("question_mark")
        assert message(pilot) == "Hint: K♦"
        await pilot.press("space")
        assert "*" not in text_of(pilot, "#G6")

    run(scenario, saves, Game(7))


# The solver


def test_an_exact_hint_leads_to_a_win_which_is_announced(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("exclamation_mark")
        await solved(pilot)
        hint = session.game.hint(exact=True)
        assert hint is not None
        assert message(pilot) == f"Exact hint: {session.words(hint)}"
        assert text_of(pilot, f"#{place_name(hint.places[0])}").startswith("*")
        await play_move(pilot, hint)
        assert session.game.is_won
        assert isinstance(pilot.app.screen, EndDialog)
        assert not pilot.app.screen.query("#undo")
        await pilot.press("escape")
        assert "Won." in text_of(pilot, "Lines")
        await pilot.press("w")
        await solved(pilot)
        assert message(pilot) == "Won."
        await pilot.press("exclamation_mark")
        await solved(pilot)
        assert message(pilot) == "The game is over."

    run(scenario, saves, Game.replay("kawu", 7, solve(Game(7)).moves[:-1]))


def test_the_solver_says_whether_it_can_be_won_and_leads_back(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("w")
        await solved(pilot)
        assert message(pilot).startswith("Lost since move 2. At most 7 ")
        await pilot.press("b")
        await solved(pilot)
        assert message(pilot) == "After move 1. From here it can be won."
        await pilot.press("w")
        await solved(pilot)
        assert message(pilot) == "Still winnable."
        await pilot.press("end")
        assert len(session.game.history) == 3

    run(scenario, saves, Game.replay("kawu", 20, ["draw", "G1+G7", "draw"]))


def test_there_is_no_way_back_where_there_was_no_win(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("space", "b")
        await solved(pilot)
        assert message(pilot) == "This deal cannot be won from the start."
        assert len(session.game.history) == 1

    run(scenario, saves, Game(8))


def test_what_the_solver_cannot_decide_is_said(
    saves: Saves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyramid_env.play.session._NODE_LIMIT", 1)

    async def scenario(pilot: Pilot[None], session: Session) -> None:
        for key in ("w", "b"):
            await pilot.press(key)
            await solved(pilot)
            assert message(pilot) == "Too hard to decide: the solver gave up."

    run(scenario, saves, Game(20))


def test_an_answer_about_an_earlier_position_is_not_shown(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        table = pilot.app.screen
        assert isinstance(table, Table)
        told: list[str] = []
        table._tell(session.game.copy(), lambda: told.append("now"))
        before = session.game.copy()
        await pilot.press("space")
        table._tell(before, lambda: told.append("late"))
        assert told == ["now"]

    run(scenario, saves, Game(7))
