"""Saved games and scores: what comes back, and what happens to damaged files."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

import pytest

from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.play.saves import Damaged, Saves, open_or_begin
from pyramid_env.play.session import Session
from pyramid_env.rules import PRESETS, Rules

KAWU = PRESETS["kawu"]
DAY = datetime.date(2026, 7, 4)


@pytest.fixture
def saves(tmp_path: Path) -> Saves:
    return Saves(tmp_path / "data")


def played(deal: Deal | int, rules: str | Rules = "kawu", n_moves: int = 9) -> Session:
    session = Session(Game(deal, rules))
    for _ in range(n_moves):
        session.play(session.game.hint())
    return session


def the_file(tmp_path: Path) -> Path:
    [path] = (tmp_path / "data" / "games").glob("*.json")
    return path


def age(folder: Path) -> None:
    """Make what was saved so far older than what is saved next, whatever the clock's steps."""
    for path in folder.rglob("*.json"):
        before = path.stat().st_mtime_ns - 10**10
        os.utime(path, ns=(before, before))


@pytest.mark.parametrize("rules", [*PRESETS, Rules(passes=5, draw=2, reserve=3)])
def test_a_game_comes_back_as_it_was_with_its_undone_moves(
    rules: str | Rules, saves: Saves
) -> None:
    session = played(7, rules)
    session.undo()
    session.undo()
    saves.save(session)
    back = saves.open(Deal.from_number(7), session.game.rules)
    assert back is not None
    assert back.game.position == session.game.position
    assert (back.game.history, back.undone) == (session.game.history, session.undone)
    assert (back.game.deal.number, back.game.rules) == (7, session.game.rules)
    back.redo()
    back.redo()
    assert back.game.position == played(7, rules).game.position


def test_a_deal_without_a_number_comes_back_by_its_cards(saves: Saves) -> None:
    deal = Deal.parse(str(Deal.from_number(9)))
    saves.save(played(deal))
    back = saves.last()
    assert back is not None
    assert (back.game.deal, back.game.deal.number) == (deal, None)


def test_games_are_kept_apart_by_deal_and_rules(saves: Saves, tmp_path: Path) -> None:
    for deal, rules in ((7, "kawu"), (7, "classic"), (8, "kawu")):
        age(tmp_path)
        saves.save(played(deal, rules, n_moves=deal))
    assert saves.open(Deal.from_number(9), KAWU) is None
    back = saves.open(Deal.from_number(7), PRESETS["classic"])
    assert back is not None
    assert back.game.rules == PRESETS["classic"]
    last = saves.last()
    assert last is not None
    assert (last.game.deal.number, len(last.game.history)) == (8, 8)
    age(tmp_path)
    saves.save(played(7))
    last = saves.last()
    assert last is not None
    assert last.game.deal.number == 7


def test_the_hundred_games_played_last_are_kept(saves: Saves, tmp_path: Path) -> None:
    for deal in range(102):
        age(tmp_path)
        saves.save(Session(Game(deal)))
    assert len(list((tmp_path / "data" / "games").iterdir())) == 100
    assert saves.open(Deal.from_number(1), KAWU) is None
    assert saves.open(Deal.from_number(2), KAWU) is not None


# Damage


def _without(key: str) -> dict[str, object]:
    return {k: v for k, v in _record().items() if k != key}


def _record() -> dict[str, object]:
    rules = {field: getattr(KAWU, field) for field in KAWU.__dataclass_fields__}
    return {
        "format": "pyramid-env game 1",
        "rules": rules,
        "deal": 7,
        "moves": ["draw"],
        "undone": ["draw"],
    }


def test_the_record_that_the_next_test_breaks_is_whole(saves: Saves, tmp_path: Path) -> None:
    saves.save(played(7))
    the_file(tmp_path).write_text(json.dumps(_record()))
    back = saves.last()
    assert back is not None
    assert (len(back.game.history), len(back.undone)) == (1, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"[" * 100_000,
        *(
            json.dumps(broken).encode()
            for broken in (
                _without("format"),
                _without("moves"),
                _record() | {"format": "pyramid-env game 2"},
                _record() | {"moves": ["draw", "A1"]},
                _record() | {"undone": ["recycle"]},
                _record() | {"moves": "draw"},
                _record() | {"moves": [3]},
                _record() | {"deal": -1},
                _record() | {"deal": True},
                _record() | {"deal": 7.5},
                _record() | {"deal": "KS KS"},
                _record() | {"rules": {"passes": 0}},
                _record() | {"rules": {"speed": 1}},
                _record() | {"rules": "kawu"},
            )
        ),
    ],
    ids=range(20),
)
def test_a_damaged_game_is_set_aside_and_said(content: bytes, saves: Saves, tmp_path: Path) -> None:
    saves.save(played(7))
    path = the_file(tmp_path)
    path.write_bytes(content)
    with pytest.raises(Damaged, match=path.name) as caught:
        saves.open(Deal.from_number(7), KAWU)
    aside = path.with_suffix(".damaged")
    assert str(aside) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert aside.read_bytes() == content
    assert saves.open(Deal.from_number(7), KAWU) is None


