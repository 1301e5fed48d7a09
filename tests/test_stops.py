"""Every long program, stopped at random moments, ends as if it had not been."""

from __future__ import annotations

import csv
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stopping import CODES, start, stop, wait_until

from agents.commands import evaluate
from agents.learned import read_policy
from agents.results import read_curve
from agents.training.distill import DistillConfig, train_distill
from agents.training.ppo import PPOConfig, train_ppo
from pyramid_env.__main__ import main
from pyramid_env.solver.sweep_files import read_chunk, read_settings

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops processes by signals")

SWEEP = "sweep --rules=classic --deals=0:1200 --chunk=20 --format=csv"
EVALUATION = "--agents random greedy --deals 800 --chunk 20"
TRAINING = {
    "width": 16,
    "layers": 1,
    "eval_deals": 8,
    "device": "cpu",
    "threads": 1,
}
DISTILLATION = {**TRAINING, "states": 6400, "games": 64, "eval_every": 500}
PPO = {**TRAINING, "steps": 6400, "envs": 16, "rollout": 8, "batch": 128, "eval_every": 500}


@dataclass(frozen=True)
class Program:
    """A program with an `--out` folder."""

    words: str
    """Of the command line."""

    n_kept: Callable[[Path], int]
    """How much of the work a folder keeps."""

    check: Callable[[Path], object]
    """Raises for a file that is not whole."""

    result: Callable[[Path], object]
    """What the work comes to."""

    finish: Callable[[Path, bool], object]
    """Does, or goes on with, the work in this process."""

    left_alone: str
    """The files that stay as they are once they are there, as a pattern."""


def words_of(fields: dict[str, Any]) -> str:
    return " ".join(f"--{name.replace('_', '-')}={value}" for name, value in fields.items())


def check_sweep(out: Path) -> None:
    settings = read_settings(out)
    for deals in settings.chunks if settings else ():
        if (out / settings.file_of(deals)).exists():
            assert len(read_chunk(out, settings, deals)) == 20


def check_evaluation(out: Path) -> None:
    for part in out.rglob("*.parts/*.csv"):
        rows = list(csv.reader(part.read_text().splitlines()))
        assert [int(row[0]) for row in rows] == list(range(int(part.stem), int(part.stem) + 20))


def games_of(out: Path) -> dict[str, Any]:
    """All but the seconds that a game took."""
    texts = {path.name: path.read_text().splitlines() for path in out.rglob("*.csv")}
    tables = {name: list(csv.DictReader(lines)) for name, lines in texts.items()}
    return {
        name: [{**row, "seconds": ""} for row in rows] if "seconds" in rows[0] else rows
        for name, rows in tables.items()
    }


def check_training(out: Path) -> None:
    for path in out.glob("*.safetensors"):
        read_policy(path)
    if (out / "evaluations.csv").exists():
        read_curve(out / "evaluations.csv")


def n_evaluations(out: Path) -> int:
    """Evaluations with their checkpoint."""
    curve = out / "evaluations.csv"
    return len(read_curve(curve)) if (out / "checkpoint.pt").exists() else 0


def policies_of(out: Path) -> dict[str, bytes]:
    names = ("policy.safetensors", "best.safetensors", "evaluations.csv")
    return {name: (out / name).read_bytes() for name in names}


PROGRAMS = {
    "sweep": Program(
        f"-m pyramid_env {SWEEP} --jobs=2",
        lambda out: len(list(out.glob("chunk-*"))),
        check_sweep,
        lambda out: {path.name: path.read_bytes() for path in out.glob("*[vn]")},
        lambda out, resume: main([*SWEEP.split(), "--jobs=1", f"--out={out}"]),
        "chunk-*.csv",
    ),
    "evaluation": Program(
        f"evaluate.py {EVALUATION} --jobs=2",
        lambda out: len(list(out.rglob("*.csv"))),
        check_evaluation,
        games_of,
        lambda out, resume: evaluate.main([*EVALUATION.split(), "--jobs=1", f"--out={out}"]),
        "**/*.csv",
    ),
    "distillation": Program(
        f"train.py distill {words_of(DISTILLATION)}",
        n_evaluations,
        check_training,
        policies_of,
        lambda out, resume: train_distill(DistillConfig(out, resume=resume, **DISTILLATION)),  # type: ignore[arg-type]
        "config.json",
    ),
    "ppo": Program(
        f"train.py ppo {words_of(PPO)}",
        n_evaluations,
        check_training,
        policies_of,
        lambda out, resume: train_ppo(PPOConfig(out, resume=resume, **PPO)),  # type: ignore[arg-type]
        "config.json",
    ),
}


def stop_once(program: Program, out: Path, by: signal.Signals, chance: random.Random) -> bool:
    """Start, or go on, and stop a little after a random amount of work; whether it came to that."""
    ages = {path: path.stat().st_mtime_ns for path in out.glob(program.left_alone)}
    wanted = program.n_kept(out) + chance.randrange(1, 6)
    resume = ["--resume"] if "train.py" in program.words and (out / "config.json").exists() else []
    process = start([*program.words.split(), *resume, f"--out={out}"])
    try:
        wait_until(lambda: program.n_kept(out) >= wanted, process)
        time.sleep(chance.uniform(0, 0.2))  # somewhere in what comes next
        said = stop(process, by)
    finally:
        process.kill()
    program.check(out)
    for path, age in ages.items():
        if path.exists():
            assert path.stat().st_mtime_ns == age
        else:  # a finished table takes the place of its shares
            assert path.parent.with_suffix(".csv").exists()
    if process.returncode == 0 or "already: ask for more" in said:
        return False
    assert process.returncode == CODES[by], said
    assert by is signal.SIGKILL or not list(out.rglob("*.part"))
    assert by is not signal.SIGINT or "stopped" in said
    return True


def stop_and_finish(name: str, signals: list[signal.Signals], tmp_path: Path, seed: int) -> int:
    """How often it was stopped; the result is that of an uninterrupted run."""
    program, chance = PROGRAMS[name], random.Random(seed)
    out, whole = tmp_path / "stopped", tmp_path / "whole"
    n_stopped = sum(stop_once(program, out, by, chance) for by in signals)
    try:
        program.finish(out, True)
    except ValueError as error:
        if "already: ask for more" not in str(error):
            raise
    program.finish(whole, False)
    assert program.result(out) == program.result(whole)
    names = [{path.name for path in folder.iterdir()} for folder in (out, whole)]
    assert names[0] == names[1]
    return n_stopped


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("sweep", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]),
        ("evaluation", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]),
        ("distillation", [signal.SIGKILL, signal.SIGTERM]),
        ("ppo", [signal.SIGKILL, signal.SIGINT]),
    ],
)
def test_a_program_that_is_stopped_ends_as_one_that_was_not(
    name: str, signals: list[signal.Signals], tmp_path: Path
) -> None:
    assert stop_and_finish(name, signals, tmp_path, seed=1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [2, 3])
def test_programs_stopped_at_many_random_moments(name: str, seed: int, tmp_path: Path) -> None:
    signals = random.Random(seed).choices(list(CODES), k=8)
    assert stop_and_finish(name, signals, tmp_path, seed) > 0
