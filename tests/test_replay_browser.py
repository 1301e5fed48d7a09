"""The replay page in a headless Chromium: by keyboard, mouse and touch, on a desk and a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pyramid_env.actions import action_table
from pyramid_env.cards import card_face
from pyramid_env.game import Game
from pyramid_env.replay import write_replay
from pyramid_env.rules import Rules
from pyramid_env.solver import analyse, solve

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
NASTY = "me</script><script>document.title = 'broken'</script>"


def lost_game() -> Game:
    """Deal 20: the second move throws the win away."""
    game = Game.replay("kawu", 20, ["draw", "G1+G7"])
    while not game.is_over:
        game.play(game.hint())
    return game


GAME = lost_game()
N_MOVES = len(GAME.history)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page on the screen, and whatever it complained of or asked for."""

    def __init__(self, browser: Browser, path: Path, size: dict[str, int], **settings: Any) -> None:
        self.context = browser.new_context(viewport=size, **settings)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.clock.install()
        self.page.goto(path.as_uri())
        self.path = path

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert self.asked == [self.path.as_uri()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    n_actions = len(action_table(Rules()))
    probabilities = np.random.default_rng(0).dirichlet(np.ones(n_actions), size=N_MOVES)
    path = tmp_path / "game.html"
    write_replay(path, "kawu", 20, GAME.history, agent="me", probabilities=probabilities)
    return path


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser: Browser, path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    watched = Watched(browser, path, request.param)
    yield watched.page
    watched.close()


def moves_played(page: Page) -> int:
    words = page.locator("#where").inner_text().split()
    assert words[0] == "After"
    assert page.locator("#scrub").input_value() == words[1]
    return int(words[1])


def cards_shown(page: Page) -> set[str]:
    cards = page.locator("#board [data-card]").evaluate_all("all => all.map(c => c.dataset.card)")
    assert len(cards) == len(set(cards))
    return set(cards)


# What it shows


def test_every_step_shows_the_table_as_it_was(page: Page) -> None:
    game = Game(20)
    for move in [*GAME.history, None]:
        there = [card for card in game.pyramid if card is not None]
        tops = [*game.stock[:1], *game.waste[-1:]]
        assert cards_shown(page) == {card_face(card) for card in (*there, *tops)}
        if move is not None:
            game.play(move)
            page.keyboard.press("ArrowRight")
    assert moves_played(page) == N_MOVES


def test_cards_that_the_agent_had_not_seen_are_shown_on_request_only(page: Page) -> None:
    game = Game(20)
    board = page.locator("#board")
    below = [card_face(card) for card in game.stock[1:]]
    assert not any(face in board.inner_html() for face in below)
    page.keyboard.press("h")
    assert all(face in board.inner_html() for face in below)
    page.locator("#hidden").uncheck()
    assert not any(face in board.inner_html() for face in below)


def test_the_verdict_and_the_better_moves_stand_by_each_move(page: Page) -> None:
    analysis = analyse("kawu", 20, GAME.history)
    for number, judged in list(enumerate(analysis.moves))[:6]:
        assert moves_played(page) == number
        assert page.locator("#verdict").inner_text().endswith(f": {judged.verdict}.")
        rows = page.locator("#legal tr").all()
        legal = list(Game(20, "kawu", judged.position).legal_moves)
        assert len(rows) == len(legal)
        for row, move in zip(rows, legal, strict=True):
            cells = row.locator("td").all_inner_texts()
            assert (cells[0] == "▶") == (move == judged.move)
            assert judged.best_moves is not None
            assert cells[2] == ("✓ best" if move in judged.best_moves else "worse")
            assert cells[3].endswith(" %")
        page.keyboard.press("ArrowRight")


def test_the_strip_shows_where_the_win_was_lost(page: Page) -> None:
    heights = page.locator("#strip rect").evaluate_all(
        "all => all.map(r => Number(r.getAttribute('height')))"
    )
    band = 3
    assert heights.count(band) == 2  # the states that can be won, each with a band and a full bar
    assert [height for height in heights if height != band][:4] == [28, 28, 7, 7]
    page.keyboard.press("l")
    assert moves_played(page) == 1
    assert "throws the win away: at most 7 cards go" in page.locator("#verdict").inner_text()
    assert page.locator("#board .playing").count() == 2


def test_a_winning_game_has_no_losing_move_to_go_to(browser: Browser, tmp_path: Path) -> None:
    write_replay(tmp_path / "game.html", "kawu", 7, solve(Game(7)).moves)
    watched = Watched(browser, tmp_path / "game.html", DESK)
    assert watched.page.locator("#losing").is_hidden()
    watched.page.keyboard.press("l")
    assert moves_played(watched.page) == 0
    assert watched.page.locator("#legal tr").first.locator("td").count() == 3  # no probabilities
    watched.close()


@pytest.mark.parametrize("rules", ["reserve", "tuts-tomb", "par"])
def test_other_rules_have_their_places(rules: str, browser: Browser, tmp_path: Path) -> None:
    game = Game(3, rules)
    for _ in range(6):
        game.play("draw")
    write_replay(tmp_path / "game.html", rules, 3, game.history)
    watched = Watched(browser, tmp_path / "game.html", DESK)
    watched.page.keyboard.press("End")
    shown = cards_shown(watched.page)
    assert {
        card_face(card) for card in (*game.reserve, game.waste[-1]) if card is not None
    } <= shown
    stock_top = card_face(game.stock[0])
    assert (stock_top in shown) == game.rules.stock_playable
    box = watched.page.locator("#board").bounding_box()
    assert box is not None
    for card in watched.page.locator("#board g rect").all():
        inner = card.bounding_box()
        assert inner is not None
        assert box["x"] <= inner["x"]
        assert inner["y"] + inner["height"] <= box["y"] + box["height"]
    watched.close()


# Going through it


def test_by_keyboard(page: Page) -> None:
    for key, expected in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", N_MOVES),
        ("ArrowRight", N_MOVES),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("L", 1),
    ):
        page.keyboard.press(key)
        assert moves_played(page) == expected, key


