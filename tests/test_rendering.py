"""Drawing: what texts and pictures say, and that a fair view shows nothing unseen."""

import random
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled

from pyramid_env.cards import Card, card_text
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.picture import CARD_WIDTH, TILE_WIDTH, WIDTH, Picture
from pyramid_env.rendering import Window, render_image, render_text
from pyramid_env.rules import PRESETS, Rules

KAWU = Rules()
DEAL = Deal(tuple(Card(card) for card in range(52)))  # AC to KC, AD to KD, AH to KH, AS to KS
GONE = """
C            ..  ..  ..
D          ..  ..  ..  ..
E        ..  ..  ..  ..  ..
F      ..  ..  ..  ..  ..  ..
G    ..  ..  ..  ..  ..  ..  ..
"""


def position(cards: list[int], drawn: int = 0, passed: int = 0) -> int:
    """A position with only these of the deal's 52 cards left; the stock starts at 28."""
    return sum(1 << bit for bit in cards) | drawn << 52 | passed << 57


def games_under_every_preset() -> Iterator[Game]:
    for number, rules in enumerate(PRESETS):
        for n_moves in (0, 5, 15, 40):
            game, chance = Game(number, rules), random.Random(n_moves)
            while len(game.history) < n_moves and game.legal_moves:
                game.play(chance.choice(list(game.legal_moves)))
            yield game


def with_other_unseen_cards(game: Game) -> Deal:
    """The deal with its face-down cards in the opposite order."""
    cards = list(game.deal.cards)
    places = [cards.index(card) for card in game.unseen]
    for place, card in zip(places, reversed(game.unseen), strict=True):
        cards[place] = card
    return Deal(tuple(cards))


def test_the_text_of_a_game_that_has_begun() -> None:
    game = Game.replay("kawu", 7, ["G6", "G3+G4", "F3+G7", "draw", "draw"])
    assert str(game).splitlines() == [
        "A                8D",
        "B              6S  7D",
        "C            AD  QC  2C",
        "D          4S  QD  QS  9D",
        "E        KC  8C  8S  2D  3C",
        "F      7S  5C  ..  JS  7H [6C]",
        "G   [5H][9C] ..  .. [8H] ..  ..",
        "",
        "Stock   22  [JD] 21 face down",
        "Waste    2  3H [JH]",
        "",
        "Passes left: 2   Score: 5 of 28",
    ]
    thoughtful = render_text(game.position, game.deal, game.rules, thoughtful=True)
    assert thoughtful.splitlines()[8:10] == [
        "Stock   22  [JD] 5D AC QH 9H AH 4H TC TD AS 7C KH 4C TH KS 6D 4D 6H 5S 9S 3D 2H",
        "Waste    2  3H [JH]",
    ]


def test_the_text_with_a_reserve_and_a_stock_that_is_not_playable() -> None:
    rules = Rules(goal="all", passes=None, draw=3, stock_playable=False, reserve=3)
    cards = [0, 1, 28, 30, 31, 32, 34, 50, 51]
    piles = """
Reserve  2  [3H] .. [5H]
Stock    3  {}
Waste    2  6H [7H]

Passes left: unlimited   Score: 26 of 28   Removed: 43 of 52"""
    first_pass = "A                AC\nB             [2C] .." + GONE + piles.format("3 face down")
    assert render_text(position(cards, drawn=3), DEAL, rules) == first_pass
    later = first_pass.replace("3 face down", "9H QS KS")  # all seen, still none may be played
    assert render_text(position(cards, drawn=3, passed=1), DEAL, rules) == later
    assert render_text(position(cards, drawn=3), DEAL, rules, thoughtful=True) == later


@pytest.mark.parametrize(
    ("cards", "top_rows", "end"),
    [
        ([0, 30, 40], "A               [AC]\nB              ..  ..", "Score: 27 of 28   Lost"),
        ([30, 40], "A                ..\nB              ..  ..", "Score: 28 of 28   Won"),
    ],
)
def test_the_text_of_a_game_that_is_over(cards: list[int], top_rows: str, end: str) -> None:
    piles = "\nStock    0\nWaste    2  5H [2S]\n\nPasses left: 0   "
    assert render_text(position(cards, 24, 2), DEAL, KAWU) == top_rows + GONE + piles + end


