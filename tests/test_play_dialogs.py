"""The end of games, new deals and settings, and saving, through Textual's pilot."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from table import choose, message, now, play_move, run, solved, text_of
from textual.pilot import Pilot
from textual.widgets import Input, Static

from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.play.app import Table
from pyramid_env.play.dialogs import EndDialog, HelpDialog, NewDealDialog
from pyramid_env.play.saves import Saves
from pyramid_env.play.session import Session
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import solve


@pytest.fixture
def saves(tmp_path: Path) -> Saves:
    return Saves(tmp_path)


# The end


def test_a_loss_is_announced_with_the_offer_to_undo(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await lose(pilot, session)
        n_moves = len(session.game.history)
        await pilot.click("#undo")
        assert isinstance(pilot.app.screen, Table)
        assert len(session.game.history) == n_moves - 1
        assert not session.game.is_over
        await pilot.press("y")
        assert isinstance(pilot.app.screen, EndDialog)
        await pilot.press("u")
        assert len(session.game.history) == n_moves - 1

    run(scenario, saves, nearly_lost(Game(8)))


def nearly_lost(game: Game) -> Game:
    """A game that the next hint loses."""
    while not game.is_over:
        game.play(game.hint())
    assert game.is_lost
    game.undo()
    return game


async def lose(pilot: Pilot[None], session: Session) -> None:
    await play_move(pilot, session.game.hint())
    assert session.game.is_lost
    assert isinstance(pilot.app.screen, EndDialog)


def test_a_lost_game_offers_the_way_back_and_a_new_deal(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await lose(pilot, session)
        await pilot.press("b")
        await solved(pilot)
        assert "can be won" in message(pilot)
        assert solve(session.game).value
        await pilot.press("end")
        await pilot.press("n")
        assert isinstance(pilot.app.screen, NewDealDialog)
        await pilot.press("escape")
        assert "Lost: no move is left." in text_of(pilot, "Lines")

    run(scenario, saves, nearly_lost(Game.replay("kawu", 20, ["draw", "G1+G7"])))


# New deals and settings


def test_a_deal_by_number_and_preset(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        for number, (preset, rules) in enumerate(PRESETS.items()):
            await choose(pilot, str(number), preset, "as the preset")
            assert (now(pilot).deal, now(pilot).rules) == (Deal.from_number(number), rules)
            same = [name for name in PRESETS if PRESETS[name] == rules]
            titles = [f"Pyramid Solitaire: deal {number}, {name}" for name in same]
            assert text_of(pilot, "#title") in titles
            assert message(pilot) == "A new game: good luck."

    run(scenario, saves, Game(7))


def test_passes_are_a_setting_of_their_own_and_stay(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await choose(pilot, "5", "classic", "2")
        assert now(pilot).rules == Rules(goal="all", passes=2)
        assert "deal 5, classic, 2 passes" in text_of(pilot, "#title")
        await choose(pilot, "6")
        assert (now(pilot).deal.number, now(pilot).rules) == (6, Rules(goal="all", passes=2))
        await choose(pilot, "6", "tuts-tomb", "unlimited")
        assert now(pilot).rules == PRESETS["tuts-tomb"]

    run(scenario, saves, Game(7))


@pytest.mark.parametrize("rules", [Rules(passes=12), Rules(draw=2, reserve=3, passes=None)])
def test_rules_that_are_no_preset_can_be_kept(rules: Rules, saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await choose(pilot, "9")
        assert (now(pilot).deal.number, now(pilot).rules) == (9, rules)

    run(scenario, saves, Game(7, rules))


@pytest.mark.parametrize("number", ["-1", "x", "1.5", str(2**64), "[b]7[/b]", "[/"])
def test_a_wrong_number_is_said_and_can_be_mended(number: str, saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await choose(pilot, number)
        assert isinstance(pilot.app.screen, NewDealDialog)
        assert f"No deal has number '{number}'" in str(
            pilot.app.screen.query_one("#trouble", Static).render()
        )
        pilot.app.screen.query_one(Input).value = "8"
        await pilot.press("enter")
        await pilot.pause()
        assert now(pilot).deal.number == 8

    run(scenario, saves, Game(7))


def test_an_empty_number_is_any_deal_and_cancel_is_none(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("n")
        await pilot.click("#cancel")
        await pilot.pause()
        assert now(pilot) is session.game
        await choose(pilot, "")
        assert now(pilot) is not session.game
        assert (now(pilot).deal.number or 0) < 1_000_000

    run(scenario, saves, Game(2**63))


def test_the_daily_deal_is_scored_and_its_best_score_kept(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        before = datetime.date.today()
        await pilot.press("n")
        await pilot.click("#daily")
        await pilot.pause()
        game = now(pilot)
        assert game.deal in (Deal.daily(before), Deal.daily())
        assert game.rules == PRESETS["kawu"]
        assert "Best score of this day: 0" in text_of(pilot, "Lines")
        removed = 0
        while removed == 0:
            await play_move(pilot, game.hint())
            removed = game.score
        await pilot.press("home")
        assert now(pilot).score == 0
        assert f"Best score of this day: {removed}" in text_of(pilot, "Lines")

    run(scenario, saves, Game(7, "classic"))


def test_help_opens_and_closes(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("f1")
        assert isinstance(pilot.app.screen, HelpDialog)
        close = pilot.app.screen.query_one("#close")
        assert pilot.app.screen.region.contains_region(close.region)
        await pilot.press("k", "d")
        await pilot.click("#close")
        assert isinstance(pilot.app.screen, Table)
        assert session.game.history == ()

    run(scenario, saves, Game(7))


# Saved games


def test_every_move_is_saved_and_the_game_goes_on(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("k", "d", "space", "space", "u")

    run(scenario, saves, Game(7))
    back = saves.last()
    assert back is not None
    assert [str(move) for move in back.game.history] == ["G6", "draw"]
    assert [str(move) for move in back.undone] == ["draw"]


def test_a_deal_played_before_goes_on_when_it_is_chosen_again(saves: Saves) -> None:
    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("k", "d")
        await choose(pilot, "8")
        await choose(pilot, "7")
        assert now(pilot).score == 1
        assert "goes on" in message(pilot)

    run(scenario, saves, Game(7))


def test_a_disk_that_refuses_is_said_and_play_goes_on(tmp_path: Path) -> None:
    (tmp_path / "games").write_text("in the way")

    async def scenario(pilot: Pilot[None], session: Session) -> None:
        await pilot.press("k", "d")
        assert session.game.score == 1
        assert "Removed K♦." in message(pilot)
        assert "Not saved: [Errno " in message(pilot)  # brackets are no markup

    run(scenario, Saves(tmp_path), Game(7))


def test_damaged_scores_are_said_and_play_goes_on(saves: Saves, tmp_path: Path) -> None:
    (tmp_path / "daily.json").write_text("{")

    async def scenario(pilot: Pilot[None], session: Session) -> None:
        assert "daily.json is damaged and was kept as" in message(pilot)
        await pilot.press("space")
        assert message(pilot).startswith("Drawn: ")
        assert "damaged" not in message(pilot)

    run(scenario, saves, Game(20260704))
