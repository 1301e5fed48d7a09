"""`Deal`: the ordered 52 cards of one game. All chance of the project lives here.

Numbered deals are specified to the bit in ``docs/deals.md``: a counter-based generator (the output
function of SplitMix64; Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014), draws without bias (Lemire, "Fast Random Integer Generation in an Interval", ACM
TOMACS 29, 2019) and the Fisher-Yates shuffle.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from pyramid_env.cards import N_CARDS, Card, card_text, scan_cards
from pyramid_env.jit import kernel, lowest
from pyramid_env.pyramid import N_SLOTS, Place, place_name
from pyramid_env.texts import as_number, shown

FIRST_TRAINING_NUMBER = 2**32
"""Deals below are for evaluation only (benchmarks from 0 on, daily deals)."""

FIRST_HELD_OUT_NUMBER = 2**63
"""Deals from here on are never drawn for training: for choosing between agents while training."""

N_NUMBERS = 2**64

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_0 = np.uint64(0)
_1 = np.uint64(1)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)
_32 = np.uint64(32)


@kernel
def mix(word: Any) -> Any:
    """SplitMix64's output function: a bijection of uint64 that scatters neighbours."""
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@kernel
def shuffle(number: Any, cards: Any) -> None:
    """Write deal `number` (uint64) into `cards` (uint8[52])."""
    for i in range(N_CARDS):
        cards[i] = i
    counter = mix(number)
    for last in range(N_CARDS - 1, 0, -1):
        chosen, counter = draw_below(np.uint64(last + 1), counter)
        cards[np.uint64(last)], cards[chosen] = cards[chosen], cards[np.uint64(last)]


@kernel
def draw_below(bound: Any, counter: Any) -> Any:
    """A uniform number below `bound` (uint64, from 1 to 2^32), and the counter to go on with."""
    while True:
        counter += _GAMMA
        product = (mix(counter) >> _32) * bound
        low = product & _LOW_32
        if low >= bound or low >= (_LOW_32 + _1) % bound:  # the first spares a division
            return product >> _32, counter


@kernel
def shuffle_places(places: Any, counter: Any, cards: Any) -> Any:
    """Shuffle the cards (of uint8[52]) at some places (bits), and no others.

    Every order is equally likely. Returns the counter to go on with.
    """
    bits = np.empty(N_CARDS, np.uint64)
    n_places = _0
    while places:
        bits[n_places] = lowest(places)
        places &= places - _1
        n_places += _1
    for last in range(np.int64(n_places) - 1, 0, -1):
        chosen, counter = draw_below(np.uint64(last + 1), counter)
        a, b = bits[np.uint64(last)], bits[chosen]
        cards[a], cards[b] = cards[b], cards[a]
    return counter


@kernel
def training_number(key: Any, episode: Any) -> Any:
    """The deal number (2^32 to 2^63 - 1) of an environment's episode, from its uint64 key."""
    return (mix(mix(key) + (episode + _1) * _GAMMA) >> _1) | np.uint64(FIRST_TRAINING_NUMBER)


def random_training_number(generator: np.random.Generator) -> int:
    """Draw one training deal's number, from 2^32 to 2^63 - 1."""
    return int(generator.integers(FIRST_TRAINING_NUMBER, FIRST_HELD_OUT_NUMBER))


@dataclass(frozen=True, repr=False)
class Deal:
    """The 52 cards of one game in deal order: pyramid from apex to bottom right, reserve, stock.

    Two deals are equal when their cards are. Raises `ValueError` unless the cards are the 52 of
    one deck.

    >>> Deal.from_number(0)
    Deal.from_number(0)
    >>> Deal.parse(str(Deal.from_number(0))) == Deal.from_number(0)
    True
    """

    cards: tuple[Card, ...]
    number: int | None = field(default=None, compare=False)
    """The number that `from_number` made it from, if any."""

    def __post_init__(self) -> None:
        _check_deck((str(card), _as_card(card)) for card in self.cards)
        object.__setattr__(self, "cards", tuple(Card(int(card)) for card in self.cards))

    @classmethod
    def from_number(cls, number: SupportsIndex) -> Deal:
        """The numbered deal (0 to 2^64 - 1): the same forever and on every platform."""
        checked = as_number(number)
        if not 0 <= checked < N_NUMBERS:
            raise ValueError(f"no deal has number {number!r}: a whole number from 0 to 2^64 - 1")
        cards = np.empty(N_CARDS, dtype=np.uint8)
        shuffle(np.uint64(checked), cards)
        return cls(tuple(map(Card, cards.tolist())), number=checked)

    @classmethod
    def daily(cls, date: datetime.date | None = None) -> Deal:
        """The deal of a day (default: today), number YYYYMMDD; its rules are always ``kawu``."""
        day = date or datetime.date.today()
        return cls.from_number(day.year * 10_000 + day.month * 100 + day.day)

    @classmethod
    def parse(cls, text: str) -> Deal:
        """Read a deal from 52 cards such as ``6D 5H AH``; white space does not matter.

        Case, ``10`` for ``T`` and suit symbols are accepted. Raises `ValueError` naming the card
        and its place when one is missing, doubled or unreadable.
        """
        found = list(scan_cards(text))
        _check_deck(found)
        return cls(tuple(card for _, card in found if card is not None))

    @property
    def array(self) -> NDArray[np.uint8]:
        """The cards as a fresh uint8[52]."""
        return np.array(self.cards, dtype=np.uint8)

    def __str__(self) -> str:
        return " ".join(card_text(card) for card in self.cards)

    def __repr__(self) -> str:
        if self.number is not None:
            return f"Deal.from_number({self.number})"
        return f"Deal.parse({str(self)!r})"


def random_deal() -> Deal:
    """A deal for a person to play: one with a number of at most six digits."""
    return Deal.from_number(secrets.randbelow(1_000_000))


def get_deal(deal: Deal | str | SupportsIndex) -> Deal:
    """The deal of a number or of a text; a `Deal` passes through."""
    if isinstance(deal, Deal):
        return deal
    if isinstance(deal, str):
        return Deal.parse(deal)
    return Deal.from_number(deal)


def _check_deck(cards: Iterable[tuple[str, Card | None]]) -> None:
    """Raise unless the cards, each with the text to name it by, are a whole deck."""
    seen: dict[Card, int] = {}
    count = 0
    for index, (text, card) in enumerate(cards):
        count += 1
        if card is None:
            raise ValueError(f"cannot read {shown(text)} as a card, at {_place_in_deal(index)}")
        if card in seen:
            raise ValueError(
                f"{card_text(card)} is there twice: at {_place_in_deal(seen[card])}"
                f" and at {_place_in_deal(index)}"
            )
        seen[card] = index
    if count < N_CARDS:
        missing = [card_text(Card(card)) for card in range(N_CARDS) if card not in seen]
        raise ValueError(
            f"a deal has 52 cards, here are {count}; the first place without one is"
            f" {_place_in_deal(count)}, and missing are {' '.join(missing)}"
        )


def _place_in_deal(index: int) -> str:
    slot = f" (slot {place_name(Place(index))})" if index < N_SLOTS else ""
    return f"card {index + 1}{slot}"


def _as_card(card: object) -> Card | None:
    """The card of a number from 0 to 51; None for anything else."""
    number = as_number(card)
    return Card(number) if 0 <= number < N_CARDS else None
