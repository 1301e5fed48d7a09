"""The tool that runs the package for long: a little of each run, and that it sees what is wrong."""

from __future__ import annotations

import sys
from typing import Any

import load
import numpy as np
import pytest

from pyramid_env import PRESETS, Game
from pyramid_env.rules import Rules
from pyramid_env.solver import search

MIB = 2**20
SHORT = load.Soak(envs=64, followed=8, every=4)


def run(monkeypatch: pytest.MonkeyPatch, words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["load.py", *words.split()])
    return load.main()


@pytest.mark.parametrize("preset", load.distinct(PRESETS))
def test_random_games_break_no_rule(preset: str) -> None:
    n_steps, n_games, n_replayed, n_looked_at = load.soak(PRESETS[preset], 12_000, SHORT)
    assert n_steps >= 12_000
    assert n_games >= n_replayed > 0
    assert n_looked_at > 0


class WrongGame(Game):
    """Like `Game`, but for one thing."""

    @property
    def score(self) -> int:
        return super().score + 1

    def legal_actions(self) -> list[int]:
        return super().legal_actions()[1:]


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("Game", WrongGame, "another mask|rewards"),
        ("observe", lambda *given: np.zeros(3, np.int16), "another observation"),
        ("sample_actions", lambda masks, generator: masks.argmin(axis=1), "refused"),
    ],
)
def test_a_step_that_breaks_a_rule_ends_it(
    name: str, wrong: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, name, wrong)
    with pytest.raises(AssertionError, match=message):
        load.soak(Rules(), 12_000, SHORT)


def test_a_card_that_comes_back_and_a_wrong_score_are_seen() -> None:
    before, after = np.array([7, 6], np.uint64), np.array([6, 7], np.uint64)
    infos = {"illegal_action": np.zeros(2, bool), "pyramid_cards_removed": np.array([26, 25])}
    load.check_all(before, after, np.array([False, True]), infos)  # the second game is a new one
    with pytest.raises(AssertionError, match="came back"):
        load.check_all(before, after, np.array([False, False]), infos)
    infos["pyramid_cards_removed"] += 1
    with pytest.raises(AssertionError, match="score"):
        load.check_all(before, after, np.array([False, True]), infos)


def test_all_runs_end_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "SLOWDOWN", 1000)  # a few steps say nothing about time
    assert run(monkeypatch, "environments --envs 4096 --minutes 0.001 --windows 2") == 0
    assert run(monkeypatch, "soak --steps 800 --envs 16") == 0
    assert capsys.readouterr().out.count("all as it should be") == 2


def test_solving_stays_within_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    cells, wrong = load.solve_all("classic", 300)
    assert wrong == []
    assert cells[:3] == ["`classic`", "300", "300"]


def test_what_grows_is_reported() -> None:
    def windows(*measured: tuple[int, int]) -> list[load.Window]:
        return [load.Window(10**9, seconds, mib * MIB) for seconds, mib in measured]

    assert load.growth(windows((9, 100), (9, 105), (10, 107))) == []
    [text] = load.growth(windows((9, 100), (9, 105), (9, 120)))
    assert text == "memory grew by 20 MiB after the first window"
    [text] = load.growth(windows((8, 100), (8, 100), (12, 100), (12, 100)))
    assert text == "a step took 8 ns in the first half, 12 in the second"
    assert load.report([text]) == 1


def test_the_bound_is_what_the_tables_take() -> None:
    """The table grows before it is half full, and for a moment the old one is there, too."""
    small = search.new_search(1)
    for _ in range(3):
        large = search.grown(small)
        n_positions = small.visited.size // 2
        taken = sum(t.visited.nbytes + t.n_moves.nbytes for t in (small, large))
        assert load.memory_bound(n_positions) - load.SOLVER_REST == taken
        assert load.memory_bound(n_positions - 1) < load.memory_bound(n_positions)
        small = large


@pytest.mark.parametrize(
    "words", ["environments --minutes 0", "soak --steps -1", "solver --deals 0"]
)
def test_no_work_is_no_run(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, words) == 2
    assert capsys.readouterr().err.endswith("is not allowed: above 0\n")


@pytest.mark.slow
def test_memory_and_time_of_many_environments_stay_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "SLOWDOWN", 3)
    assert run(monkeypatch, "environments --minutes 0.5 --windows 5") == 0
