"""`benchmarks/RESULTS.md`: what was measured, where, and by which command."""

from __future__ import annotations

import platform
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import tyro

from pyramid_env.files import write_text

Arguments = TypeVar("Arguments")

RESULTS = Path(__file__).with_name("RESULTS.md")

_TITLE = """# Results

Each section is written by the command that stands in it. Times are CPU time after warm-up; what
counts are the ratios, which were measured in one run on one machine.
"""


def save_section(title: str, text: str, libraries: Sequence[str]) -> None:
    """Write a section of the results in place of the one with its title, if there is one.

    Above the text stand the command, machine, versions and commit. The file is replaced as a whole.
    """
    section = f"## {title}\n\n{_provenance(libraries)}\n\n{text.strip()}\n"
    old = RESULTS.read_text("utf-8") if RESULTS.exists() else _TITLE
    sections = re.split(r"(?m)^(?=## )", old)
    others = [one.rstrip() + "\n" for one in sections if not one.startswith(f"## {title}\n")]
    write_text(RESULTS, "\n".join([others[0], *sorted([*others[1:], section])]))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def read_arguments(kind: type[Arguments]) -> Arguments:
    """The command line as a dataclass; exit with 2 where a whole number is not 1 or more."""
    arguments = tyro.cli(kind)
    for name, value in vars(arguments).items():
        if type(value) is int and value < 1:
            print(f"--{name.replace('_', '-')} {value} is not allowed: 1 or more", file=sys.stderr)
            sys.exit(2)
    return arguments


def peak_memory() -> int:
    """The most memory that the process has used, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _provenance(libraries: Sequence[str]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return (
        f"```sh\npython {shlex.join(sys.argv)}\n```\n\n{_processor()}, Python"
        f" {platform.python_version()}, {versions}; commit {_commit()}, {date.today()}."
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    """The commit of this folder, marked where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
