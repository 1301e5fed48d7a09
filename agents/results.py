"""The files of an evaluation: what was asked, the optima, every game; and how they are read back.

`evaluation.json` says what was asked. `optima.csv` and `games/NAME.csv` have a row a deal; while
they grow, their shares lie in a folder `NAME.parts`. `curves/NAME.csv` is a training run's learning
curve. A report is a function of these files alone.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.versions import package_versions
from pyramid_env.deals import FIRST_TRAINING_NUMBER
from pyramid_env.files import reading, replacing, write_bytes, write_text
from pyramid_env.rules import Rules

SETTINGS_FILE = "evaluation.json"
LOCK_FILE = "evaluation.lock"
FORMAT = "pyramid-env evaluation 1"

OPTIMA_COLUMNS = ("deal", "winnable", "most_cards")
CURVE_FILE = "evaluations.csv"
"""The learning curve in a training run's folder."""

GAME_COLUMNS = ("deal", "won", "cards", "losing_move", "seconds", "error", "moves")
CURVE_COLUMNS = ("steps", "win_rate", "mean_cards")

NONE = -1
"""Stands in arrays where a file has nothing."""

AGAIN = "delete it and run the evaluation again"


@dataclass(frozen=True)
class Entry:
    """An agent of an evaluation."""

    name: str
    """What files and tables call it; what follows an ``@`` tells training seeds apart."""

    target: str
    """What it was loaded from."""

    digest: str
    """A checksum of its code and of the file that it was loaded from."""

    privileged: bool
    """Whether it sees the hidden cards."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or Path(self.name).name != self.name:
            raise ValueError(f"an agent's name {self.name!r} is not that of a file")


@dataclass(frozen=True)
class Settings:
    """What an evaluation asks. Equal settings give equal games; times differ.

    Raises `ValueError` for what cannot work.
    """

    rules_name: str
    rules: Rules
    deals: range
    """The deals' numbers, consecutive, below 2^32."""

    batch: int
    """Games played side by side."""

    chunk: int
    """Deals a share, which one worker plays and one file keeps while more are to come."""

    versions: dict[str, str] = field(default_factory=package_versions)

    def __post_init__(self) -> None:
        first, end = self.deals.start, self.deals.stop
        if self.deals.step != 1 or not 0 <= first < end <= FIRST_TRAINING_NUMBER:
            raise ValueError(
                f"deals {first} to {end - 1} are no evaluation deals: at least one, from 0 to"
                f" {FIRST_TRAINING_NUMBER - 1}"
            )
        for name in ("batch", "chunk"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{name}={value!r} is not allowed: 1 or more")
        if "pyramid-env" not in self.versions:
            raise ValueError("versions is not allowed without that of pyramid-env")

    @property
    def chunks(self) -> Iterator[range]:
        """The deals of each share, in order."""
        for first in range(self.deals.start, self.deals.stop, self.chunk):
            yield range(first, min(first + self.chunk, self.deals.stop))

    def differences(self, other: Settings) -> str:
        """Where two settings differ, in words; empty when their games would be equal."""
        mine, others = self._compared(), other._compared()
        return ", ".join(
            f"{name} {mine[name]} and not {others[name]}"
            for name in mine
            if mine[name] != others[name]
        )

    def _compared(self) -> dict[str, Any]:
        return {
            "rules": self.rules_name,
            "fields": dataclasses.asdict(self.rules),
            "deals": f"{self.deals.start} to {self.deals.stop - 1}",
            "batch": self.batch,
            "chunk": self.chunk,
            "version": self.versions["pyramid-env"],
        }


@dataclass(frozen=True)
class Optima:
    """What can be reached by someone who knows all cards: arrays, a row a deal."""

    winnable: NDArray[np.int64]
    """1 or 0; `NONE` where the solver gave up."""

    most_cards: NDArray[np.int64]
    """The most pyramid cards that can be removed; `NONE` where the solver gave up."""


@dataclass(frozen=True)
class Games:
    """What an agent reached: arrays, a row a deal."""

    won: NDArray[np.int64]
    cards: NDArray[np.int64]
    """Pyramid cards removed."""

    losing_move: NDArray[np.int64]
    """The number, from 1, of the move that threw the win away, one more than the game has where it
    broke off while it could be won; `NONE` without a win to lose, or where that is open."""

    n_moves: NDArray[np.int64]
    seconds: NDArray[np.float64]
    """How long the agent took for a game's moves."""

    errors: dict[int, str]
    """By deal: why its game broke off."""


@dataclass(frozen=True)
class Results:
    """All that an evaluation has kept."""

    settings: Settings
    entries: tuple[Entry, ...]
    """The agents whose games are all there."""

    unfinished: tuple[str, ...]
    """The names of the others."""

    optima: Optima
    games: dict[str, Games]
    curves: dict[str, NDArray[np.float64]]
    """By name: steps, win rate and mean cards, float64[n, 3]."""


class Table:
    """A CSV file with a row a deal, that grows by shares in whatever order."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = columns
        self._parts = path.with_suffix(".parts")

    @property
    def is_begun(self) -> bool:
        """Whether any of it is there."""
        return self.path.exists() or self._parts.exists()

    def missing(self, chunks: Iterable[range]) -> list[range]:
        """The shares that are not there yet."""
        if self.path.exists():
            return []
        return [deals for deals in chunks if not self._part(deals).exists()]

    def write(self, deals: range, rows: Iterable[Sequence[Any]]) -> None:
        """Keep one share."""
        self._parts.mkdir(parents=True, exist_ok=True)
        with (
            replacing(self._part(deals)) as draft,
            draft.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file, lineterminator="\n").writerows(rows)

    def finish(self, chunks: Iterable[range]) -> None:
        """Make one file of all shares."""
        if not self.path.exists():
            with replacing(self.path) as draft, draft.open("wb") as file:
                file.write(",".join(self.columns).encode() + b"\n")
                for deals in chunks:
                    file.write(self._part(deals).read_bytes())
        shutil.rmtree(self._parts, ignore_errors=True)

    def read(self, deals: range, convert: Callable[[Sequence[str]], Any]) -> list[Any]:
        """What `convert` makes of each row. Raises `ValueError` naming file and row."""
        rows = []
        with (
            self.path.open(newline="", encoding="utf-8") as file,
            reading(self.path, "is damaged", AGAIN),
        ):
            lines = csv.reader(file)
            if tuple(next(lines, ())) != tuple(self.columns):
                raise ValueError(f"its columns must be {', '.join(self.columns)}")
            for deal, line in zip(deals, lines, strict=False):
                try:
                    if len(line) != len(self.columns) or int(line[0]) != deal:
                        raise ValueError(f"row {','.join(line)[:60]!r} where deal {deal} must be")
                    rows.append(convert(line))
                except ValueError as error:
                    raise ValueError(f"line {lines.line_num}: {error}") from None
            n_found = len(rows) + sum(1 for _ in lines)
            if n_found != len(deals):
                raise ValueError(f"it has {n_found} rows, not {len(deals)}")
        return rows

    def _part(self, deals: range) -> Path:
        return self._parts / f"{deals.start:010d}.csv"


def optima_table(folder: Path) -> Table:
    """The table of what can be reached."""
    return Table(folder / "optima.csv", OPTIMA_COLUMNS)


def games_table(folder: Path, name: str) -> Table:
    """The table of an agent's games."""
    return Table(folder / "games" / f"{name}.csv", GAME_COLUMNS)


def read_optima(folder: Path, deals: range) -> Optima:
    """The finished table of optima."""
    rows = optima_table(folder).read(deals, lambda row: (_number(row[1]), _number(row[2])))
    winnable, most_cards = np.array(rows, dtype=np.int64).T
    return Optima(winnable, most_cards)


def read_games(folder: Path, name: str, deals: range) -> Games:
    """An agent's finished table, without the moves."""
    rows = games_table(folder, name).read(deals, _read_game)
    numbers, seconds, errors = zip(*rows, strict=True)
    won, cards, losing_move, n_moves = np.array(numbers, dtype=np.int64).T
    return Games(
        won,
        cards,
        losing_move,
        n_moves,
        np.array(seconds),
        {deal: error for deal, error in zip(deals, errors, strict=True) if error},
    )


def _read_game(row: Sequence[str]) -> tuple[tuple[int, ...], float, str]:
    _, won, cards, losing_move, seconds, error, moves = row
    n_moves = moves.count(" ") + 1 if moves else 0
    return (int(won), int(cards), _number(losing_move), n_moves), float(seconds), error


def _number(text: str) -> int:
    return int(text) if text else NONE


def write_settings(folder: Path, settings: Settings, entries: Iterable[Entry]) -> None:
    """Write ``evaluation.json``."""
    asked = {
        "format": FORMAT,
        "rules_name": settings.rules_name,
        "rules": dataclasses.asdict(settings.rules),
        "deals": [settings.deals.start, settings.deals.stop],
        "batch": settings.batch,
        "chunk": settings.chunk,
        "versions": settings.versions,
        "agents": [dataclasses.asdict(entry) for entry in entries],
    }
    write_text(folder / SETTINGS_FILE, json.dumps(asked, indent=2) + "\n")


def read_settings(folder: Path) -> tuple[Settings, tuple[Entry, ...]] | None:
    """The settings and agents of the evaluation in a folder; None where there is none."""
    path = folder / SETTINGS_FILE
    if not path.exists():
        return None
    with reading(path, "is not that of an evaluation"):
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        entries = tuple(Entry(**entry) for entry in fields.pop("agents"))
        fields["rules"] = Rules(**fields["rules"])
        fields["deals"] = range(*fields["deals"])
        return Settings(**fields), entries


def keep_curve(folder: Path, name: str, run: Path) -> None:
    """Copy a training run's learning curve. Raises `ValueError` where it has none."""
    source = run / CURVE_FILE if run.is_dir() else run
    if not source.is_file():
        raise ValueError(f"no learning curve {source}: name a training run's folder")
    read_curve(source)
    target = folder / "curves" / f"{name}.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, source.read_bytes())


def read_curve(path: Path) -> NDArray[np.float64]:
    """Steps, win rate and mean cards of a learning curve, float64[n, 3]."""
    what = f"is no learning curve with numbers in {', '.join(CURVE_COLUMNS)}"
    with path.open(newline="", encoding="utf-8") as file, reading(path, what):
        rows = list(csv.DictReader(file))
        curve = np.array([[float(row[name]) for name in CURVE_COLUMNS] for row in rows])
    return curve.reshape(-1, len(CURVE_COLUMNS))


def read_results(folder: Path) -> Results:
    """All that an evaluation has kept.

    Raises `ValueError` where there is none, no agent has finished, or a file is damaged.
    """
    found = read_settings(folder)
    if found is None:
        raise ValueError(f"{folder} holds no evaluation: it has no {SETTINGS_FILE}")
    settings, entries = found
    finished = tuple(entry for entry in entries if games_table(folder, entry.name).path.exists())
    if not finished or not optima_table(folder).path.exists():
        raise ValueError(f"no agent has finished in {folder}: run the evaluation to its end")
    return Results(
        settings,
        finished,
        tuple(entry.name for entry in entries if entry not in finished),
        read_optima(folder, settings.deals),
        {entry.name: read_games(folder, entry.name, settings.deals) for entry in finished},
        {path.stem: read_curve(path) for path in sorted(folder.glob("curves/*.csv"))},
    )
