"""Sharing work out among processes, threads or a Ray cluster, and keeping a folder to one of us."""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from pyramid_env.files import PART

Backend = Literal["loky", "threading", "ray"]
"""Processes of this machine, threads of this process, or a Ray cluster."""


class WorkerDied(Exception):  # noqa: N818 - the machine's fault, not the caller's
    """A process that worked has died, killed or out of memory; what was handed back is kept."""


@dataclass(frozen=True)
class Workers:
    """Who works. Raises `ValueError` for what cannot be, `ConnectionError` for no cluster."""

    backend: Backend = "loky"

    jobs: int | None = None
    """How many tasks at once; None is one a core, with Ray all that the cluster has room for."""

    ray_address: str | None = None
    """Of a running cluster; without it and `RAY_ADDRESS` a local one is started."""

    def __post_init__(self) -> None:
        if self.backend not in get_args(Backend):
            raise ValueError(
                f"backend={self.backend!r} is not allowed: one of {', '.join(get_args(Backend))}"
            )
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(
                f"jobs={self.jobs!r} is not allowed: 1 or more, or None for all there are"
            )

    def check(self, extra_name: str) -> None:
        """Raise for a library that is missing, naming the extra, or a cluster that is not there."""
        with extra(extra_name):
            import filelock  # noqa: F401
            import joblib  # noqa: F401
        if self.backend == "ray":
            with extra("ray"):
                import ray  # noqa: F401
            if self._address:
                _check_address(self._address)

    def run(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Generator[Any, None, None]:
        """Call `task(*call, stop)` for each call: the results in the order in which they are done.

        `stop` is an event that a task in a thread looks at now and then, and ends with an error
        when it is set, since nothing else ends a thread; elsewhere it is None. Close the generator
        to stop early. Raises `WorkerDied`, and whatever a task raises.
        """
        if self.backend == "ray":
            return self._on_ray(task, calls)
        return self._on_this_machine(task, calls)

    @property
    def _address(self) -> str | None:
        return self.ray_address or os.environ.get("RAY_ADDRESS")

    def _on_this_machine(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Generator[Any, None, None]:
        import joblib
        from joblib.externals.loky.process_executor import BrokenProcessPool

        stop = threading.Event() if self.backend == "threading" else None
        delayed: Any = joblib.delayed(task)
        n_jobs = min(self.jobs or joblib.cpu_count(), max(len(calls), 1))
        done = joblib.Parallel(
            n_jobs=n_jobs, backend=self.backend, batch_size=1, return_as="generator_unordered"
        )(delayed(*call, stop) for call in calls)
        try:
            for result in done:  # noqa: UP028 - `yield from` would close `done` with a warning
                yield result
        except BrokenProcessPool as error:
            raise WorkerDied(str(error).partition("\n")[0]) from None
        finally:
            if stop is not None:
                stop.set()
            with warnings.catch_warnings():  # about work given up, which is meant
                warnings.simplefilter("ignore")
                done.close()

    def _on_ray(
        self, task: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
    ) -> Generator[Any, None, None]:
        """Not through joblib: its Ray backend gives no result before the last one is done."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        with _ray_cluster(self.jobs, self._address):
            remote: Any = ray.remote(task)
            # A next one waits at each core.
            at_once = self.jobs or 2 * int(ray.cluster_resources()["CPU"])
            to_come = iter(calls)
            waiting = [remote.remote(*call, None) for call in islice(to_come, at_once)]
            try:
                while waiting:
                    [done], waiting = ray.wait(waiting)
                    yield ray.get(done)
                    waiting += [remote.remote(*call, None) for call in islice(to_come, 1)]
            except RayTaskError:
                raise
            except RayError as error:
                raise WorkerDied(str(error).partition("\n")[0]) from None


def check_folder(folder: Path, settings_file: str, lock_file: str, what: str) -> None:
    """Raise `ValueError` for a folder that holds files, but no settings: they are not ours."""
    if not folder.exists() or (folder / settings_file).exists():
        return
    ours = {lock_file, settings_file + PART}
    others = sorted({path.name for path in folder.iterdir()} - ours)
    if others:
        raise ValueError(f"{folder} holds {others[0]} and no {what}: name an empty or new folder")


@contextmanager
def locked(file: Path, what: str) -> Iterator[None]:
    """Keep a folder to one of us by a lock file in it; `what` is at work where it is held.

    The system frees the lock of a process that died.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise ValueError(f"another {what} is at work in {file.parent}") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import what comes with an extra, or raise `ValueError` that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{error.name} is not installed: pip install 'pyramid-env[{name}]'"
        ) from None


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """End workers and clear up on SIGTERM as on Ctrl-C."""

    def end(signum: int, frame: Any) -> NoReturn:
        raise SystemExit(128 + signum)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _check_address(address: str) -> None:
    """Raise `ConnectionError` where nothing listens: Ray itself would try for a quarter hour."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        return  # a form such as ``auto``, which Ray sees through at once
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from None


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
