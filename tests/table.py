"""Playing at the table on the screen, for tests: a pilot, and what a person does and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from pyramid_env.actions import Move
from pyramid_env.game import Game
from pyramid_env.play.app import PlayApp
from pyramid_env.play.saves import Saves
from pyramid_env.play.session import Session
from pyramid_env.pyramid import place_name

SMALL, WIDE = (80, 24), (140, 40)
Scenario = Callable[[Pilot[None], Session], Awaitable[None]]


def run(scenario: Scenario, saves: Saves, game: Game, size: tuple[int, int] = SMALL) -> None:
    """Play a scenario at a table with a game."""

    async def play() -> None:
        session = Session(game)
        async with PlayApp(saves, session, "Good luck.").run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(pilot, session)

    asyncio.run(play())


def text_of(pilot: Pilot[None], selector: str) -> str:
    return str(pilot.app.query_one(selector, Static).render())


def message(pilot: Pilot[None]) -> str:
    return text_of(pilot, "#message")


async def solved(pilot: Pilot[None]) -> None:
    """Wait for the solver's thread, and for its answer on the screen."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def play_move(pilot: Pilot[None], move: Move) -> None:
    """Play a move as a person does, card by card."""
    if not move.places:
        await pilot.press("space")
    for place in move.places:
        await pilot.click(f"#{place_name(place)}", offset=(2, 1))


async def choose(pilot: Pilot[None], number: str, preset: str = "", passes: str = "") -> None:
    await pilot.press("n")
    screen = pilot.app.screen
    screen.query_one(Input).value = number
    if preset:
        screen.query_one("#preset", Select).value = preset
    if passes:
        screen.query_one("#passes", Select).value = passes
    await pilot.pause()
    await pilot.click("#deal")
    await pilot.pause()


def now(pilot: Pilot[None]) -> Game:
    table: Any = pilot.app.screen
    return table._session.game  # type: ignore[no-any-return]
