"""Coverage-guided fuzzing by Atheris: `python -m tests.fuzz deal_file --seconds 60`.

It stops at the first fault, prints the traceback and keeps the input as ``crash-...`` in the folder
of the target, from which the next run goes on.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # what is compiled cannot be followed

import atheris
import tyro

MOST_MEGABYTES = 2048
LONGEST_SECONDS = 60
LONGEST_INPUT = 20_000


@dataclass(frozen=True)
class Arguments:
    """Fuzz one reader of outside data, guided by the code that each input reaches."""

    target: Annotated[str, tyro.conf.Positional]
    """A name of `tests.fuzz.targets.TARGETS`."""

    seconds: int = 60
    """How long."""

    corpus: Path = Path("runs/fuzz")
    """A folder for the inputs that reach new code, in a folder of the target."""


def main(arguments: Arguments) -> None:
    """Fuzz until the time is over; the exit code is not 0 at a fault."""
    with atheris.instrument_imports(include=["pyramid_env", "agents", "csv", "json"]):
        from tests.fuzz.targets import TARGETS

    if arguments.target not in TARGETS:
        sys.exit(f"{arguments.target} is none of {', '.join(TARGETS)}")
    target = TARGETS[arguments.target]
    corpus = arguments.corpus / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(
        [
            "fuzz",
            str(corpus),
            f"-max_total_time={arguments.seconds}",
            f"-timeout={LONGEST_SECONDS}",
            f"-rss_limit_mb={MOST_MEGABYTES}",
            f"-max_len={LONGEST_INPUT}",
            f"-artifact_prefix={corpus}/",
            "-print_final_stats=1",
        ],
        target.read,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(tyro.cli(Arguments))
