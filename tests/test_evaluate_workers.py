"""Comparisons whose workers die, and on Ray."""

from __future__ import annotations

import csv
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from agents import evaluation
from agents.commands import evaluate


def games_of(out: Path, agent: str) -> list[dict[str, str]]:
    with (out / "games" / f"{agent}.csv").open() as file:
        return [{**row, "seconds": ""} for row in csv.DictReader(file)]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds workers through /proc")
def test_a_dead_worker_is_reported_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--agents", "random", "greedy", "--deals", "2000", "--chunk", "20"]
    out = tmp_path / "died"
    evaluate_all: Any = evaluation.evaluate

    def with_workers_killed(*given: Any, progress: Any, **settings: Any) -> None:
        def kill_workers(what: str, done: int, total: int) -> None:
            progress(what, done, total)
            if what == "random" and done > 0:
                kill_children()

        evaluate_all(*given, progress=kill_workers, **settings)

    monkeypatch.setattr(evaluate, "evaluate", with_workers_killed)
    assert evaluate.main([*arguments, "--jobs=2", f"--out={out}"]) == 1
    assert "pyramid-evaluate: a worker has died: " in capsys.readouterr().err
    kept = {path: path.read_bytes() for path in out.rglob("*.parts/*.csv")}
    assert kept
    assert not list(out.rglob("*.part"))
    monkeypatch.undo()
    assert evaluate.main([*arguments, "--jobs=1", f"--out={out}"]) == 0
    assert evaluate.main([*arguments, "--jobs=1", f"--out={tmp_path / 'whole'}"]) == 0
    for agent in ("random", "greedy"):
        assert games_of(out, agent) == games_of(tmp_path / "whole", agent)


def kill_children() -> None:
    for children in Path("/proc/self/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            if b"LokyProcess" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("backend", ["loky", "threading", "ray"])
def test_games_are_the_same_however_many_workers_play_them(backend: str, tmp_path: Path) -> None:
    if backend == "ray":
        pytest.importorskip("ray")
    arguments = ["--agents", "random", "greedy", "--deals", "45", "--chunk", "20"]
    for name, more in (("one", ["--jobs=1"]), ("more", ["--jobs=2", f"--backend={backend}"])):
        assert evaluate.main([*arguments, *more, f"--out={tmp_path / name}"]) == 0
    for agent in ("random", "greedy"):
        assert games_of(tmp_path / "one", agent) == games_of(tmp_path / "more", agent)
    optima = [(tmp_path / name / "optima.csv").read_text() for name in ("one", "more")]
    assert optima[0] == optima[1]
    assert "ray" not in sys.modules or not sys.modules["ray"].is_initialized()