def test_what_was_set_aside_is_never_written_over(saves: Saves, tmp_path: Path) -> None:
    for content in ("one", "two"):
        saves.save(played(7))
        the_file(tmp_path).write_text(content)
        with pytest.raises(Damaged):
            saves.last()
    kept = (tmp_path / "data" / "games").glob("*.damaged*")
    assert sorted(path.read_text() for path in kept) == ["one", "two"]


def test_a_failed_write_leaves_the_old_game(
    saves: Saves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves.save(played(7))
    before = the_file(tmp_path).read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        saves.save(played(7, n_moves=12))
    assert the_file(tmp_path).read_bytes() == before
    assert len(list(the_file(tmp_path).parent.iterdir())) == 1


# Scores


def test_the_best_score_of_each_day_is_kept(saves: Saves) -> None:
    assert saves.best(DAY) is None
    for score, best in ((0, 0), (12, 12), (9, 12), (28, 28)):
        saves.record(DAY, score)
        assert saves.best(DAY) == best
    next_day = DAY + datetime.timedelta(days=1)
    saves.record(next_day, 3)
    assert (saves.best(DAY), saves.best(next_day)) == (28, 3)


@pytest.mark.parametrize(
    "content", ["{", "[1]", '{"2026-07-04": 29}', '{"2026-07-04": true}', '{"today": 3}']
)
def test_damaged_scores_are_set_aside(content: str, saves: Saves, tmp_path: Path) -> None:
    saves.record(DAY, 5)
    path = tmp_path / "data" / "daily.json"
    path.write_text(content)
    with pytest.raises(Damaged, match=r"daily\.json is damaged"):
        saves.record(DAY, 6)
    assert path.with_suffix(".damaged").read_text() == content
    saves.record(DAY, 6)
    assert saves.best(DAY) == 6


# Which game is opened


def test_without_a_wish_the_last_game_goes_on(saves: Saves) -> None:
    session, message = open_or_begin(saves, None, None)
    assert (session.game.rules, session.game.history) == (KAWU, ())
    assert message == "A new game: good luck."
    saves.save(played(7, "classic"))
    session, message = open_or_begin(saves, None, None)
    assert (session.game.deal.number, len(session.game.history)) == (7, 9)
    assert "goes on" in message


def test_a_deal_goes_on_where_it_was_left_unless_played_afresh(saves: Saves) -> None:
    saves.save(played(7))
    deal = Deal.from_number(7)
    assert len(open_or_begin(saves, deal, None)[0].game.history) == 9
    assert len(open_or_begin(saves, deal, KAWU)[0].game.history) == 9
    assert not open_or_begin(saves, deal, PRESETS["classic"])[0].game.history
    session, message = open_or_begin(saves, deal, None, afresh=True)
    assert (session.game.deal, session.game.history) == (deal, ())
    assert "new game" in message


def test_rules_alone_and_afresh_alone_begin_a_game_of_any_deal(saves: Saves) -> None:
    saves.save(played(7))
    numbers = set()
    for _ in range(3):
        for session, _ in (
            open_or_begin(saves, None, PRESETS["par"]),
            open_or_begin(saves, None, None, afresh=True),
        ):
            assert not session.game.history
            assert session.game.deal.number is not None
            assert session.game.deal.number < 1_000_000
            numbers.add(session.game.deal.number)
    assert len(numbers) > 1


def test_instead_of_a_damaged_game_a_new_one_begins_with_a_word(
    saves: Saves, tmp_path: Path
) -> None:
    saves.save(played(7))
    the_file(tmp_path).write_text("{")
    session, message = open_or_begin(saves, Deal.from_number(7), None)
    assert (session.game.deal.number, session.game.history) == (7, ())
    assert "new game" in message
    assert "damaged" in message