def test_texts_are_ascii_fit_a_terminal_and_name_the_cards_that_are_seen_only() -> None:
    for game in games_under_every_preset():
        fair = render_text(game.position, game.deal, game.rules)
        thoughtful = render_text(game.position, game.deal, game.rules, thoughtful=True)
        for text in (fair, thoughtful):
            assert text.isascii()
            assert "\x1b" not in text
            assert max(map(len, text.splitlines())) <= 80
        for bit, card in enumerate(game.deal.cards):
            is_there = bool(game.position >> bit & 1)
            assert (card_text(card) in fair) == (is_there and card not in game.unseen)
            assert (card_text(card) in thoughtful) == is_there


def test_a_fair_view_shows_nothing_of_unseen_cards() -> None:
    n_hiding = 0
    for game in games_under_every_preset():
        if len(game.unseen) < 2:
            continue
        n_hiding += 1
        for draw in (render_text, render_image):
            views = [
                [
                    np.asarray(draw(game.position, deal, game.rules, thoughtful)).tobytes()
                    for deal in (game.deal, with_other_unseen_cards(game))
                ]
                for thoughtful in (False, True)
            ]
            assert views[0][0] == views[0][1]
            assert views[1][0] != views[1][1]
    assert n_hiding > len(PRESETS)


def test_once_all_is_seen_both_views_are_the_same() -> None:
    game = Game.replay("tuts-tomb", 5, ["draw"] * 8 + ["recycle"])
    assert len(game.stock) == 24
    for draw in (render_text, render_image):
        fair, thoughtful = (draw(game.position, game.deal, game.rules, t) for t in (False, True))
        assert np.array_equal(fair, thoughtful)


def test_pictures_are_fresh_and_equal_for_equal_positions() -> None:
    game = Game(7)
    first = render_image(game.position, game.deal, game.rules)
    assert first.shape == (640, 800, 3)
    assert first.dtype == np.uint8
    assert first.flags.writeable
    assert first.flags.c_contiguous
    kept = first.copy()
    first[:] = 0
    pygame.quit()  # somebody else's environment may do so
    assert np.array_equal(render_image(np.uint64(game.position), game.deal, game.rules), kept)
    game.play("draw")
    assert not np.array_equal(render_image(game.position, game.deal, game.rules), kept)


def test_drawing_takes_no_random_numbers() -> None:
    game = Game(7)
    drawn = []
    for is_rendered in (False, True):
        random.seed(3)
        np.random.seed(3)
        if is_rendered:
            render_image(game.position, game.deal, game.rules)
        drawn.append((random.random(), np.random.random()))
    assert drawn[0] == drawn[1]


