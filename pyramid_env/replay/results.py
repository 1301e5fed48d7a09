"""Finding one game among the results that `evaluate.py` has written."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyramid_env.files import reading
from pyramid_env.rules import Rules


@dataclass(frozen=True)
class FoundGame:
    """A game that an agent played."""

    rules: Rules
    deal: int
    agent: str
    moves: tuple[str, ...]


def find_game(results: Path, deal: int, agent: str | None = None) -> FoundGame:
    """The game of a deal in the folder of an evaluation: of an agent, or of the only one.

    Reads ``evaluation.json`` and the finished tables ``games/NAME.csv`` (docs/benchmark.md).
    Raises `OSError` for a folder without them, and `ValueError` where they have no such game, where
    the agent must be named, or where they are damaged.
    """
    rules, names = _read_settings(results / "evaluation.json")
    paths = {name: path for name in names if (path := results / "games" / f"{name}.csv").is_file()}
    if not paths:
        raise ValueError(f"{results}: no agent has finished its games")
    listed = ", ".join(paths)
    if agent is None and len(paths) > 1:
        raise ValueError(f"{results} has the games of several agents: name one of {listed}")
    name = agent or next(iter(paths))
    if name not in paths:
        raise ValueError(f"{results} has no games of agent {name}, but of {listed}")
    return FoundGame(rules, deal, name, _find_moves(paths[name], deal))


def _read_settings(path: Path) -> tuple[Rules, Sequence[str]]:
    """The rules, and the agents' names."""
    content = path.read_bytes()
    with reading(path, "is not that of an evaluation"):
        settings = json.loads(content)
        return Rules(**settings["rules"]), [str(entry["name"]) for entry in settings["agents"]]


def _find_moves(path: Path, deal: int) -> tuple[str, ...]:
    with path.open(encoding="utf-8", newline="") as file, reading(path, "is damaged"):
        rows = csv.DictReader(file)
        for row in rows:
            if row.get("deal") == str(deal):
                if row.get("moves") is None:
                    raise ValueError(f"line {rows.line_num} has no moves")
                return tuple(row["moves"].split())
    raise ValueError(f"{path} has no deal {deal}")