def test_by_buttons_and_by_the_slider(page: Page) -> None:
    for name, expected in (
        ("next", 1),
        ("next", 2),
        ("previous", 1),
        ("last", N_MOVES),
        ("first", 0),
        ("losing", 1),
    ):
        page.click(f"#{name}")
        assert moves_played(page) == expected, name
    page.locator("#scrub").fill("17")
    assert moves_played(page) == 17
    page.click("#first")
    assert page.locator("#previous").is_disabled()
    assert page.locator("#next").is_enabled()


def test_the_strip_can_be_clicked_and_dragged(page: Page) -> None:
    page.locator("#strip").scroll_into_view_if_needed()
    box = page.locator("#strip").bounding_box()
    assert box is not None

    def point(state: int) -> tuple[float, float]:
        return box["x"] + (state + 0.5) * box["width"] / (N_MOVES + 1), box["y"] + 20

    page.mouse.click(*point(30))
    assert moves_played(page) == 30
    page.mouse.move(*point(2))
    page.mouse.down()
    page.mouse.move(*point(12))
    assert moves_played(page) == 12
    page.mouse.move(box["x"] + box["width"] + 50, box["y"])
    page.mouse.up()
    assert moves_played(page) == N_MOVES


def test_playing_goes_on_by_itself_pauses_and_ends(page: Page) -> None:
    page.keyboard.press(" ")
    assert page.locator("#play").inner_text() == "Pause"
    page.clock.run_for(2500)
    assert moves_played(page) == 3
    page.keyboard.press(" ")
    page.clock.run_for(5000)
    assert moves_played(page) == 3
    page.click("#play")
    page.clock.run_for(800 * N_MOVES)
    assert moves_played(page) == N_MOVES
    assert page.locator("#play").inner_text() == "Play"
    page.click("#play")  # from the start again
    page.clock.run_for(1000)
    assert moves_played(page) == 1
    page.select_option("#speed", "0.2")
    page.clock.run_for(1600)
    assert 4 <= moves_played(page) <= 10
    page.keyboard.press("ArrowLeft")
    assert page.locator("#play").inner_text() == "Play"


def test_keys_in_the_list_of_speeds_stay_there(page: Page) -> None:
    page.locator("#speed").focus()
    page.keyboard.press("Home")
    page.keyboard.press("l")
    assert moves_played(page) == 0
    page.locator("#next").focus()
    page.keyboard.press(" ")  # works the button, and starts no playing
    assert moves_played(page) == 1
    assert page.locator("#play").inner_text() == "Play"


# On a phone, and by hands that mean harm


def test_on_a_phone_nothing_is_wider_than_the_screen_and_fingers_find_the_buttons(
    browser: Browser, path: Path
) -> None:
    watched = Watched(browser, path, PHONE, has_touch=True, is_mobile=True)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for button in page.locator("button, select").all():
        box = button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
    page.tap("#next")
    assert moves_played(page) == 1
    page.tap("#losing")
    assert moves_played(page) == 1
    page.tap("#strip", position={"x": 200, "y": 20})
    assert moves_played(page) > 10
    watched.close()


def test_a_name_that_looks_like_a_script_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    write_replay(tmp_path / "game.html", "kawu", 20, ["draw"], agent=NASTY)
    watched = Watched(browser, tmp_path / "game.html", DESK)
    assert watched.page.locator("h1").inner_text() == f"{NASTY}: deal 20, kawu"
    assert watched.page.title() == f"{NASTY}: deal 20, kawu"
    watched.close()


def test_a_game_without_moves_is_shown(browser: Browser, tmp_path: Path) -> None:
    write_replay(tmp_path / "game.html", "kawu", 20, [])
    watched = Watched(browser, tmp_path / "game.html", DESK)
    for key in ("ArrowRight", " ", "End", "l"):
        watched.page.keyboard.press(key)
        assert moves_played(watched.page) == 0
    watched.close()
