"""`python -m pyramid_env sweep`: solve millions of numbered deals into a folder of files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pyramid_env.commands.arguments import add_node_limit, add_objective, add_rules, rules_of
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.solver import Objective
from pyramid_env.solver.sweep import Progress, sweep
from pyramid_env.solver.sweep_files import NONE, Answers, FileFormat
from pyramid_env.workers import Backend, WorkerDied, ended_by_sigterm, extra


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sweep",
        help="solve millions of numbered deals into a folder of files",
        description="Solve numbered deals from their start and write the answers to a folder, one"
        " file a chunk. The same command carries on where a stopped one ended.",
    )
    add_rules(parser)
    add_objective(parser)
    parser.add_argument(
        "--deals", type=_deals, required=True, metavar="FIRST:END", help="numbers, END not included"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--chunk", type=int, default=10_000, metavar="N", help="deals a file")
    parser.add_argument("--format", default="parquet", choices=get_args(FileFormat))
    add_node_limit(parser)
    parser.add_argument(
        "--backend",
        default="loky",
        choices=get_args(Backend),
        help="processes (the default) or threads of this machine, or a Ray cluster",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="chunks solved at once (default: one a core)"
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="of a running cluster (default: RAY_ADDRESS, else one is started on this machine)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Sweep as the arguments say: 0, or 1 when a worker has died."""
    with extra("sweep"):
        from tqdm import tqdm
    count = _Count(arguments.objective, arguments.deals, arguments.chunk)
    try:
        # The delay keeps the bar back where the arguments are refused.
        with (
            ended_by_sigterm(),
            tqdm(total=count.n_asked, unit="deal", smoothing=0, delay=0.1) as bar,
        ):
            _sweep(arguments, lambda answers, is_new: count.show(bar, answers, is_new))
    except WorkerDied as error:
        print(f"pyramid_env sweep: a worker has died: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.out}: {count.n_deals} deals, {count}, {count.n_open} not decided")
    return 0


def _sweep(arguments: argparse.Namespace, progress: Progress) -> None:
    sweep(
        arguments.out,
        rules_of(arguments),
        arguments.objective,
        arguments.deals,
        chunk=arguments.chunk,
        node_limit=arguments.node_limit,
        file_format=arguments.format,
        backend=arguments.backend,
        jobs=arguments.jobs,
        ray_address=arguments.ray_address,
        progress=progress,
    )


class _Count:
    """What a sweep has found so far."""

    def __init__(self, objective: Objective, deals: range, chunk: int) -> None:
        self.n_asked = deals.stop - deals.start
        self.chunk = chunk
        self.least = {"win": 1, "cards": N_SLOTS, "moves": NONE + 1}[objective]
        self.what = "cleared" if objective == "cards" else "won"
        self.n_chunks = self.n_deals = self.n_open = self.n_won = 0

    def show(self, bar: Any, answers: Answers, is_new: bool) -> None:
        """Count a chunk's answers and move the bar on."""
        self.n_chunks += 1
        self.n_deals += len(answers)
        self.n_open += int(np.count_nonzero(answers.status != "PROVED"))
        self.n_won += int(np.count_nonzero(answers.value >= self.least))
        if not is_new:
            bar.initial += len(answers)  # not of this run's pace
        in_all = -(-self.n_asked // self.chunk)
        bar.set_postfix_str(f"{self.n_chunks}/{in_all} chunks, {self}", refresh=False)
        bar.update(len(answers))

    def __str__(self) -> str:
        return f"{self.n_won / self.n_deals:.2%} {self.what}"


def _deals(text: str) -> range:
    """The deals of a text such as ``0:1000``."""
    first, colon, end = text.partition(":")
    if not (colon and first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"{text!r}: give FIRST:END, such as 0:1000")
    return range(int(first), int(end))
