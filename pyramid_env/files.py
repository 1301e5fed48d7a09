"""Files that are written whole or not at all, and what is said of those that cannot be read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyramid_env.texts import one_line

PART = ".part"
"""Ends the name of a file that is being written."""

UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    csv.Error,
)
"""What comes of taking a file's content for what it should be."""

_LONGEST_REASON = 200


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` unless an error comes first.

    An `OSError` without a file, such as that of a full disk, is raised with the name of `path`.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "answer.txt"
    >>> with replacing(path) as draft:
    ...     _ = draft.write_text("42")
    >>> path.read_text()
    '42'
    """
    draft = path.with_name(path.name + PART)
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, UTF-8, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as draft:
        draft.write_bytes(content)


@contextmanager
def reading(path: Path | str, what: str, advice: str = "") -> Iterator[None]:
    """Make a `ValueError` of all that comes of a file's content: ``PATH WHAT: reason; advice``.

    >>> with reading("deals.json", "has no deals"):
    ...     {}["deal"]
    Traceback (most recent call last):
    ValueError: deals.json has no deals: KeyError: 'deal'
    """
    try:
        yield
    except UNREADABLE as error:
        raise ValueError(
            f"{path} {what}: {reason_of(error)}" + (f"; {advice}" if advice else "")
        ) from None


def reason_of(error: BaseException) -> str:
    """What an error says, in one line that is not too long."""
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return one_line(f"{kind}{error}", _LONGEST_REASON)
