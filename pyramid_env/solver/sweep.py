"""`sweep`: solve millions of numbered deals on all cores or a cluster; a stopped one carries on."""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

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
    extra,
    locked,
    read_chunk,
    read_settings,
    write_chunk,
    write_settings,
)

Backend = Literal["loky", "threading", "ray"]
"""Processes of this machine, threads of this process, or a Ray cluster."""

Progress = Callable[[Answers, bool], object]
"""Told a chunk's answers, and whether they were solved now: False for those found in the folder."""


class WorkerDied(Exception):  # noqa: N818 - the machine's fault, not the caller's
    """A process that solved deals has died, killed or out of memory; finished chunks are kept."""


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
    _check_running(backend, jobs)
    _check_imports(backend, file_format)
    ray_address = ray_address or os.environ.get("RAY_ADDRESS")
    if backend == "ray" and ray_address:
        _check_address(ray_address)
    folder = Path(folder)
    _check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _begin(folder, settings)
        missing = _missing(folder, settings, progress)
        if not missing:
            return
        # The workers find the kernels compiled, which all of them would else do at once.
        solve_chunk(settings, missing[0][:1])
        if backend == "ray":
            solved = _on_ray(settings, missing, jobs, ray_address)
        else:
            solved = _on_this_machine(settings, missing, backend, jobs)
        with closing(solved):
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


def _check_running(backend: str, jobs: int | None) -> None:
    if backend not in get_args(Backend):
        raise ValueError(
            f"backend={backend!r} is not allowed: one of {', '.join(get_args(Backend))}"
        )
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs!r} is not allowed: 1 or more, or None for all there are")


def _check_imports(backend: Backend, file_format: FileFormat) -> None:
    with extra("sweep"):
        import filelock  # noqa: F401
        import joblib  # noqa: F401
    if file_format == "parquet":
        try:
            import pyarrow  # noqa: F401
        except ModuleNotFoundError:
            raise ValueError(
                "parquet files need PyArrow: pip install 'pyramid-env[sweep]', or choose csv"
            ) from None
    if backend == "ray":
        with extra("ray"):
            import ray  # noqa: F401


def _check_address(address: str) -> None:
    """Raise `ConnectionError` where nothing listens: Ray itself would try for a quarter hour."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        return  # a form such as ``auto``, which Ray sees through at once
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from None


def _check_folder(folder: Path) -> None:
    """Refuse a folder with files of something else."""
    if not folder.exists() or (folder / SETTINGS_FILE).exists():
        return
    ours = {LOCK_FILE, SETTINGS_FILE + PART}
    others = sorted({path.name for path in folder.iterdir()} - ours)
    if others:
        raise ValueError(f"{folder} holds {others[0]} and no sweep: name an empty or new folder")


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


def _on_this_machine(
    settings: Settings, chunks: list[range], backend: Backend, jobs: int | None
) -> Generator[Answers, None, None]:
    """Solve chunks in processes or threads; in the order in which they are done."""
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    stop = threading.Event() if backend == "threading" else None  # nothing but this ends a thread
    task: Any = joblib.delayed(solve_chunk)
    solved = joblib.Parallel(
        n_jobs=jobs or -1, backend=backend, batch_size=1, return_as="generator_unordered"
    )(task(settings, deals, stop) for deals in chunks)
    try:
        for answers in solved:  # noqa: UP028 - `yield from` would close `solved` with a warning
            yield answers
    except BrokenProcessPool as error:
        raise WorkerDied(str(error).partition("\n")[0]) from None
    finally:
        if stop is not None:
            stop.set()
        with warnings.catch_warnings():  # about work given up, which is meant
            warnings.simplefilter("ignore")
            solved.close()


def _on_ray(
    settings: Settings, chunks: list[range], jobs: int | None, address: str | None
) -> Generator[Answers, None, None]:
    """Solve chunks as tasks of Ray; in the order in which they are done.

    Not through joblib: its Ray backend gives no result before the last one is done.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError

    with _ray_cluster(jobs, address):
        task: Any = ray.remote(solve_chunk)
        at_once = jobs or 2 * int(ray.cluster_resources()["CPU"])  # a next one waits at each core
        to_come = iter(chunks)
        waiting = [task.remote(settings, deals) for deals in islice(to_come, at_once)]
        try:
            while waiting:
                [done], waiting = ray.wait(waiting)
                yield ray.get(done)
                waiting += [task.remote(settings, deals) for deals in islice(to_come, 1)]
        except RayTaskError:
            raise
        except RayError as error:
            raise WorkerDied(str(error).partition("\n")[0]) from None


@contextmanager
def _ray_cluster(jobs: int | None, address: str | None) -> Iterator[None]:
    """Connect to a running cluster, or start one on this machine and stop it at the end."""
    import ray

    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    else:
        options["address"] = address
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**options)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, on_sigterm)  # Ray's own handler aborts the process
        yield
    finally:
        ray.shutdown()
