"""What arguments are checked with, and the texts that errors are made of."""

from __future__ import annotations

import operator
from typing import Any


def as_number(value: Any) -> int:
    """The whole number from 0 on that a value is, numpy's among them; -1 for all else.

    >>> as_number(7), as_number(-7), as_number(True), as_number("7")
    (7, -1, -1, -1)
    """
    try:
        return -1 if isinstance(value, bool) else max(operator.index(value), -1)
    except TypeError:
        return -1


def check_whole(
    argument: str, value: Any, low: int, high: int | None = None, also: str = ""
) -> None:
    """Raise `ValueError` unless an argument is an `int` of at least `low`, and at most `high`.

    `also` says what else is allowed.
    """
    if type(value) is not int or value < low or (high is not None and value > high):
        to_high = "" if high is None else f" to {high}"
        raise ValueError(
            f"{argument}={value!r} is not allowed: a whole number from {low}{to_high}{also}"
        )


def one_line(text: str, length: int = 1000) -> str:
    """A text in one line of at most so many characters.

    >>> one_line("two\\nlines")
    'two lines'
    """
    return shortened(" ".join(text.split()), length)


def shortened(text: str, length: int) -> str:
    """A text of at most so many characters.

    >>> shortened("0123456789", 8)
    '01234...'
    """
    return text if len(text) <= length else text[: length - 3] + "..."


def shown(text: str) -> str:
    """What somebody wrote, as an error names it: in quotes and not too long."""
    return repr(shortened(text, 60))
