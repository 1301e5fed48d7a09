"""What each part of the fair search is worth, on the same training deals.

``python benchmarks/search.py kawu`` lets every variant play the first winnable training deals, on
one core: the share that each wins, its difference from the search as it is, deal by deal, and its
CPU time. Here the search's weights were chosen.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray
from results import read_arguments, table

from agents.agent import ActionMasks, Actions, Agent, Observations
from agents.baselines import GreedyAgent
from agents.playing import play_deals
from agents.search import SearchAgent, Weights
from agents.solver import SolverAgent
from agents.statistics import Z_95, wilson_interval
from pyramid_env.engine import compile_rules
from pyramid_env.game import Game
from pyramid_env.observation import observation_fields
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver import solve

FIRST = 2**40
"""The first training deal that is looked at."""


class LookFirst(Agent):
    """Draws until all cards have been seen, and plays perfectly from there."""

    name = "look first"

    def __init__(self, rules: Rules) -> None:
        self._unseen = observation_fields(rules).unseen
        self._solver = SolverAgent(rules)
        self._draw = int(compile_rules(rules)[0]["draw_action"])

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """Row by row."""
        hidden = observations[:, self._unseen].any(axis=1)
        actions = np.full(len(observations), self._draw)
        actions[~hidden] = self._solver.act_batch(observations[~hidden], action_masks[~hidden])
        return actions


def variant(weights: Weights | None = None, **arguments: Any) -> partial[SearchAgent]:
    """Makes a search that differs from the one that was kept."""
    return partial(SearchAgent, weights=weights or Weights(), **arguments)


TRIED: Mapping[str, Any] = {
    "the search": variant(),
    "4 orders": variant(samples=4),
    "16 orders": variant(samples=16),
    "256 orders": variant(samples=256),
    "vote alone": variant(Weights(delayed=0)),
    "delayed vote alone": variant(Weights(vote=0)),
    "delayed vote counts double": variant(Weights(delayed=2)),
    "ties to the hint": variant(Weights(draw_on=False)),
    "dropped at 2 standard errors": variant(Weights(certain=2.0)),
    "no move dropped": variant(Weights(certain=1e6)),
    "300 positions a question": variant(node_limit=300),
    "look first": LookFirst,
    "the hint": GreedyAgent,
}


@dataclass(frozen=True)
class Arguments:
    """Compare variants of the fair search on winnable training deals."""

    rules: Annotated[str, tyro.conf.Positional]
    """Preset to play."""

    deals: int = 300
    """How many winnable deals."""

    variants: tuple[str, ...] = tuple(TRIED)
    """Which of them; the first is what the others are compared with."""


def winnable(rules: Rules) -> Iterator[int]:
    """Training deals that can be won by who sees all cards."""
    return (number for number in count(FIRST) if solve(Game(number, rules), "win").value)


def play(agent: Agent, deals: list[int], rules: Rules) -> tuple[NDArray[np.bool_], float]:
    """Which deals an agent wins, and its CPU seconds a deal, compiling and loading left out."""
    play_deals(agent, [FIRST - 1], rules)
    started = time.process_time()
    games, _ = play_deals(agent, deals, rules)
    return np.array([game.won for game in games]), (time.process_time() - started) / len(deals)


def row(
    name: str, won: NDArray[np.bool_], first: NDArray[np.bool_], seconds: float
) -> tuple[str, ...]:
    """A line of the table."""
    low, high = wilson_interval(int(won.sum()), won.size)
    difference = won.astype(int) - first
    half = Z_95 * difference.std() / math.sqrt(won.size)
    return (
        name,
        f"{won.mean():.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{100 * difference.mean():+.1f} ±{100 * half:.1f}",
        f"{1000 * seconds:.0f}",
    )


def main() -> None:
    arguments = read_arguments(Arguments)
    try:
        rules = get_rules(arguments.rules)
        for name in arguments.variants:
            if name not in TRIED:
                raise ValueError(f"--variants {name!r}: give some of {', '.join(TRIED)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    deals = list(islice(winnable(rules), arguments.deals))
    rows: list[tuple[str, ...]] = []
    first: NDArray[np.bool_] | None = None
    for name in arguments.variants:
        won, seconds = play(TRIED[name](rules), deals, rules)
        first = won if first is None else first
        rows.append(row(name, won, first, seconds))
        print(*rows[-1], sep="  ", flush=True)
    head = ("variant", "won", "95 % interval", "difference, points", "CPU ms a deal")
    print("", table(head, rows), sep="\n")


if __name__ == "__main__":
    main()
