"""Time the exact solver on numbered deals, on one core: `python benchmarks/solver.py --help`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import tyro

from pyramid_env.game import Game
from pyramid_env.rules import PRESETS
from pyramid_env.solver import Objective, solve


@dataclass(frozen=True)
class Arguments:
    """Solve the first numbered deals under some presets, and print a table of CPU times."""

    deals: int = 1000
    """How many deals, from number 0 on."""

    objectives: tuple[Objective, ...] = ("win", "cards")
    """Questions to ask."""

    rules: tuple[str, ...] = tuple(PRESETS)
    """Presets to play."""


def main() -> None:
    """Print a row a preset and objective, as each is done."""
    arguments = tyro.cli(Arguments)
    print("| rules | objective | proved | value | mean ms | median | 99 % | max | nodes a deal |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for rules in arguments.rules:
        for objective in arguments.objectives:
            print(row(rules, objective, arguments.deals))
            sys.stdout.flush()


def row(rules: str, objective: Objective, n_deals: int) -> str:
    """One row of the table; the first deals are solved once before, to compile and warm up."""
    for number in range(5):
        solve(Game(number, rules), objective)
    seconds, nodes, values = [], [], []
    for number in range(n_deals):
        game = Game(number, rules)
        started = time.process_time()
        solution = solve(game, objective)
        seconds.append(time.process_time() - started)
        nodes.append(solution.nodes)
        if solution.is_proved and solution.value is not None:
            values.append(solution.value)
    ms = 1e3 * np.array(seconds)
    shown = f"{np.mean(values):.1%} won" if objective == "win" else f"{np.mean(values):.2f} mean"
    proved = len(values) if objective != "moves" else "-"
    return (
        f"| `{rules}` | {objective} | {proved} | {shown} | {ms.mean():.3f} | {np.median(ms):.3f} |"
        f" {np.percentile(ms, 99):.2f} | {ms.max():.1f} | {np.mean(nodes):.0f} |"
    )


if __name__ == "__main__":
    main()