def test_pictures_are_the_same_in_every_process_and_open_no_display() -> None:
    code = (
        "import sys, zlib\n"
        "from pyramid_env.game import Game\n"
        "from pyramid_env.rendering import render_image\n"
        "assert 'pygame' not in sys.modules\n"
        "game = Game(7)\n"
        "print(zlib.crc32(render_image(game.position, game.deal, game.rules).tobytes()))\n"
        "import pygame\n"
        "assert not pygame.display.get_init()\n"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert other.stderr == ""
    game = Game(7)
    image = render_image(game.position, game.deal, game.rules)
    assert other.stdout == f"{zlib.crc32(image.tobytes())}\n"


def bright_pixels(cards: list[int]) -> int:
    image = render_image(position(cards, drawn=24), DEAL, KAWU)
    return int((image > 240).all(axis=2).sum())


def test_covered_cards_are_dimmed() -> None:
    one_card = bright_pixels([21])
    assert one_card > 5000
    assert bright_pixels([21, 22]) == pytest.approx(2 * one_card, rel=0.05)
    assert bright_pixels([15, 21]) == pytest.approx(one_card, rel=0.05)
    assert bright_pixels([15, 16, 21, 23]) == pytest.approx(2 * one_card, rel=0.05)


Call = tuple[str, tuple[Any, ...]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What pictures are put together from; nothing is drawn."""
    noted: list[Call] = []

    def note(name: str) -> None:
        monkeypatch.setattr(Picture, name, lambda _, *args, **options: noted.append((name, args)))

    for name in ("put_face", "put_back", "put_tile", "put_outline", "write", "announce"):
        note(name)
    return noted


@pytest.mark.parametrize(
    ("rules", "where", "words"),
    [
        (
            "kawu",
            2**52 - 1,
            ["empty", "Stock: 24", "Passes left: 2   ·   Score: 0 of 28", "Waste: 0"],
        ),
        (
            "kawu",
            position([0, 30, 31], 24, 1),
            ["recycle", "Stock: 0", "Passes left: 1   ·   Score: 27 of 28", "Waste: 2"],
        ),
        (
            "tuts-tomb",
            position([0, 30, 31], 24, 1),
            [
                "empty",
                "Stock: 0",
                "Passes left: unlimited   ·   Score: 27 of 28",
                "Waste: 2",
                "Lost",
            ],
        ),
        (
            "kawu",
            position([28, 51], 23, 2),
            ["Stock: 1", "Passes left: 0   ·   Score: 28 of 28", "Waste: 1", "You won"],
        ),
        (
            "par",
            position([28, 51], 23, 2),
            [
                "Stock: 1",
                "Passes left: 0   ·   Score: 28 of 28   ·   Removed: 50 of 52",
                "Waste: 1",
            ],
        ),
    ],
)
def test_pictures_say_how_the_game_stands(
    calls: list[Call], rules: str, where: int, words: list[str]
) -> None:
    render_image(where, DEAL, PRESETS[rules])
    assert [args[0] for _, args in calls if isinstance(args[0], str)] == words


@pytest.mark.parametrize("stock_playable", [True, False])
def test_stock_and_waste_never_meet(calls: list[Call], stock_playable: bool) -> None:
    rules = Rules(stock_playable=stock_playable)
    for drawn in range(25):
        calls.clear()
        render_image(position(list(range(28, 52)), drawn, passed=1), DEAL, rules)
        stock: list[float] = []
        waste: list[float] = []
        for name, (*what, x, _) in calls:
            if name == "put_face" and what[0] < 28 + drawn:
                waste.append(x - CARD_WIDTH / 2)
            elif name.startswith("put") and what != ["empty"] and what != ["recycle"]:
                stock.append(x + (TILE_WIDTH if name == "put_tile" else CARD_WIDTH) / 2)
        n_tiles = sum(name == "put_tile" for name, _ in calls)
        assert n_tiles == max(24 - drawn - stock_playable, 0)
        assert len(waste) == drawn
        assert max(stock, default=0) < min(waste, default=WIDTH)


def test_without_pygame_texts_work_and_pictures_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = render_image(2**52 - 1, DEAL, KAWU)
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert render_text(2**52 - 1, DEAL, KAWU)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "pyramid-env\[human\]"'):
        render_image(2**52 - 1, DEAL, KAWU)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "pyramid-env\[human\]"'):
        Window().show(image)


def test_a_window_opens_shows_waits_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    image = render_image(2**52 - 1, DEAL, KAWU)
    window = Window()
    window.close()
    assert not window.is_open
    window.show(image)
    assert window.is_open
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, image)

    start = time.perf_counter()
    for _ in range(3):
        window.show(image, fps=20)
    assert time.perf_counter() - start > 0.08
    window.show(image[:480, :640])
    assert pygame.display.get_surface().get_size() == (640, 480)
    window.close()
    window.close()
    assert not window.is_open
    assert not pygame.display.get_init()


def test_a_window_that_the_user_closed_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    image = render_image(2**52 - 1, DEAL, KAWU)
    window = Window()
    window.show(image)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(image)
    assert not window.is_open
    window.show(image)
    assert not window.is_open
    window.close()
    window.show(image)
    assert window.is_open
    window.close()
