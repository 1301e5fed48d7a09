"""Compare agents on the same deals: `python evaluate.py`; `--help` lists all arguments."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agents.comparison import compare
from agents.registry import load_agent
from agents.report import rich_table, write_report
from agents.versions import package_versions
from pyramid_env.deals import FIRST_TRAINING_NUMBER
from pyramid_env.jit import announce_compiling
from pyramid_env.rules import get_rules


@dataclass(frozen=True)
class Arguments:
    """Compare agents with each other and with the exact solver, on the same numbered deals."""

    agents: tuple[str, ...] = ("random", "greedy", "learned", "solver")
    """random, greedy, learned (the policy that comes with the package), solver, or name=path with
    a policy file or a training run's folder."""

    rules: str = "kawu"
    """Preset to play."""

    deals: int = 1000
    """How many deals every agent plays."""

    first: int = 0
    """Number of the first deal; the deals are consecutive."""

    out: Path = Path("results")
    """Folder for comparison.json, games.csv, comparison.md and comparison.png."""

    batch: int = 256
    """Games played side by side."""


def run(arguments: Arguments, console: Console) -> None:
    """Load, play, show, save. Raises `ValueError` or `OSError` for arguments that cannot work."""
    rules = get_rules(arguments.rules)
    last = arguments.first + arguments.deals
    if arguments.deals < 1 or arguments.first < 0 or last > FIRST_TRAINING_NUMBER:
        raise ValueError(
            f"deals {arguments.first} to {last - 1} are no evaluation deals: at least one, from 0"
            f" to {FIRST_TRAINING_NUMBER - 1}"
        )
    if arguments.batch < 1:
        raise ValueError(f"--batch {arguments.batch} is not allowed: 1 or more")
    agents = [load_agent(spec, rules) for spec in arguments.agents]
    names = [agent.name for agent in agents]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"--agents {' '.join(names)}: give at least one, each name once")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done)  # type: ignore[arg-type]

        comparison = compare(
            agents,
            range(arguments.first, last),
            arguments.rules,
            rules,
            batch=arguments.batch,
            progress=show,
        )
    console.print(rich_table(comparison))
    written = write_report(comparison, arguments.out, package_versions())
    console.print("written: " + ", ".join(map(str, written)))


def main() -> int:
    """Compare as the command line says; the exit code."""
    announce_compiling()
    arguments = tyro.cli(Arguments)
    try:
        run(arguments, Console())
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("evaluate.py: stopped, nothing written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
