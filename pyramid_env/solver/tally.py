"""Tallies: how many cards of each rank some set of cards has, all ranks in one integer.

::

    bit 47 ...... 24   23 ....... 0
        Q J 10 9 8 7   6 5 4 3 2 A       four bits a rank, ace lowest; kings are not counted

Ranks that sum to 13 are 24 bits apart, so one rotation turns a tally into that of the partners, and
one subtraction compares all ranks at once: the top bit of each field, which no count of at most
four uses, is set before and shows afterwards where nothing was borrowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.cards import KING, N_CARDS
from pyramid_env.jit import kernel, lowest

TABLE_SHAPE = (7, 256)

_0 = np.uint64(0)
_1 = np.uint64(1)
_3 = np.uint64(3)
_4 = np.uint64(4)
_8 = np.uint64(8)
_BYTE = np.uint64(255)
_FIELD = np.uint64(15)
_HALF = np.uint64(24)
_ALL = np.uint64(2**48 - 1)
_TOPS = np.uint64(0x888888888888)
_EVEN_FIELDS = np.uint64(0x0F0F0F0F0F0F)
_SUM_OF_BYTES = np.uint64(0x010101010101)
_LAST_BYTE = np.uint64(40)
_HALF_OF_RANKS = (KING - 1) // 2


def field_of(rank: int) -> int:
    """The first bit of a rank's field.

    >>> [field_of(rank) for rank in (1, 6, 12, 7)]
    [0, 20, 24, 44]
    """
    return 4 * (rank - 1) if rank <= _HALF_OF_RANKS else 24 + 4 * (KING - rank - 1)


FIELDS = np.array([0, *map(field_of, range(1, KING)), 0], np.uint64)
"""uint64[14]: `field_of` each rank; 0 for none and for kings."""


@kernel
def one_card(rank: Any) -> Any:
    """The tally of one card."""
    return _0 if rank == KING else _1 << FIELDS[np.uint64(rank)]


@kernel
def fill_table(ones: Any, table: Any) -> None:
    """From the tallies of single cards (uint64[52]) fill the table (uint64[7, 256]) of `tally_of`.

    It has the tally of every set of cards within one byte of a position.
    """
    for byte in range(np.uint64(TABLE_SHAPE[0])):
        table[byte, _0] = _0
        for cards in range(_1, np.uint64(TABLE_SHAPE[1])):
            bit = byte * _8 + lowest(cards)
            one = ones[bit] if bit < np.uint64(N_CARDS) else _0
            table[byte, cards] = table[byte, cards & (cards - _1)] + one


@kernel
def tally_of(cards: Any, table: Any) -> Any:
    """The tally of cards, given as bits of a position (nothing else of it may be set)."""
    tally = _0
    for byte in range(np.uint64(TABLE_SHAPE[0])):
        tally += table[byte, (cards >> (byte * _8)) & _BYTE]
    return tally


@kernel
def of_partners(tally: Any) -> Any:
    """For each rank the count of the rank that it goes with."""
    return (tally >> _HALF) | ((tally << _HALF) & _ALL)


@kernel
def at_least(a: Any, b: Any) -> Any:
    """The ranks of which `a` has as many cards as `b`: the top bits of their fields."""
    return ((a | _TOPS) - b) & _TOPS


@kernel
def fields_of(tops: Any) -> Any:
    """The whole fields of ranks given by their top bits."""
    return (tops >> _3) * _FIELD


@kernel
def smaller(a: Any, b: Any) -> Any:
    """Of each rank the smaller count."""
    fields = fields_of(at_least(a, b))
    return (b & fields) | (a & ~fields)


@kernel
def missing(a: Any, b: Any) -> Any:
    """Of each rank by how much `b` has less than `a`; 0 where it has not."""
    difference = (a | _TOPS) - b
    return difference & ~_TOPS & fields_of(difference & _TOPS)


@kernel
def total(tally: Any) -> Any:
    """All cards of a tally, as int64."""
    bytes_ = (tally & _EVEN_FIELDS) + ((tally >> _4) & _EVEN_FIELDS)
    return np.int64(((bytes_ * _SUM_OF_BYTES) >> _LAST_BYTE) & _BYTE)


@kernel
def larger_of_pairs(tally: Any) -> Any:
    """Of each two ranks that sum to 13 the larger count, in the field of the lower rank."""
    partners = of_partners(tally)
    return (tally + missing(partners, tally)) & (_ALL >> _HALF)


def as_list(tally: int) -> NDArray[np.uint64]:
    """The counts of ranks 1 to 12, for tests and people.

    >>> as_list((2 << field_of(1)) | (3 << field_of(12))).tolist()
    [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]
    """
    return np.array([(tally >> field_of(rank)) & 15 for rank in range(1, KING)], np.uint64)
