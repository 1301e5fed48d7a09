"""Programs of ours as processes that are stopped, and files that cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]

PATIENCE = 300
"""Seconds after which something hangs, on however busy a machine."""

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
"""Exit codes of a program that was stopped."""


def start(words: Sequence[str | Path]) -> subprocess.Popen[str]:
    """A program in a group of its own, which Ctrl-C reaches also where ours ignores it."""
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
        text=True,
    )


def wait_until(is_true: Callable[[], bool], process: subprocess.Popen[str]) -> bool:
    """Whether it became true before the process ended by itself."""
    started = time.monotonic()
    while not is_true():
        if process.poll() is not None:
            return is_true()
        assert time.monotonic() - started < PATIENCE
        time.sleep(0.01)
    return True


def stop(process: subprocess.Popen[str], by: signal.Signals) -> str:
    """Stop a program as a terminal, a batch system or a full memory would; what it has said."""
    try:
        with suppress(ProcessLookupError):  # it may have ended by itself
            (os.kill if by is signal.SIGTERM else os.killpg)(process.pid, by)
        return process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()


@contextmanager
def no_file_longer_than(n_bytes: int) -> Iterator[None]:
    """Writing more into a file fails, as on a full disk."""
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
