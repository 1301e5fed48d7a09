"""Time how a process starts: `python benchmarks/startup.py --help`.

It prints a table of the import, of the first step on a machine that has run the game before, and
of what has to be compiled on one that has not, and writes it to `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from results import read_arguments, save_section, table

ROOT = Path(__file__).parents[1]

_CLOCK = "import time; wall, cpu = time.perf_counter(), time.process_time()"
_STOP = "print(time.perf_counter() - wall, time.process_time() - cpu)"
_SCALAR = "env = pyramid_env.PyramidEnv(); env.reset(seed=1); env.step(0)"
_VECTOR = (
    "env = pyramid_env.PyramidVectorEnv(64); env.reset(seed=1); env.step(env.action_space.sample())"
)
_IMPORT = "import pyramid_env"

_COMPARISON = "evaluate.py --agents random greedy solver --deals 20 --jobs 1 --out {folder}/results"
_TRAINING = (
    "train.py ppo --steps 1024 --envs 16 --rollout 32 --batch 128 --epochs 1 --width 16 --layers 1"
    " --eval-every 512 --eval-deals 8 --device cpu --out {folder}/run"
)


class Row(NamedTuple):
    """What is measured, in seconds of wall clock and CPU of each run, and the aim."""

    what: str
    aim: float
    wall: list[float]
    cpu: list[float]


@dataclass(frozen=True)
class Arguments:
    """Start processes and time them."""

    runs: int = 7
    """How often each start is timed."""

    cold_runs: int = 1
    """How often everything is compiled; each takes a minute or two."""

    training: bool = True
    """Whether to start a training, too, which needs the extra `train`."""

    save: bool = True
    """Whether to write benchmarks/RESULTS.md."""


def main() -> None:
    """Measure, print the table and save it."""
    arguments = read_arguments(Arguments)
    text = report(measure(arguments.runs, arguments.cold_runs, arguments.training))
    print(text)
    if arguments.save:
        save_section("Start-up", text, ["gymnasium", "numba", "numpy"])


def measure(runs: int, cold_runs: int, training: bool = True) -> list[Row]:
    """Every row of the table; `runs` counts the quick ones, `cold_runs` the compilations."""
    with tempfile.TemporaryDirectory() as cache:
        rows = _warm(runs, cache)
    scripts = [("evaluate.py", _COMPARISON), *([("train.py", _TRAINING)] if training else [])]
    for name, command in scripts:
        rows.append(_compiling(name, command, cold_runs))
    return rows


def report(rows: Sequence[Row]) -> str:
    """The rows as Markdown, with what they mean."""
    cells = [
        (
            row.what,
            *(f"{x:.2f}" for x in (min(row.wall), statistics.median(row.wall), min(row.cpu))),
            f"{row.aim:g}",
        )
        for row in rows
    ]
    note = (
        "Each run is a process of its own. *First step* goes on from the import: make, reset and"
        " step, with the machine code in the cache. *Compiling* is what the first run of a small"
        " comparison or training, with an empty cache, takes longer than the second."
    )
    head = ("start", "best wall s", "median", "best CPU s", "aim")
    return f"{table(head, cells)}\n\n{note}"


def _warm(runs: int, cache: str) -> list[Row]:
    """The import, and the first step of each environment, taken in turns."""
    programs = {
        "import": (0.3, f"{_CLOCK}; {_IMPORT}; {_STOP}"),
        "first step, `PyramidEnv`": (0.5, f"{_IMPORT}; {_CLOCK}; {_SCALAR}; {_STOP}"),
        "first step, `PyramidVectorEnv`": (0.5, f"{_IMPORT}; {_CLOCK}; {_VECTOR}; {_STOP}"),
    }
    rows = [Row(what, aim, [], []) for what, (aim, _) in programs.items()]
    for run in range(-1, runs):
        for row, (_, program) in zip(rows, programs.values(), strict=True):
            _say(f"{row.what}: {'filling the cache' if run < 0 else f'{run + 1}/{runs}'}")
            wall, cpu = map(float, _run(["-c", program], cache).split())
            if run >= 0:
                row.wall.append(wall)
                row.cpu.append(cpu)
    return rows


def _compiling(name: str, command: str, runs: int) -> Row:
    """What compiling adds to a script's first run, over its second one."""
    row = Row(f"compiling for `{name}`", 20, [], [])
    for run in range(runs):
        _say(f"{row.what}: {run + 1}/{runs}")
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (
                _timed(command.format(folder=f"{folder}/{i}").split(), f"{folder}/cache")
                for i in range(2)
            )
        row.wall.append(cold[0] - warm[0])
        row.cpu.append(cold[1] - warm[1])
    return row


def _timed(arguments: list[str], cache: str) -> tuple[float, float]:
    """Seconds of wall clock and CPU that a process takes."""
    wall, before = time.perf_counter(), os.times()
    _run(arguments, cache)
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - wall, cpu


def _run(arguments: list[str], cache: str) -> str:
    """What a Python process prints that keeps its kernels in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' machines keep bytecode
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
