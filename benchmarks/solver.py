"""Time the exact solver on numbered deals, on one core: `python benchmarks/solver.py --help`.

It prints a table, with the ratio to the simplest solver on the first deals, and writes it to
`benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from dataclasses import dataclass

import numpy as np
import tyro
from plain import solve_plainly
from results import peak_memory, save_section

from pyramid_env.game import Game
from pyramid_env.rules import PRESETS
from pyramid_env.solver import Objective, solve

_HEAD = (
    "rules",
    "objective",
    "proved",
    "value",
    "mean ms",
    "median",
    "99 %",
    "99.9 %",
    "max",
    "nodes",
    "memory",
    "plain search",
    "ratio",
)


@dataclass(frozen=True)
class Arguments:
    """Solve the first numbered deals under some presets, and time it in CPU time."""

    deals: int = 1000
    """How many deals, from number 0 on."""

    objectives: tuple[Objective, ...] = ("win", "cards", "moves")
    """Questions to ask."""

    rules: tuple[str, ...] = tuple(PRESETS)
    """Presets to play."""

    plain_deals: int = 20
    """How many of the deals the plain search tries, too."""

    plain_limit: int = 2_000_000
    """Positions after which the plain search gives up; its ratio then is a lower bound."""

    save: bool = True
    """Whether to write benchmarks/RESULTS.md."""


def main() -> None:
    """Print a row a preset and objective, as each is done."""
    arguments = tyro.cli(Arguments)
    lines = ["| " + " | ".join(_HEAD) + " |", "|---|---|" + "---:|" * (len(_HEAD) - 2)]
    print("\n".join(lines))
    # A process for each row, so that its memory can be told.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for rules in arguments.rules:
            for objective in arguments.objectives:
                lines.append(pool.apply(row, (rules, objective, arguments)))
                print(lines[-1])
                sys.stdout.flush()
    note = (
        f"Deals 0 to {arguments.deals - 1}. *Plain search* meets every position once (depth first,"
        f" for moves breadth first); it tried deals 0 to {arguments.plain_deals - 1}, each up to"
        f" {arguments.plain_limit:,} positions, and solved so many of them. *Ratio* is its time"
        " over the solver's on these deals, a lower bound where it gave up. *Memory* is what"
        " solving added to the process at its peak."
    )
    if arguments.save:
        save_section("Solver", "\n".join([*lines, "", note]), ["numba", "numpy"])


def row(rules: str, objective: Objective, arguments: Arguments) -> str:
    """One row of the table; the first deals are solved once before, to compile and warm up."""
    games = [Game(number, rules) for number in range(arguments.deals)]
    for game in games[:5]:
        solve(game, objective)
    memory = peak_memory()
    seconds, nodes, values = [], [], []
    for game in games:
        started = time.process_time()
        solution = solve(game, objective)
        seconds.append(time.process_time() - started)
        nodes.append(solution.nodes)
        values.append(solution.value if solution.is_proved else -1)
    added = peak_memory() - memory
    ms = 1e3 * np.array(seconds)
    ratio, n_solved = _against_plain(games, seconds, values, objective, arguments)
    cells = (
        f"`{rules}`",
        objective,
        sum(value != -1 for value in values),
        _summary(objective, values),
        f"{ms.mean():.3f}",
        f"{np.median(ms):.3f}",
        *(f"{np.percentile(ms, share):.1f}" for share in (99, 99.9)),
        f"{ms.max():.0f}",
        f"{np.mean(nodes):,.0f}",
        f"{added / 2**20:.0f} MiB",
        f"{n_solved}/{arguments.plain_deals}",
        f"{'' if n_solved == arguments.plain_deals else '> '}{ratio:,.0f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _summary(objective: Objective, values: list[bool | int | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.1%} won" if objective == "win" else f"{np.mean(known):.2f} mean"


def _against_plain(
    games: list[Game],
    seconds: list[float],
    values: list[bool | int | None],
    objective: Objective,
    arguments: Arguments,
) -> tuple[float, int]:
    """How much longer the plain search takes on the first deals, and how many it solves."""
    solve_plainly(games[0], objective, 1000)
    n_solved, plain_seconds = 0, 0.0
    for game, value in zip(games[: arguments.plain_deals], values, strict=False):
        started = time.process_time()
        answer = solve_plainly(game, objective, arguments.plain_limit)
        plain_seconds += time.process_time() - started
        if answer is not None:
            n_solved += 1
            if answer[0] != (-1 if value is None else value):
                raise AssertionError(f"{game!r}, {objective}: {answer[0]}, but solved as {value}")
    return plain_seconds / sum(seconds[: arguments.plain_deals]), n_solved


if __name__ == "__main__":
    main()
