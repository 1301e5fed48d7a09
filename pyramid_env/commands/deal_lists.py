"""Reading deals as people write them: numbers, lines of 52 cards, pyramid-shaped blocks."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyramid_env.cards import N_CARDS, scan_cards
from pyramid_env.deals import Deal
from pyramid_env.pyramid import N_ROWS

STDIN = "-"
"""The file name that stands for standard input."""

_NUMBER = re.compile(r"[+-]?[0-9]+")
_MOST_NAMED = 10
_MOST_DIGITS = 100


@dataclass(frozen=True)
class ListedDeal:
    """A deal with a short name: its number, or where its cards were given."""

    name: str
    deal: Deal


_Lines = list[tuple[int, str]]
"""Lines without comments, each with its number."""


def deals_of_words(words: Sequence[str]) -> list[ListedDeal]:
    """The deals of a command line's words: all of them numbers, or else the cards of one deal."""
    if all(map(_NUMBER.fullmatch, words)):
        return [ListedDeal(word, _numbered(word)) for word in words]
    return [ListedDeal("as given", Deal.parse(" ".join(words)))]


def read_deals(path: str) -> list[ListedDeal]:
    """The deals of a file, `STDIN` for standard input; see `parse_deals`.

    Raises `OSError` where it cannot be read.
    """
    content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    name = "stdin" if path == STDIN else Path(path).name
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name}:{line}: this is no UTF-8 text") from None
    deals = list(parse_deals(text.splitlines(), name))
    if not deals:
        raise ValueError(f"{name}: there is no deal in it")
    return deals


def parse_deals(lines: Iterable[str], name: str) -> Iterator[ListedDeal]:
    """The deals of a file's lines.

    A line with a number or with all 52 cards is a deal. Other lines are the rows of one deal up to
    the next such line or blank line: a pyramid's rows of 1 to 7 cards, then the rest. What follows
    ``#`` is a comment. Raises `ValueError` naming each bad line by file and number, after the last.
    """
    bad: list[tuple[int, str]] = []
    for block in _blocks(lines):
        try:
            deal = _deal_of(block)
        except ValueError as error:
            bad.append((_bad_line(block), str(error)))
        else:
            yield ListedDeal(f"{name}:{block[0][0]}" if deal.number is None else block[0][1], deal)
    if bad:
        line, message = bad[0]
        more = ", ".join(str(number) for number, _ in bad[1:_MOST_NAMED])
        more += ", ..." if len(bad) > _MOST_NAMED else ""
        raise ValueError(
            f"{name}:{line}: {message}" + (f" (other bad lines: {more})" if more else "")
        )


def _blocks(lines: Iterable[str]) -> Iterator[_Lines]:
    """The lines of each deal."""
    block: _Lines = []
    for number, line in enumerate(lines, start=1):
        content, hash_sign, _ = line.partition("#")
        content = content.strip()
        is_whole = _NUMBER.fullmatch(content) or len(list(scan_cards(content))) >= N_CARDS
        if block and (is_whole or not (content or hash_sign)):
            yield block
            block = []
        if is_whole:
            yield [(number, content)]
        elif content:
            block.append((number, content))
    if block:
        yield block


def _deal_of(block: _Lines) -> Deal:
    first = block[0][1]
    if _NUMBER.fullmatch(first):
        return _numbered(first)
    row = _misshapen_row(block)
    if row is not None:
        raise ValueError(
            f"row {row + 1} of a pyramid has {row + 1} cards, here are {_count(block[row])}"
        )
    return Deal.parse("\n".join(content for _, content in block))


def _numbered(word: str) -> Deal:
    """The deal of a number; Python itself would not read one of very many digits."""
    if len(word) > _MOST_DIGITS:
        raise ValueError(f"no deal has a number of {len(word)} digits: 0 to 2^64 - 1")
    return Deal.from_number(int(word))


def _misshapen_row(block: _Lines) -> int | None:
    """The index of the first row with too few or too many cards, where there is a pyramid."""
    if len(block) < N_ROWS or _count(block[0]) != 1:
        return None
    return next((row for row in range(N_ROWS) if _count(block[row]) != row + 1), None)


def _bad_line(block: _Lines) -> int:
    """The number of the line at which a bad block goes wrong."""
    row = _misshapen_row(block)
    if row is not None:
        return block[row][0]
    seen = set()
    for number, content in block:
        for _, card in scan_cards(content):
            if card is None or card in seen:
                return number
            seen.add(card)
    return block[-1][0]


def _count(line: tuple[int, str]) -> int:
    return len(list(scan_cards(line[1])))
