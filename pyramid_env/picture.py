"""What pictures are put together from: the table, cards, labels. Where they lie is not known here.

Importing this needs pygame; `pyramid_env.rendering` does so when the first picture is drawn. No
display is opened, and the font is the one that comes with pygame, never the system's. Every piece
is drawn once a process, much too large, and scaled down, which smooths its edges.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import pygame
from numpy.typing import NDArray
from pygame import Surface

from pyramid_env.cards import RANK_LETTERS, Card, is_red, rank_of, suit_of

Points = NDArray[np.float64]
"""Corners of a polygon, float64[n, 2], in a square of side 1 around (0, 0)."""

Colour = tuple[int, int, int]

WIDTH, HEIGHT = 800, 640
CARD_WIDTH, CARD_HEIGHT = 76, 106
TILE_WIDTH, TILE_HEIGHT = 21, 48
_BAR_HEIGHT = 42

_WHITE: Colour = (255, 255, 255)
_PAPER: Colour = (252, 251, 247)
_EDGE: Colour = (160, 158, 152)
_RED: Colour = (200, 28, 42)
_BLACK: Colour = (28, 30, 36)
_DIMMED: Colour = (160, 172, 165)  # what a covered card's colours are multiplied by
_FELT: Colour = (36, 120, 82)
_BACK: Colour = (36, 66, 118)
_BACK_LINES: Colour = (98, 132, 184)
_OUTLINE: Colour = (150, 196, 172)

_OVERSAMPLE = 4
_RADIUS = 7
_MARGIN = 8
"""Around a card, for its shadow."""


class Picture:
    """A picture in the making: an empty table to put cards and labels on.

    Cards are placed by the middle of their upper edge.
    """

    def __init__(self) -> None:
        self._canvas = _table().copy()

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The picture as a fresh uint8[`HEIGHT`, `WIDTH`, 3]."""
        pixels = np.frombuffer(pygame.image.tobytes(self._canvas, "RGB"), dtype=np.uint8)
        return pixels.reshape(HEIGHT, WIDTH, 3).copy()

    def put_face(self, card: Card, x: int, top: int, dimmed: bool = False) -> None:
        """Put a card face up."""
        self._put(_face(card, dimmed), x, top - _MARGIN)

    def put_back(self, x: int, top: int) -> None:
        """Put a card face down."""
        self._put(_back(), x, top - _MARGIN)

    def put_tile(self, card: Card, x: int, top: int) -> None:
        """Put a card as a small tile."""
        self._put(_tile(card), x, top)

    def put_outline(self, text: str, x: int, top: int) -> None:
        """Put the outline of a place without cards, with a word in it."""
        self._put(_outline(text), x, top)

    def write(self, text: str, x: int, y: int, align: str = "center") -> None:
        """Write a line of text, with its ``midleft``, ``center`` or ``midright`` at a point."""
        label = _label(text, 18, _WHITE)
        self._canvas.blit(label, label.get_rect(**{align: (x, y)}))

    def announce(self, text: str, colour: Colour, x: int, y: int) -> None:
        """Write a large text on a dark plate around a point."""
        plate = _plate(text, colour)
        self._canvas.blit(plate, plate.get_rect(center=(x, y)))

    def _put(self, piece: Surface, x: int, top: int) -> None:
        self._canvas.blit(piece, (x - piece.get_width() // 2, top))


@cache
def _table() -> Surface:
    """Green felt, lightest behind the pyramid, with a dark bar along the bottom."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    light = 1.1 - 0.45 * (((x - WIDTH / 2) / 560) ** 2 + ((y - 220) / 480) ** 2)
    light[-_BAR_HEIGHT:] *= 0.6
    pixels = (light[:, :, np.newaxis] * _FELT).clip(0, 255).astype(np.uint8)
    table = Surface((WIDTH, HEIGHT), depth=32)
    table.blit(pygame.image.frombuffer(pixels.tobytes(), (WIDTH, HEIGHT), "RGB"), (0, 0))
    return table


@cache
def _face(card: Card, dimmed: bool) -> Surface:
    corner = _sheet(CARD_WIDTH, CARD_HEIGHT, _PAPER)
    _draw_rank(corner, card, 12.5, 16, 24)
    _draw_suit(corner, card, 12.5, 35, 14)
    face = _blank(CARD_WIDTH, CARD_HEIGHT, _RADIUS)
    face.blit(corner, (0, 0))
    face.blit(pygame.transform.rotate(corner, 180), (0, 0))
    _draw_suit(face, card, CARD_WIDTH / 2, CARD_HEIGHT / 2, 34)
    if dimmed:
        face.fill(_DIMMED, special_flags=pygame.BLEND_RGB_MULT)
    return _with_shadow(face)


@cache
def _back() -> Surface:
    border = 3
    size = CARD_WIDTH - 2 * border, CARD_HEIGHT - 2 * border
    lattice, mask = _sheet(*size, _BACK), _sheet(*size, _WHITE)
    lattice.fill(_BACK)
    width, height = lattice.get_size()
    for left in range(-height, width, 9 * _OVERSAMPLE):
        right = left + height
        pygame.draw.line(lattice, _BACK_LINES, (left, 0), (right, height), _OVERSAMPLE)
        pygame.draw.line(lattice, _BACK_LINES, (right, 0), (left, height), _OVERSAMPLE)
    radius = (_RADIUS - border) * _OVERSAMPLE
    pygame.draw.rect(mask, _WHITE, mask.get_rect(), border_radius=radius)
    lattice.blit(mask, (0, 0), special_flags=pygame.BLEND_RGBA_MULT)
    back = _blank(CARD_WIDTH, CARD_HEIGHT, _RADIUS)
    back.blit(lattice, (border * _OVERSAMPLE, border * _OVERSAMPLE))
    return _with_shadow(back)


@cache
def _tile(card: Card) -> Surface:
    tile = _blank(TILE_WIDTH, TILE_HEIGHT, 4)
    _draw_rank(tile, card, TILE_WIDTH / 2, 15, 18)
    _draw_suit(tile, card, TILE_WIDTH / 2, 34, 15)
    return _scaled_down(tile)


@cache
def _outline(text: str) -> Surface:
    sheet = _sheet(CARD_WIDTH, CARD_HEIGHT, _OUTLINE)
    line, radius = 2 * _OVERSAMPLE, _RADIUS * _OVERSAMPLE
    pygame.draw.rect(sheet, (*_OUTLINE, 160), sheet.get_rect(), line, radius)
    label = _text(text, 14, _OUTLINE)
    sheet.blit(label, label.get_rect(center=sheet.get_rect().center))
    return _scaled_down(sheet)


@lru_cache(maxsize=512)
def _label(text: str, size: int, colour: Colour) -> Surface:
    return _scaled_down(_text(text, size, colour))


@cache
def _plate(text: str, colour: Colour) -> Surface:
    label = _text(text, 40, colour)
    area = label.get_rect().inflate(48 * _OVERSAMPLE, 20 * _OVERSAMPLE)
    plate = Surface(area.size, pygame.SRCALPHA)
    radius = 14 * _OVERSAMPLE
    pygame.draw.rect(plate, (0, 0, 0, 150), plate.get_rect(), border_radius=radius)
    plate.blit(label, label.get_rect(center=plate.get_rect().center))
    return _scaled_down(plate)


def _draw_rank(sheet: Surface, card: Card, x: float, y: float, size: int) -> None:
    """Draw the rank around a point; ten is as wide as the others."""
    letter = RANK_LETTERS[rank_of(card) - 1]
    text = _text("10" if letter == "T" else letter, size, _ink(card))
    widest = round(0.75 * size * _OVERSAMPLE)
    if text.get_width() > widest:
        text = pygame.transform.smoothscale(text, (widest, text.get_height()))
    sheet.blit(text, text.get_rect(center=(round(x * _OVERSAMPLE), round(y * _OVERSAMPLE))))


def _draw_suit(sheet: Surface, card: Card, x: float, y: float, size: float) -> None:
    """Draw the suit's shape around a point."""
    for points in _suit_shapes()[suit_of(card)]:
        corners = (points * size + (x, y)) * _OVERSAMPLE
        pygame.draw.polygon(sheet, _ink(card), corners.tolist())


@cache
def _suit_shapes() -> tuple[tuple[Points, ...], ...]:
    """For clubs, diamonds, hearts and spades the polygons that make up their shape."""
    turn = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    sine, cosine = np.sin(turn), np.cos(turn)
    circle = np.stack([cosine, sine], axis=1)
    astroid = np.stack([_power(cosine, 2.2), _power(sine, 2.2)], axis=1)
    lobes = 13 * cosine - 5 * np.cos(2 * turn) - 2 * np.cos(3 * turn) - np.cos(4 * turn)
    heart = np.stack([16 * sine**3, -lobes - 2.5], axis=1) / 33
    side = np.linspace(0, 1, 16)
    half = np.stack([0.05 + 0.19 * side**2.5, 0.5 * side], axis=1)
    stem = np.concatenate([half, half[::-1] * (-1, 1)])
    spade = heart * (1, -0.92) - (0, 0.06)
    leaves = [circle * 0.235 + centre for centre in ((0, -0.26), (-0.25, 0.1), (0.25, 0.1))]
    return (
        (*leaves, circle * 0.13, stem),
        (astroid * (0.4, 0.52),),
        (heart,),
        (spade, stem),
    )


def _power(values: Points, exponent: float) -> Points:
    return np.sign(values) * np.abs(values) ** exponent


def _ink(card: Card) -> Colour:
    return _RED if is_red(card) else _BLACK


def _sheet(width: int, height: int, colour: Colour) -> Surface:
    """An oversampled sheet, transparent, but of the colour that edges on it shall blend into."""
    sheet = Surface((width * _OVERSAMPLE, height * _OVERSAMPLE), pygame.SRCALPHA)
    sheet.fill((*colour, 0))
    return sheet


def _blank(width: int, height: int, radius: int) -> Surface:
    """An oversampled card without print."""
    sheet = _sheet(width, height, _EDGE)
    area, radius = sheet.get_rect(), radius * _OVERSAMPLE
    pygame.draw.rect(sheet, _EDGE, area, border_radius=radius)
    inner = area.inflate(-2 * _OVERSAMPLE, -2 * _OVERSAMPLE)
    pygame.draw.rect(sheet, _PAPER, inner, border_radius=radius - _OVERSAMPLE)
    return sheet


def _text(text: str, size: int, colour: Colour) -> Surface:
    """A line of text, oversampled."""
    pygame.font.init()
    return pygame.font.Font(None, size * _OVERSAMPLE).render(text, True, colour)


def _scaled_down(sheet: Surface) -> Surface:
    width, height = sheet.get_size()
    return pygame.transform.smoothscale(sheet, (width // _OVERSAMPLE, height // _OVERSAMPLE))


def _with_shadow(sheet: Surface) -> Surface:
    """The card in its true size on a soft shadow, with a margin for it on all sides."""
    card = _scaled_down(sheet)
    size = card.get_width() + 2 * _MARGIN, card.get_height() + 2 * _MARGIN
    y, x = np.mgrid[: size[1], : size[0]]
    outside_x = np.abs(x - size[0] / 2) - card.get_width() / 2 + _RADIUS
    outside_y = np.abs(y - size[1] / 2 - 2) - card.get_height() / 2 + _RADIUS
    distance = np.hypot(outside_x.clip(0), outside_y.clip(0)) - _RADIUS
    shade = np.zeros((size[1], size[0], 4), dtype=np.uint8)
    shade[:, :, 3] = 110 * (0.5 - distance / _MARGIN).clip(0, 1) ** 1.5
    piece = Surface(size, pygame.SRCALPHA)
    piece.blit(pygame.image.frombuffer(shade.tobytes(), size, "RGBA"), (0, 0))
    piece.blit(card, (_MARGIN, _MARGIN))
    return piece
