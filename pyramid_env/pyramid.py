"""The geometry of the pyramid's 28 slots, and the names of all places a card can be played from.

::

    row A                         0
    row B                       1   2
    row C                     3   4   5
    row D                   6   7   8   9
    row E                10  11  12  13  14
    row F              15  16  17  18  19  20
    row G            21  22  23  24  25  26  27

A card is covered by the two cards below it, to its left and to its right: slot 4 (``C2``) by
slots 7 and 8 (``D2`` and ``D3``).
"""

from __future__ import annotations

from functools import cache
from typing import NewType

from pyramid_env.texts import shown

Slot = NewType("Slot", int)
Place = NewType("Place", int)

N_ROWS = 7
N_SLOTS = 28
MAX_RESERVE = 7

WASTE_TOP = Place(28)
STOCK_TOP = Place(29)
FIRST_RESERVE = Place(30)
N_PLACES = FIRST_RESERVE + MAX_RESERVE

ROW_START: tuple[int, ...] = tuple(row * (row + 1) // 2 for row in range(N_ROWS))
"""First slot of each row: 0, 1, 3, 6, 10, 15, 21."""

ROW_OF: tuple[int, ...] = tuple(row for row in range(N_ROWS) for _ in range(row + 1))
"""Row (0-6) of each slot."""


def covers_of(slot: Slot) -> tuple[Slot, ...]:
    """The two slots that cover a slot, left and right; none for the bottom row.

    >>> covers_of(Slot(4))
    (7, 8)
    """
    row = ROW_OF[slot]
    if row == N_ROWS - 1:
        return ()
    return Slot(slot + row + 1), Slot(slot + row + 2)


@cache
def lies_above(slot: Slot, other: Slot) -> bool:
    """Whether `other` has to go before `slot` can: it covers it, directly or through others."""
    return any(cover == other or lies_above(cover, other) for cover in covers_of(slot))


def place_name(place: Place) -> str:
    """Slots are row letter and column, then ``W`` waste top, ``S`` stock top, ``R1``-``R7``.

    >>> [place_name(Place(i)) for i in (0, 4, 27, 28, 29, 30)]
    ['A1', 'C2', 'G7', 'W', 'S', 'R1']
    """
    return _PLACE_NAMES[place]


def parse_place(name: str) -> Place:
    """The place of a name, in either case."""
    place = _PLACE_OF_NAME.get(name.strip().upper())
    if place is None:
        raise ValueError(
            f"no place is named {shown(name)}: pyramid slots are A1 to G7, then W (waste),"
            " S (stock) and R1 to R7 (reserve)"
        )
    return place


_PLACE_NAMES: tuple[str, ...] = (
    *(f"{'ABCDEFG'[row]}{column + 1}" for row in range(N_ROWS) for column in range(row + 1)),
    "W",
    "S",
    *(f"R{i + 1}" for i in range(MAX_RESERVE)),
)
_PLACE_OF_NAME: dict[str, Place] = {name: Place(i) for i, name in enumerate(_PLACE_NAMES)}
