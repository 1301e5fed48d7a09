"""`sweep`: solve millions of numbered deals on all cores or a cluster; a stopped one carries on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pyramid_env.files import PART
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver.batch import solve_batch
from pyramid_env.solver.solution import Objective
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT
from pyramid_env.solver.sweep_files import (
    LOCK_FILE,
    SETTINGS_FILE,
    Answers,
    FileFormat,
    Settings,
    read_chunk,
    read_settings,
    write_chunk,
    write_settings,
)
from pyramid_env.workers import Backend, Workers, check_folder, locked

Progress = Callable[[Answers, bool], object]
"""Told a chunk's answers, and whether they were solved now: False for those found in the folder."""


def sweep(
    folder: str | Path,
    rules: str | Rules = "kawu",
    objective: Objective = "win",
    deals: range = range(1_000_000),
    *,
    chunk: int = 10_000,
    node_limit: int = DEFAULT_NODE_LIMIT,
    file_format: FileFormat = "parquet",
    backend: Backend = "loky",
    jobs: int | None = None,
    ray_address: str | None = None,
    progress: Progress = lambda answers, is_new: None,
) -> None:
    """Solve numbered deals from their start and write the answers to a folder, a file a chunk.

    Chunks whose file is there already are left alone, so the same call carries on where a stopped
    sweep ended; `deals` may then end later. `jobs` chunks (default: one a core, with Ray all that
    the cluster has room for) are solved at once. `ray_address` is that of a running cluster;
    without it and `RAY_ADDRESS` a local one is started. `read_sweep` reads the answers.

    Raises `ValueError` for arguments that cannot work, a folder with other settings or other
    files, or one where a sweep is at work, and `ConnectionError` where no cluster is, all before
    anything is changed; later `WorkerDied`.
    """
    settings = Settings(get_rules(rules), objective, deals, chunk, node_limit, file_format)
    workers = Workers(backend, jobs, ray_address)
    workers.check("sweep")
    if file_format == "parquet":
        _check_parquet()
    folder = Path(folder)
    check_folder(folder, SETTINGS_FILE, LOCK_FILE, "sweep")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK_FILE, "sweep"):
        _begin(folder, settings)
        missing = _missing(folder, settings, progress)
        if not missing:
            return
        # The workers find the kernels compiled, which all of them would else do at once.
        solve_chunk(settings, missing[0][:1])
        with closing(workers.run(solve_chunk, [(settings, deals) for deals in missing])) as solved:
            for answers in solved:
                # Written here and not by the workers, which may be machines with other disks.
                write_chunk(folder, settings, answers)
                progress(answers, True)


def solve_chunk(settings: Settings, deals: range, stop: threading.Event | None = None) -> Answers:
    """Solve a chunk's deals in one thread; setting `stop` ends it with `InterruptedError`."""

    def check(n_solved: int, n_deals: int) -> None:
        if stop is not None and stop.is_set():
            raise InterruptedError

    solutions = solve_batch(
        deals,
        settings.rules,
        settings.objective,
        jobs=1,
        node_limit=settings.node_limit,
        progress=check,
    )
    return Answers.of(deals, solutions)


def _check_parquet() -> None:
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(
            "parquet files need PyArrow: pip install 'pyramid-env[sweep]', or choose csv"
        ) from None


def _begin(folder: Path, settings: Settings) -> None:
    """Write the settings, or hold them against those that are there; clear what a kill left."""
    found = read_settings(folder)
    if found is not None:
        _check_settings(folder, found, settings)
    for path in folder.glob("*" + PART):
        path.unlink()
    if found is not None and found.deals != settings.deals:
        *_, last = found.chunks
        if len(last) < found.chunk:  # it grows
            (folder / found.file_of(last)).unlink(missing_ok=True)
    if found != settings:
        write_settings(folder, settings)


def _check_settings(folder: Path, found: Settings, asked: Settings) -> None:
    """Refuse settings other than those found, unless only the range ends later."""
    grows = asked.deals.start == found.deals.start and asked.deals.stop >= found.deals.stop
    if not grows or replace(found, deals=asked.deals) != asked:
        raise ValueError(f"{folder} holds another sweep: {found.differences(asked)}")


def _missing(folder: Path, settings: Settings, progress: Progress) -> list[range]:
    """The deals of the chunks that are to be done; tell of those that are there."""
    there = {path.name for path in folder.iterdir()}
    missing = []
    for deals in settings.chunks:
        if settings.file_of(deals) in there:
            progress(read_chunk(folder, settings, deals), False)
        else:
            missing.append(deals)
    return missing
