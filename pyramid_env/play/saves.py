"""`Saves`: a person's games and best daily scores on disk, in small JSON files."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pyramid_env.deals import Deal, random_deal
from pyramid_env.files import UNREADABLE, reason_of, write_text
from pyramid_env.game import Game
from pyramid_env.play.session import Session
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import PRESETS, Rules

FORMAT = "pyramid-env game 1"
_MOST_GAMES = 100

Value = TypeVar("Value")


class Damaged(ValueError):  # noqa: N818 - it says what is wrong
    """A file could not be read; it was set aside, so that a new one can take its place."""


class Saves:
    """The games that a person has begun, one file a deal and rules, and the best daily scores.

    Reading raises `Damaged` for a file that is not what `save` and `record` write, and `OSError`
    where the disk refuses. The hundred games played last are kept.

    >>> from tempfile import mkdtemp
    >>> saves = Saves(Path(mkdtemp()))
    >>> saves.save(Session(Game.replay("kawu", 7, ["draw", "draw"])))
    >>> saves.last().game.history
    (Move(kind='draw', places=()), Move(kind='draw', places=()))
    """

    def __init__(self, folder: Path) -> None:
        self._games = folder / "games"
        self._scores = folder / "daily.json"

    def save(self, session: Session) -> None:
        """Write a game where `open` and `last` find it."""
        game = session.game
        record = {
            "format": FORMAT,
            "rules": dataclasses.asdict(game.rules),
            "deal": str(game.deal) if game.deal.number is None else game.deal.number,
            "moves": [str(move) for move in game.history],
            "undone": [str(move) for move in session.undone],
        }
        _write(self._path(game.deal, game.rules), record)
        for path in self._newest_first()[_MOST_GAMES:]:
            path.unlink(missing_ok=True)

    def open(self, deal: Deal, rules: Rules) -> Session | None:
        """The saved game of a deal and rules, if there is one."""
        path = self._path(deal, rules)
        return _read(path, _session_of) if path.is_file() else None

    def last(self) -> Session | None:
        """The game saved last, if there is one."""
        newest = self._newest_first()[:1]
        return _read(newest[0], _session_of) if newest else None

    def best(self, date: datetime.date) -> int | None:
        """The most pyramid cards removed in a day's deal, if it was played."""
        return self._best_scores().get(date)

    def record(self, date: datetime.date, score: int) -> None:
        """Keep a score of a day's deal if it is the best of that day."""
        scores = self._best_scores()
        if score > scores.get(date, -1):
            scores[date] = score
            _write(self._scores, {str(day): scores[day] for day in sorted(scores)})

    def _best_scores(self) -> dict[datetime.date, int]:
        return _read(self._scores, _scores_of) if self._scores.is_file() else {}

    def _path(self, deal: Deal, rules: Rules) -> Path:
        key = hashlib.sha256(f"{deal} {rules}".encode()).hexdigest()[:16]
        return self._games / f"{key}.json"

    def _newest_first(self) -> list[Path]:
        paths = self._games.glob("*.json") if self._games.is_dir() else ()
        return sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def open_or_begin(
    saves: Saves, deal: Deal | None, rules: Rules | None, *, afresh: bool = False
) -> tuple[Session, str]:
    """A session to play, and what to say about it.

    The game of a deal goes on where it was saved, unless it is to be played `afresh`; without a
    deal and rules the game saved last goes on. Otherwise a game begins, by default of any deal by
    the `kawu` rules.
    """
    wanted = deal or random_deal(), rules or PRESETS["kawu"]
    saved, trouble = None, ""
    try:
        if deal is None and rules is None and not afresh:
            saved = saves.last()
        elif not afresh:
            saved = saves.open(*wanted)
    except (Damaged, OSError) as error:
        trouble = f" {error}"
    if saved is None:
        return Session(Game(*wanted)), f"A new game: good luck.{trouble}"
    return saved, "This game was begun before: here it goes on."


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, indent=1) + "\n")


def _read(path: Path, convert: Callable[[Any], Value]) -> Value:
    """A file's content, converted; where that fails the file gets another name."""
    try:
        return convert(json.loads(path.read_bytes()))
    except UNREADABLE as error:
        aside = _free_name(path)
        path.rename(aside)
        raise Damaged(
            f"{path.name} is damaged and was kept as {aside} ({reason_of(error)})"
        ) from None


def _free_name(path: Path) -> Path:
    aside = path.with_suffix(".damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_suffix(f".damaged-{number}")
    return aside


def _session_of(content: Any) -> Session:
    if content["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    deal = content["deal"]
    if not isinstance(deal, (str, int)) or isinstance(deal, bool):
        raise TypeError(f"{deal!r} is no deal")
    rules = Rules(**content["rules"])
    moves, undone = _texts(content["moves"]), _texts(content["undone"])
    game = Game.replay(rules, deal, [*moves, *reversed(undone)])
    return Session(game, [game.undo() for _ in undone])


def _texts(content: Any) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise TypeError("moves must be a list of texts")
    return content


def _scores_of(content: Any) -> dict[datetime.date, int]:
    scores = {datetime.date.fromisoformat(day): score for day, score in content.items()}
    for score in scores.values():
        if type(score) is not int or not 0 <= score <= N_SLOTS:
            raise ValueError(f"{score!r} is no score")
    return scores
