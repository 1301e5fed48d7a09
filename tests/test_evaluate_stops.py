"""Comparisons as processes: interrupted, ended, killed; and on Ray."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.commands import evaluate

ROOT = Path(__file__).parents[1]

ARGUMENTS = ["--agents", "random", "greedy", "--deals", "3000", "--chunk", "20"]


def kept(out: Path) -> list[Path]:
    return sorted(path for path in out.rglob("*.csv") if "games" in path.parts)


def games_of(out: Path, agent: str) -> list[dict[str, str]]:
    with (out / "games" / f"{agent}.csv").open() as file:
        return [{**row, "seconds": ""} for row in csv.DictReader(file)]


def start(out: Path, jobs: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "evaluate.py"), *ARGUMENTS, f"--jobs={jobs}", f"--out={out}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        start_new_session=True,
        text=True,
    )


@pytest.mark.skipif(os.name != "posix", reason="stops processes by signals")
def test_a_comparison_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    """By Ctrl-C, SIGTERM and a kill of the whole group; then it is as if nothing had been."""
    out = tmp_path / "stopped"
    for code, jobs, stop in (
        (130, 2, lambda pid: os.killpg(pid, signal.SIGINT)),
        (143, 1, lambda pid: os.kill(pid, signal.SIGTERM)),
        (-9, 1, lambda pid: os.killpg(pid, signal.SIGKILL)),
    ):
        ages = {path: path.stat().st_mtime_ns for path in kept(out)}
        process = start(out, jobs)
        started = time.monotonic()
        try:
            while len(kept(out)) < len(ages) + 3:
                assert process.poll() is None
                assert time.monotonic() - started < 60
                time.sleep(0.01)
            stop(process.pid)
            _, errors = process.communicate(timeout=30)
            assert process.returncode == code
        finally:
            process.kill()
        assert code != 130 or "the same command goes on from here" in errors
        assert {path: path.stat().st_mtime_ns for path in ages} == ages
        assert code == -9 or not list(out.rglob("*.part"))
    unfinished = [path for path in kept(out) if path.parent.suffix == ".parts"]
    assert unfinished
    (out / "games" / "random.parts" / "0000002980.csv.part").write_text("what a kill leaves")
    assert evaluate.main([*ARGUMENTS, "--jobs=1", f"--out={out}"]) == 0
    assert evaluate.main([*ARGUMENTS, "--jobs=1", f"--out={tmp_path / 'whole'}"]) == 0
    for agent in ("random", "greedy"):
        assert games_of(out, agent) == games_of(tmp_path / "whole", agent)
    assert sorted(p.name for p in out.iterdir()) == sorted(
        p.name for p in (tmp_path / "whole").iterdir()
    )


def test_ray_plays_the_same_games(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    arguments = ["--agents", "random", "greedy", "--deals", "45", "--chunk", "20"]
    for name, more in (("one", ["--jobs=1"]), ("ray", ["--jobs=2", "--backend=ray"])):
        assert evaluate.main([*arguments, *more, f"--out={tmp_path / name}"]) == 0
    assert not ray.is_initialized()
    for agent in ("random", "greedy"):
        assert games_of(tmp_path / "one", agent) == games_of(tmp_path / "ray", agent)
