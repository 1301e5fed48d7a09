"""`pyramid-evaluate`: compare agents on the same deals; `--help` lists all arguments.

`pyramid-evaluate report results/` makes the report of kept games anew, without playing.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agents.comparison import compare
from agents.evaluation import evaluate
from agents.registry import AgentSpec, default_agents
from agents.replays import write_replays
from agents.report import notes, rich_table, write_report
from agents.results import Settings, keep_curve, read_results
from pyramid_env.jit import announce_compiling
from pyramid_env.rules import get_rules
from pyramid_env.texts import one_line
from pyramid_env.workers import Backend, WorkerDied, Workers, ended_by_sigterm


@dataclass(frozen=True)
class Arguments:
    """Compare agents with each other and with the exact solver, on the same numbered deals.

    The games are kept in --out; the same command goes on where a stopped one ended, and other
    agents can be added. With `report FOLDER` as arguments, a report is made anew, without playing.
    """

    agents: tuple[str, ...] | None = None
    """random, greedy, search, learned (the policy that comes with the package for the rules),
    solver, or NAME=TARGET with a policy file, a training run's folder, trusted:FILE.zip of
    Stable-Baselines3 (loading it runs code from it), or package.module:make_agent. NAME@0=...,
    NAME@1=... are several seeds of one agent. Default: all but search that can play the rules."""

    rules: str = "kawu"
    """Preset to play."""

    deals: int = 1000
    """How many deals every agent plays."""

    first: int = 0
    """Number of the first deal; the deals are consecutive."""

    out: Path = Path("results")
    """Folder for the games and the report."""

    batch: int = 250
    """Games played side by side."""

    chunk: int = 250
    """Deals a worker plays at a time; what is not finished when it stops is played again."""

    backend: Backend = "loky"
    """Processes (loky) or threads of this machine, or a Ray cluster."""

    jobs: int | None = None
    """Workers at once; default: one a core."""

    ray_address: str | None = None
    """Of a running cluster; default: RAY_ADDRESS, else one is started on this machine."""

    replays: int = 0
    """Of how many deals to write each agent's game as a page for the browser, in --out/replays."""


@dataclass(frozen=True)
class ReportArguments:
    """Make the report of kept games anew, without playing."""

    folder: Annotated[Path, tyro.conf.Positional] = Path("results")
    """The --out of an evaluation."""

    curves: tuple[str, ...] = ()
    """Learning curves to keep with it: NAME=FOLDER of training runs."""


def run(arguments: Arguments, console: Console) -> bool:
    """Play, show, save; whether every agent played to the end of its games.

    Raises `ValueError` or `OSError` for arguments that cannot work.
    """
    deals = range(arguments.first, arguments.first + arguments.deals)
    rules = get_rules(arguments.rules)
    if not 0 <= arguments.replays <= arguments.deals:
        raise ValueError(f"replays={arguments.replays} is not allowed: 0 to {arguments.deals}")
    settings = Settings(arguments.rules, rules, deals, arguments.batch, arguments.chunk)
    texts = default_agents(rules) if arguments.agents is None else arguments.agents
    specs = [AgentSpec.parse(text) for text in texts]
    workers = Workers(arguments.backend, arguments.jobs, arguments.ray_address)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done)  # type: ignore[arg-type]

        evaluate(arguments.out, settings, specs, workers=workers, progress=show)
    done = report(ReportArguments(arguments.out), console)
    if arguments.replays:
        pages = write_replays(arguments.out, [spec.name for spec in specs], arguments.replays)
        console.print(f"written: {len(pages)} pages in {arguments.out / 'replays'}")
    return done


def report(arguments: ReportArguments, console: Console) -> bool:
    """Show and save the report of what is kept; whether it has no game that broke off."""
    results = read_results(arguments.folder)
    for text in arguments.curves:
        name, equals, run_folder = text.partition("=")
        if not equals:
            raise ValueError(f"--curves {text}: give NAME=FOLDER")
        keep_curve(arguments.folder, AgentSpec(name, run_folder).name, Path(run_folder))
    if arguments.curves:
        results = read_results(arguments.folder)
    comparison = compare(results)
    console.print(rich_table(comparison))
    for text in notes(comparison):
        console.print(f"note: {text}", soft_wrap=True, markup=False)
    written = write_report(comparison, arguments.folder)
    console.print("written: " + ", ".join(map(str, written)))
    return not any(agent.n_broken_off for agent in comparison.agents)


def main(words: Sequence[str] | None = None, prog: str = "pyramid-evaluate") -> int:
    """Do as the command line says; the exit code, 1 if an agent failed or a worker died.

    `prog` is the program's name.
    """
    announce_compiling()
    words = sys.argv[1:] if words is None else words
    warnings.formatwarning = lambda message, *rest: f"{prog}: warning: {message}\n"
    try:
        with ended_by_sigterm():
            if words[:1] == ["report"]:
                arguments = tyro.cli(ReportArguments, prog=f"{prog} report", args=words[1:])
                done = report(arguments, Console())
            else:
                done = run(tyro.cli(Arguments, prog=prog, args=words), Console())
    except (ValueError, OSError) as error:
        print(one_line(f"{prog}: {error}"), file=sys.stderr)
        return 2
    except WorkerDied as error:
        print(f"{prog}: a worker has died: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{prog}: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0 if done else 1
