"""Plant small faults, one at a time, and see each caught: `python -m tests.mutation`.

The sources are copied to a folder of their own, with a switch at each fault, and compiled once. A
process for each fault then turns it on and plays a small campaign. Faults that nothing catches are
listed, and those apart that change nothing but how long the solver searches.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import tyro

ROOT = Path(__file__).parents[2]
FILES = [
    f"pyramid_env/{name}.py"
    for name in (
        "engine",
        "observation",
        "actions",
        "solver/moves",
        "solver/bounds",
        "solver/relaxation",
    )
]
PLANTED = "PYRAMID_ENV_PLANTED"
"""Tells the process that runs in the copy."""

CAUGHT, ENDLESS = "caught", "caught, as it took too long"
SLOWER, SURVIVED = "other nodes, same answers", "survived"
SECONDS_OF_CPU = 12
"""About three times what the whole campaign takes: a fault that never ends is caught."""

SECONDS_OF_TESTS = 60


@dataclass(frozen=True)
class Arguments:
    """Plant small faults in the rules of the game, and see each caught."""

    files: tuple[str, ...] = tuple(FILES)
    """In which files."""

    only: tuple[int, ...] = ()
    """The numbers of the faults to try; default: all."""

    every: int = 1
    """Try only every so-manieth fault."""

    times: int = 1
    """How much longer a campaign each fault has to get past."""

    tests: tuple[str, ...] = ()
    """Test files that a fault has to get past as well."""

    out: Path | None = None
    """A file for the results, a line of JSON a fault."""


def main(arguments: Arguments) -> int:
    """Copy, plant, and run in the copy."""
    from tests.mutation.mutants import planted

    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        for folder in ("pyramid_env", "agents", "tests"):
            shutil.copytree(ROOT / folder, copy / folder)
        shutil.copy(ROOT / "pyproject.toml", copy)
        sources, mutants = planted(
            list(arguments.files), lambda file: (ROOT / file).read_text("utf-8")
        )
        for file, source in sources.items():
            (copy / file).write_text(source, encoding="utf-8")
        chosen = [m for m in mutants if m.number in arguments.only or not arguments.only]
        job = {
            "mutants": [asdict(mutant) for mutant in chosen[:: arguments.every]],
            "times": arguments.times,
            "tests": arguments.tests,
            "out": None if arguments.out is None else str(arguments.out.resolve()),
        }
        environment = os.environ | {
            PLANTED: json.dumps(job["out"]),
            "NUMBA_CACHE_DIR": str(Path(name) / "cache"),
            "NUMBA_OPT": "1",
            "PYTHONPATH": str(copy),
        }
        (copy / "job.json").write_text(json.dumps(job), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "tests.mutation"], cwd=copy, env=environment, check=False
        ).returncode


def run_planted() -> int:
    """In the copy: try each fault."""
    from tests.mutation.checks import check
    from tests.mutation.mutants import Mutant

    job = json.loads(Path("job.json").read_text("utf-8"))
    started = time.monotonic()
    times = job["times"]
    nodes = check(times)
    print(f"compiled in {time.monotonic() - started:.0f} s", flush=True)
    started_cpu = time.process_time()
    assert check(times) == nodes
    print(f"the campaign takes {time.process_time() - started_cpu:.1f} s of CPU", flush=True)
    if job["tests"]:  # here, so that no process compiles for itself what only they call
        assert _run_tests(job["tests"])
    counts: Counter[str] = Counter()
    for i, fields in enumerate(job["mutants"], start=1):
        mutant = Mutant(**fields)
        result = _try(mutant.number, nodes, times, job["tests"])
        counts[result] += 1
        if job["out"]:
            with Path(job["out"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"result": result, **fields}) + "\n")
        if result not in (CAUGHT, ENDLESS):
            print(f"{mutant.number} {result}: {mutant}", flush=True)
        if i % 50 == 0:
            print(f"{i} of {len(job['mutants'])}: {dict(counts)}", flush=True)
    print(f"{sum(counts.values())} faults: {dict(counts)}")
    return 0


def _try(number: int, nodes: int, times: int, tests: list[str]) -> str:
    """Turn a fault on in a process of its own, and play."""
    child = os.fork()
    if child == 0:
        _be_caught_or_not(number, nodes, times, tests)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return {0: SURVIVED, 3: SLOWER, -signal.SIGXCPU: ENDLESS}.get(code, CAUGHT)


def _be_caught_or_not(number: int, nodes: int, times: int, tests: list[str]) -> None:
    from tests.mutation.checks import check, forget
    from tests.mutation.switch import turn_on

    seconds = SECONDS_OF_CPU * max(1, times) + SECONDS_OF_TESTS * bool(tests)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    turn_on(number)
    try:
        forget()
        if tests and not _run_tests(tests):
            os._exit(1)
        os._exit(0 if check(times) == nodes else 3)
    except BaseException:
        os._exit(1)


def _run_tests(tests: list[str]) -> bool:
    arguments = ["-x", "-q", "--no-header", "--tb=no", "--override-ini=addopts=", "-Wignore"]
    return pytest.main([*arguments, "-m not slow", *tests]) == 0


if __name__ == "__main__":
    if os.environ.get(PLANTED):
        sys.exit(run_planted())
    sys.exit(main(tyro.cli(Arguments)))
