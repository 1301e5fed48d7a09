"""The files of a sweep: its settings, the answers chunk by chunk, and how they are read back."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pyramid_env.files import reading, reason_of, replacing
from pyramid_env.rules import Rules
from pyramid_env.solver.solution import Objective, Solution, check_objective
from pyramid_env.texts import check_whole
from pyramid_env.workers import extra

FileFormat = Literal["parquet", "csv"]

NONE = -1
"""Stands in the arrays of `Answers` where a file has nothing."""

SETTINGS_FILE = "sweep.json"
LOCK_FILE = "sweep.lock"

_NULLABLE = ("value", "lower", "upper")


@dataclass(frozen=True)
class Answers:
    """What the solver says about some deals: arrays of one length, one row a deal."""

    deal: NDArray[np.int64]
    """The deals' numbers, ascending."""

    status: NDArray[np.str_]
    """``"PROVED"`` or ``"LIMIT"``."""

    value: NDArray[np.int64]
    """`Solution.value`, a win as 1 and its absence as 0; `NONE` where there is no value."""

    lower: NDArray[np.int64]
    """`Solution.lower`, or `NONE`."""

    upper: NDArray[np.int64]
    """`Solution.upper`, or `NONE`."""

    n_moves: NDArray[np.int64]
    """How many moves the line of the solution has."""

    nodes: NDArray[np.int64]
    """Positions searched."""

    def __len__(self) -> int:
        return len(self.deal)

    @classmethod
    def of(cls, deals: range, solutions: Iterable[Solution]) -> Answers:
        """The answers of solutions, which are in the order of the deals."""
        rows = [
            (
                deal,
                s.status.value,
                *map(_number, (s.value, s.lower, s.upper)),
                len(s.moves),
                s.nodes,
            )
            for deal, s in zip(deals, solutions, strict=True)
        ]
        return cls.from_columns(zip(*rows, strict=True))

    @classmethod
    def from_columns(cls, columns: Iterable[Any]) -> Answers:
        """The answers whose columns are given, in the order of the fields."""
        kinds = [np.str_ if name == "status" else np.int64 for name in COLUMNS]
        arrays = (np.asarray(column, kind) for column, kind in zip(columns, kinds, strict=True))
        return cls(*arrays)  # type: ignore[arg-type]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(column.name for column in dataclasses.fields(Answers))


@dataclass(frozen=True)
class Settings:
    """What a sweep asks, and how its files are cut; equal settings give equal files.

    Raises `ValueError` naming the field and what is allowed.
    """

    rules: Rules
    objective: Objective
    deals: range
    """The deals' numbers, consecutive, below 2^63."""

    chunk: int
    """Deals a file."""

    node_limit: int
    """Positions that the search of one deal may meet."""

    file_format: FileFormat
    version: str = field(default_factory=lambda: _version())
    """Of pyramid-env."""

    def __post_init__(self) -> None:
        check_objective(self.objective)
        deals = self.deals
        if deals.step != 1 or not 0 <= deals.start < deals.stop <= 2**63:
            raise ValueError(
                f"deals={deals} is not allowed: at least one, consecutive, from 0 to 2^63 - 1"
            )
        for name in ("chunk", "node_limit"):
            check_whole(name, getattr(self, name), 1)
        if self.file_format not in get_args(FileFormat):
            raise ValueError(
                f"file_format={self.file_format!r} is not allowed: one of"
                f" {', '.join(get_args(FileFormat))}"
            )

    @property
    def chunks(self) -> Iterator[range]:
        """The deals of each file, in order."""
        for first in range(self.deals.start, self.deals.stop, self.chunk):
            yield range(first, min(first + self.chunk, self.deals.stop))

    @property
    def n_chunks(self) -> int:
        """How many files there are when all is done."""
        return -(-(self.deals.stop - self.deals.start) // self.chunk)

    def file_of(self, deals: range) -> str:
        """The name of a chunk's file: that of its first deal."""
        return f"chunk-{deals.start:010d}.{self.file_format}"

    def is_file(self, name: str) -> bool:
        """Whether a name is that of a chunk's file, of which there may be very many."""
        found = re.fullmatch(r"chunk-(\d{10,19})\.\w+", name, re.ASCII)
        if found is None:
            return False
        first = int(found[1])
        starts = range(self.deals.start, self.deals.stop, self.chunk)
        return first in starts and self.file_of(range(first, first + 1)) == name

    def as_json(self) -> str:
        """The settings as they stand in ``sweep.json``."""
        return json.dumps(_as_dict(self), indent=2) + "\n"

    def differences(self, other: Settings) -> str:
        """Where two settings differ, in words; empty when they are equal."""
        mine, others = _as_dict(self), _as_dict(other)
        return ", ".join(
            f"{name} {mine[name]} and not {others[name]}"
            for name in mine
            if mine[name] != others[name]
        )


@dataclass(frozen=True)
class Sweep:
    """A finished sweep."""

    settings: Settings
    answers: Answers


def read_sweep(folder: Path) -> Sweep:
    """Read a finished sweep's settings and all its answers.

    Raises `ValueError` where there is none, or where chunks are missing or cannot be read.
    """
    settings = read_settings(folder)
    if settings is None:
        raise ValueError(f"{folder} holds no sweep: it has no {SETTINGS_FILE}")
    missing = settings.n_chunks - sum(settings.is_file(path.name) for path in folder.iterdir())
    if missing:
        raise ValueError(
            f"the sweep in {folder} is not finished: {missing} of {settings.n_chunks} chunks are"
            " missing"
        )
    chunks = [read_chunk(folder, settings, deals) for deals in settings.chunks]
    columns = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in COLUMNS)
    return Sweep(settings, Answers.from_columns(columns))


