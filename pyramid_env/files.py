"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"
"""Ends the name of a file that is being written."""


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
        if error.filename is None:
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, UTF-8, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")
