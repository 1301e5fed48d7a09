"""A card is a number from 0 to 51: rank, suit, text and parsing.

Cards 0-12 are the clubs from ace to king, then come diamonds, hearts and spades.
Only ranks matter to the rules; suits exist for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NewType

from pyramid_env.texts import shown

Card = NewType("Card", int)

N_CARDS = 52
N_RANKS = 13
KING = 13
RANK_LETTERS = "A23456789TJQK"
SUIT_LETTERS = "CDHS"
SUIT_SYMBOLS = "♣♦♥♠"

_CARD_PATTERN = re.compile(
    r"(10|[2-9TJQKA])([CDHS♣♦♥♠♧♢♡♤])\ufe0f?",
    re.IGNORECASE | re.ASCII,  # the Kelvin sign is no K
)
_HOLLOW_SUITS = str.maketrans("♧♢♡♤", "♣♦♥♠")


def make_card(rank: int, suit: int) -> Card:
    """The card of a rank (1-13, ace to king) and a suit (0-3, index into `SUIT_LETTERS`)."""
    if not (1 <= rank <= N_RANKS and 0 <= suit < len(SUIT_LETTERS)):
        raise ValueError(f"no card has rank {rank} and suit {suit}: ranks are 1-13, suits 0-3")
    return Card(suit * N_RANKS + rank - 1)


def rank_of(card: Card) -> int:
    """The value in the game: ace 1, jack 11, queen 12, king 13."""
    return card % N_RANKS + 1


def suit_of(card: Card) -> int:
    """0 clubs, 1 diamonds, 2 hearts, 3 spades."""
    return card // N_RANKS


def is_red(card: Card) -> bool:
    """Whether the card is a diamond or a heart."""
    return suit_of(card) in (1, 2)


def card_text(card: Card) -> str:
    """Two letters, rank and suit.

    >>> card_text(make_card(12, 3)), card_text(make_card(10, 1))
    ('QS', 'TD')
    """
    return RANK_LETTERS[rank_of(card) - 1] + SUIT_LETTERS[suit_of(card)]


def card_symbol(card: Card) -> str:
    """Rank and suit symbol, such as ``Q♠`` or ``T♦``."""
    return RANK_LETTERS[rank_of(card) - 1] + SUIT_SYMBOLS[suit_of(card)]


def card_face(card: Card) -> str:
    """What stands on a card, such as ``Q♠`` or ``10♦``."""
    return card_symbol(card).replace("T", "10")


def parse_card(text: str) -> Card:
    """The card of a text: case, ``10`` or ``T``, suit letters or symbols are accepted.

    >>> parse_card("10♦") == parse_card("td")
    True
    """
    match = _CARD_PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"cannot read {shown(text)} as a card: write a rank and a suit, such as QS"
        )
    return _card_of(match)


def scan_cards(text: str) -> Iterator[tuple[str, Card | None]]:
    """Read cards one after another, white space between them or not.

    Yields ``(the text read, its card)``; the card is None where a word cannot be read, and the
    rest of that word is skipped.
    """
    for word in text.split():
        start = 0
        while start < len(word):
            match = _CARD_PATTERN.match(word, start)
            if match is None:
                yield word[start:], None
                break
            yield match.group(), _card_of(match)
            start = match.end()


def _card_of(match: re.Match[str]) -> Card:
    rank_text, suit_text = match.group(1).upper(), match.group(2).upper()
    rank = RANK_LETTERS.index("T" if rank_text == "10" else rank_text) + 1
    suit_text = suit_text.translate(_HOLLOW_SUITS)
    suits = SUIT_LETTERS if suit_text in SUIT_LETTERS else SUIT_SYMBOLS
    return make_card(rank, suits.index(suit_text))