def read_settings(folder: Path) -> Settings | None:
    """The settings of the sweep in a folder; None where there is none."""
    path = folder / SETTINGS_FILE
    if not path.exists():
        return None
    with reading(path, "cannot be read as the settings of a sweep"):
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["rules"] = Rules(**fields["rules"])
        fields["deals"] = range(*fields["deals"])
        return Settings(**fields)


def write_settings(folder: Path, settings: Settings) -> None:
    """Write ``sweep.json``."""
    _write(folder / SETTINGS_FILE, settings.as_json().encode())


def write_chunk(folder: Path, settings: Settings, answers: Answers) -> None:
    """Write the file of one chunk; equal answers give equal bytes."""
    deals = range(int(answers.deal[0]), int(answers.deal[-1]) + 1)
    encode = _csv_bytes if settings.file_format == "csv" else _parquet_bytes
    _write(folder / settings.file_of(deals), encode(answers))


def read_chunk(folder: Path, settings: Settings, deals: range) -> Answers:
    """Read the file of one chunk; `ValueError` naming it when it is not that."""
    path = folder / settings.file_of(deals)
    read = _read_csv if settings.file_format == "csv" else _read_parquet
    again = "delete it to have it done again"
    with reading(path, "cannot be read", again):
        answers = read(path)
    if not np.array_equal(answers.deal, np.arange(deals.start, deals.stop)):
        raise ValueError(f"{path} holds other deals than {deals}: {again}")
    return answers


def _version() -> str:
    try:
        return version("pyramid-env")
    except PackageNotFoundError:
        return "not installed"


def _number(value: bool | int | None) -> int:
    return NONE if value is None else int(value)


def _as_dict(settings: Settings) -> dict[str, Any]:
    fields = dataclasses.asdict(settings)
    return {**fields, "deals": [settings.deals.start, settings.deals.stop]}


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and to the disk before it has its name."""
    with replacing(path) as draft, draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _csv_bytes(answers: Answers) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    columns = [column.tolist() for column in answers.columns().values()]
    for row in zip(*columns, strict=True):
        writer.writerow("" if value == NONE else value for value in row)
    return text.getvalue().encode()


def _read_csv(path: Path) -> Answers:
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    if tuple(head) != COLUMNS:
        raise ValueError(f"columns {', '.join(head)}")
    return Answers.from_columns(
        [value or NONE for value in column] for column in zip(*rows, strict=True)
    )


def _parquet_bytes(answers: Answers) -> bytes:
    with extra("sweep"):
        import pyarrow
        from pyarrow import parquet
    columns = {
        name: pyarrow.array(column, mask=column == NONE if name in _NULLABLE else None)
        for name, column in answers.columns().items()
    }
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def _read_parquet(path: Path) -> Answers:
    with extra("sweep"):
        import pyarrow
        from pyarrow import parquet
    content = io.BytesIO(path.read_bytes())
    try:
        table = parquet.ParquetFile(content).read(COLUMNS)
        columns = [
            column.fill_null(NONE).to_numpy() if column.null_count else column.to_numpy()
            for column in table.columns
        ]
    except (pyarrow.ArrowException, OSError) as error:  # the disk has been read by now
        raise ValueError(reason_of(error)) from None
    return Answers.from_columns(columns)
