"""Sweeps as processes: killed, ended, interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyramid_env.solver.sweep_files import read_chunk, read_settings

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops processes by signals")


def chunks_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("chunk-*.csv"))


def start(folder: Path, jobs: int) -> subprocess.Popen[str]:
    """A sweep that nobody waits for to the end."""
    words = ["--rules=classic", "--deals=0:1000000", "--chunk=20", "--format=csv"]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pyramid_env",
            "sweep",
            *words,
            f"--jobs={jobs}",
            "--out",
            str(folder),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )


def wait_for(is_true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    started = time.monotonic()
    while not is_true():
        assert process.poll() is None
        assert time.monotonic() - started < 60
        time.sleep(0.02)


def test_a_sweep_that_is_stopped_loses_only_unfinished_chunks(tmp_path: Path) -> None:
    """By Ctrl-C, SIGTERM and a kill of the whole group, each carrying on from the one before."""
    folder = tmp_path / "sweep"
    n_before = 0
    for code, jobs, stop in (
        (130, 2, lambda pid: os.killpg(pid, signal.SIGINT)),
        (143, 1, lambda pid: os.kill(pid, signal.SIGTERM)),
        (-9, 1, lambda pid: os.killpg(pid, signal.SIGKILL)),
    ):
        ages = {path: path.stat().st_mtime_ns for path in chunks_in(folder)}
        process = start(folder, jobs)
        try:
            wait_for(lambda: len(chunks_in(folder)) >= n_before + 3, process)  # noqa: B023
            stop(process.pid)
            assert process.wait(30) == code
        finally:
            process.kill()
        n_before = len(chunks_in(folder))
        assert {path: path.stat().st_mtime_ns for path in ages} == ages
        assert code == -9 or not list(folder.glob("*.part"))
    settings = read_settings(folder)
    assert settings is not None
    names = [path.name for path in chunks_in(folder)]
    done = [deals for deals in settings.chunks if settings.file_of(deals) in names]
    assert len(done) == len(names)
    for deals in done:
        assert len(read_chunk(folder, settings, deals)) == 20
