"""Texts that errors are made of."""

from __future__ import annotations


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
