"""Positions drawn: as text for terminals, as an RGB picture, and in a window.

Text and picture show what the player sees. Both draw from the same `_View`, so the fair view has no
way to show a card that a person at the table has not seen. (Whether a game with unlimited passes is
lost may depend on such cards; the game ends there, so the player learns it anyway.)

Pictures need pygame-ce (``pip install "pyramid-env[human]"``), but no display.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from pyramid_env import engine
from pyramid_env.cards import N_RANKS, Card, card_text
from pyramid_env.deals import Deal
from pyramid_env.pyramid import N_ROWS, N_SLOTS, ROW_OF, ROW_START, Place, place_name
from pyramid_env.rules import Rules

if TYPE_CHECKING:
    from pyramid_env.picture import Picture

_CENTRE = 400
_CENTRE_BESIDE_RESERVE = 360
_RESERVE = 732
_COLUMN_STEP, _ROW_STEP = 84, 52
_PYRAMID_TOP = 20
_STOCK, _WASTE = 68, 732
_PILES_TOP = 474
_FIRST_TILE = 148
_TILE_STEP, _WASTE_STEP = 22, 21  # so 24 cards of stock and waste fit between the two piles
_BAR = 619

_GOLD = (255, 214, 102)
_WHITE = (255, 255, 255)


@dataclass(frozen=True)
class _View:
    """What the player sees: cards, None for a gone one, and how the game stands."""

    rules: Rules
    pyramid: tuple[Card | None, ...]
    exposed: tuple[bool, ...]
    reserve: tuple[Card | None, ...]
    stock: tuple[Card | None, ...]
    """From the next card on; here None is a face-down card."""

    waste: tuple[Card, ...]
    """From the bottom to the top."""

    passes_left: int | None
    can_recycle: bool
    score: int
    goal_removed: int
    outcome: str
    """``"won"``, ``"lost"`` or nothing."""

    @property
    def status(self) -> list[str]:
        left = "unlimited" if self.passes_left is None else self.passes_left
        texts = [f"Passes left: {left}", f"Score: {self.score} of {N_SLOTS}"]
        if self.rules.goal_size != N_SLOTS:
            texts.append(f"Removed: {self.goal_removed} of {self.rules.goal_size}")
        return texts


def _look(position: int | np.uint64, deal: Deal, rules: Rules, thoughtful: bool) -> _View:
    """Decide what is shown; whatever draws knows no more than this."""
    here, compiled = np.uint64(position), engine.compile_rules(rules)[0]
    exposed = int(engine.exposed_of(here))
    left = int(engine.passes_left(here, compiled))
    outcome = _outcome(here, deal, compiled)
    hidden = 0 if thoughtful else int(engine.face_down_of(here, compiled))

    def pick(bits: int) -> list[tuple[int, Card]]:
        return [(bit, card) for bit, card in enumerate(deal.cards) if bits >> bit & 1]

    there = dict(pick(int(here)))
    stock = pick(int(engine.stock_of(here, compiled)))
    return _View(
        rules=rules,
        pyramid=tuple(there.get(slot) for slot in range(N_SLOTS)),
        exposed=tuple(bool(exposed >> slot & 1) for slot in range(N_SLOTS)),
        reserve=tuple(there.get(bit) for bit in range(N_SLOTS, N_SLOTS + rules.reserve)),
        stock=tuple(None if hidden >> bit & 1 else card for bit, card in stock),
        waste=tuple(card for _, card in pick(int(engine.waste_of(here, compiled)))),
        passes_left=None if left < 0 else left,
        can_recycle=bool(engine.can_recycle(here, compiled)) and not outcome,
        score=int(engine.pyramid_cards_removed(here)),
        goal_removed=(int(compiled["goal"]) & ~position).bit_count(),
        outcome=outcome,
    )


def _outcome(position: np.uint64, deal: Deal, compiled: Any) -> str:
    if engine.is_won(position, compiled):
        return "won"
    rank_bits = np.empty(N_RANKS + 1, dtype=np.uint64)
    engine.find_rank_bits(deal.array, rank_bits)
    actions = np.empty(engine.MAX_LEGAL, dtype=np.int16)
    return "" if engine.legal_actions(position, rank_bits, compiled, actions) else "lost"


def render_text(
    position: int | np.uint64, deal: Deal, rules: Rules, thoughtful: bool = False
) -> str:
    """Draw a position in plain ASCII, at most 80 columns wide.

    Cards that may be played stand in brackets, gone ones are dots; the letter in front of a row is
    the one that moves name it by. The stock begins with its next card and counts the cards that the
    player has not seen (with `thoughtful` it lists them all); the waste ends with its top.

    >>> print(render_text(engine.start_position(), Deal.from_number(7), Rules()))
    A                8D
    B              6S  7D
    C            AD  QC  2C
    D          4S  QD  QS  9D
    E        KC  8C  8S  2D  3C
    F      7S  5C  TS  JS  7H  6C
    G   [5H][9C][JC][2S][8H][KD][3S]
    <BLANKLINE>
    Stock   24  [3H] 23 face down
    Waste    0
    <BLANKLINE>
    Passes left: 2   Score: 0 of 28
    """
    view = _look(position, deal, rules, thoughtful)
    lines = [*(_row_text(view, row) for row in range(N_ROWS)), ""]
    if view.reserve:
        n_reserve = sum(card is not None for card in view.reserve)
        words = [_card_word(card, True) for card in view.reserve]
        lines.append(_pile_text("Reserve", n_reserve, words))
    lines.append(_pile_text("Stock", len(view.stock), _stock_words(view)))
    words = [_card_word(card, card == view.waste[-1]) for card in view.waste]
    lines.append(_pile_text("Waste", len(view.waste), words))
    status = [*view.status, view.outcome.capitalize()] if view.outcome else view.status
    return "\n".join([*lines, "", "   ".join(status)])


def _row_text(view: _View, row: int) -> str:
    slots = range(ROW_START[row], ROW_START[row] + row + 1)
    cells = [f"{_card_word(view.pyramid[slot], view.exposed[slot]):^4}" for slot in slots]
    return f"{place_name(Place(slots[0]))[0]}   {''.join(cells):^{4 * N_ROWS}}".rstrip()


def _card_word(card: Card | None, playable: bool) -> str:
    if card is None:
        return ".."
    return f"[{card_text(card)}]" if playable else card_text(card)


def _stock_words(view: _View) -> list[str]:
    seen = [card for card in view.stock if card is not None]
    words = [_card_word(card, view.rules.stock_playable and i == 0) for i, card in enumerate(seen)]
    n_hidden = len(view.stock) - len(seen)
    return [*words, f"{n_hidden} face down"] if n_hidden else words


def _pile_text(name: str, n_cards: int, words: Sequence[str]) -> str:
    head = f"{name:<7} {n_cards:>2}  "
    text = textwrap.fill(
        " ".join(words), 80, initial_indent=head, subsequent_indent=" " * len(head)
    )
    return text or head.rstrip()


def render_image(
    position: int | np.uint64, deal: Deal, rules: Rules, thoughtful: bool = False
) -> NDArray[np.uint8]:
    """Draw a position as a fresh RGB picture, uint8[640, 800, 3].

    Covered cards are dimmed. The stock's top lies face up where it may be played; small beside it
    lie the other stock cards that the player has seen (with `thoughtful` all), the next one first.
    The waste's cards peek out to the left of its top. Raises
    `gymnasium.error.DependencyNotInstalled` without pygame-ce.

    >>> render_image(engine.start_position(), Deal.from_number(7), Rules()).shape
    (640, 800, 3)
    """
    view = _look(position, deal, rules, thoughtful)
    _import_pygame()
    from pyramid_env.picture import Picture

    picture = Picture()
    _draw_pyramid(picture, view)
    _draw_stock(picture, view)
    _draw_waste(picture, view)
    _draw_status(picture, view)
    return picture.pixels


def _draw_pyramid(picture: Picture, view: _View) -> None:
    """The pyramid, each row over the one above, and the reserve to its right."""
    centre = _CENTRE_BESIDE_RESERVE if view.reserve else _CENTRE
    for slot, card in enumerate(view.pyramid):
        if card is not None:
            row = ROW_OF[slot]
            x = centre + (slot - ROW_START[row]) * _COLUMN_STEP - row * _COLUMN_STEP // 2
            y = _PYRAMID_TOP + row * _ROW_STEP
            picture.put_face(card, x, y, dimmed=not view.exposed[slot])
    for i, card in enumerate(view.reserve):
        if card is not None:
            picture.put_face(card, _RESERVE, _PYRAMID_TOP + i * _ROW_STEP)


def _draw_stock(picture: Picture, view: _View) -> None:
    """The pile, thicker the more cards it has, and the seen cards below its top as tiles."""
    if not view.stock:
        picture.put_outline("recycle" if view.can_recycle else "empty", _STOCK, _PILES_TOP)
        return
    is_playable = view.rules.stock_playable
    top = view.stock[0] if is_playable else None
    below = view.stock[1:] if is_playable else view.stock
    pile = _STOCK if top is None else _STOCK + 10
    for layer in range((len(below) + 5) // 6, 0, -1):
        picture.put_back(pile + 2 * layer, _PILES_TOP + 2 * layer)
    if top is None:
        picture.put_back(_STOCK, _PILES_TOP)
    else:
        picture.put_face(top, _STOCK, _PILES_TOP)
    for i, card in enumerate(below):
        if card is not None:
            picture.put_tile(card, _FIRST_TILE + i * _TILE_STEP, _PILES_TOP + 29)


def _draw_waste(picture: Picture, view: _View) -> None:
    """The top at a fixed place, the cards beneath peeking out to its left."""
    if not view.waste:
        picture.put_outline("empty", _WASTE, _PILES_TOP)
    for i, card in enumerate(view.waste):
        n_above = len(view.waste) - 1 - i
        picture.put_face(card, _WASTE - n_above * _WASTE_STEP, _PILES_TOP, dimmed=n_above > 0)


def _draw_status(picture: Picture, view: _View) -> None:
    picture.write(f"Stock: {len(view.stock)}", 30, _BAR, "midleft")
    picture.write("   ·   ".join(view.status), _CENTRE, _BAR)
    picture.write(f"Waste: {len(view.waste)}", 770, _BAR, "midright")
    if view.outcome == "won":
        picture.announce("You won", _GOLD, _CENTRE, 240)
    elif view.outcome == "lost":
        picture.announce("Lost", _WHITE, 150, 60)


class Window:
    """A window that shows pictures; it opens at the first one.

    There is one such window a process: pictures of a second `Window` are shown in the same.

    >>> window = Window()
    >>> window.is_open
    False
    """

    def __init__(self) -> None:
        self._clock: Any = None
        self._was_dismissed = False

    @property
    def is_open(self) -> bool:
        """Whether the window is on the screen."""
        return self._clock is not None

    def show(self, image: NDArray[np.uint8], fps: float = 0) -> None:
        """Show a picture (uint8[height, width, 3]), then wait so that `fps` a second are shown.

        0 does not wait. Once the user has closed the window this does nothing, so the program runs
        on without it; `close` makes way for a new one. Raises
        `gymnasium.error.DependencyNotInstalled` without pygame-ce.
        """
        pygame = _import_pygame()
        if self._was_dismissed:
            return
        size = image.shape[1], image.shape[0]
        screen = pygame.display.get_surface()
        if not self.is_open or screen is None or screen.get_size() != size:
            pygame.display.init()
            pygame.display.set_caption("Pyramid Solitaire")
            screen = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        screen.blit(pygame.image.frombuffer(image.tobytes(), size, "RGB"), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            self._was_dismissed = True
            return
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window; without one, do nothing."""
        self._was_dismissed = False
        if self.is_open:
            self._clock = None
            _import_pygame().display.quit()


def _import_pygame() -> Any:
    try:
        import pygame
    except ImportError as error:
        raise DependencyNotInstalled(
            'pictures need pygame-ce: pip install "pyramid-env[human]"'
        ) from error
    return pygame
