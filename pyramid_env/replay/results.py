"""Finding one game among the results that `evaluate.py` has written."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyramid_env.rules import Rules

_COMPARISON, _GAMES = "comparison.json", "games.csv"


@dataclass(frozen=True)
class FoundGame:
    """A game that an agent played."""

    rules: Rules
    deal: int
    agent: str
    moves: tuple[str, ...]


def find_game(results: Path, deal: int, agent: str | None = None) -> FoundGame:
    """The game of a deal in a results folder; of a certain agent, unless there is only one.

    Raises `OSError` for a folder without results, and `ValueError` where they have no such game,
    where several agents played it, or where they are damaged.
    """
    rules = _rules(results / _COMPARISON)
    games = {row["agent"]: row["moves"] for row in _rows(results / _GAMES, deal)}
    names = ", ".join(games)
    if not games:
        raise ValueError(f"{results}: no agent played deal {deal}")
    if agent is None and len(games) > 1:
        raise ValueError(f"{results}: name one of the agents that played deal {deal}: {names}")
    name = agent or next(iter(games))
    if name not in games:
        raise ValueError(f"{results}: agent {name} did not play deal {deal}, but {names} did")
    return FoundGame(rules, deal, name, tuple(games[name].split()))


def _rules(path: Path) -> Rules:
    try:
        return Rules(**json.loads(path.read_bytes())["rules"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None


def _rows(path: Path, deal: int) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        missing = {"agent", "deal", "moves"} - set(rows.fieldnames or ())
        if missing:
            raise ValueError(f"{path} is damaged: it has no column {', '.join(sorted(missing))}")
        for row in rows:
            if row["deal"] == str(deal):
                if None in row.values():
                    raise ValueError(f"{path} is damaged: line {rows.line_num} is too short")
                yield row
