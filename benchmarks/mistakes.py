"""Where an agent throws won games away: with cards face down, or when all of them are known.

``python benchmarks/mistakes.py greedy`` lets it play winnable training deals up to the first move
that the exact solver says loses. A choice matters where some moves keep the win and some lose it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import tyro
from numpy.typing import NDArray
from results import read_arguments, table

from agents.agent import Agent
from agents.registry import load_agent
from agents.training.labelling import ILLEGAL, NODE_LIMIT
from agents.training.own_games import OwnGames
from pyramid_env.observation import observation_fields
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver.judge import LOST, MOST_NODES, UNDECIDED, WON

SIDE_BY_SIDE = 256


@dataclass(frozen=True)
class Arguments:
    """Count an agent's choices that matter, and which of them lose."""

    agent: Annotated[str, tyro.conf.Positional]
    """What `evaluate.py --agents` takes, such as learned, or mine=policy.safetensors."""

    rules: str = "kawu"
    """Preset to play."""

    games: int = 4000
    """How many winnable training deals."""

    seed: int = 77
    """Which ones."""

    node_limit: int = NODE_LIMIT
    """Positions that the solver may meet for one word."""


@dataclass
class Count:
    """The choices that matter of one kind."""

    choices: int = 0
    wrong: int = 0

    def add(self, rows: NDArray[np.bool_], is_wrong: NDArray[np.bool_]) -> None:
        """Count the choices of some rows."""
        self.choices += int(rows.sum())
        self.wrong += int((rows & is_wrong).sum())

    def row(self, name: str, n_games: int) -> tuple[str, ...]:
        """A line of the table."""
        share = self.wrong / max(self.choices, 1)
        return name, f"{self.choices / n_games:.2f}", f"{share:.1%}", f"{self.wrong / n_games:.1%}"


def matters(words: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Where some moves lose and others do not: they keep the win, or may."""
    keeps = (words == WON).any(axis=1) | (words == UNDECIDED).any(axis=1)
    found: NDArray[np.bool_] = keeps & (words == LOST).any(axis=1)
    return found


def count_mistakes(agent: Agent, rules: Rules, arguments: Arguments) -> tuple[Count, Count, int]:
    """The choices with cards face down, those in the open, and the games that were played."""
    games = OwnGames(SIDE_BY_SIDE, rules, seed=arguments.seed, node_limit=arguments.node_limit)
    unseen = observation_fields(rules).unseen
    hidden, in_the_open, n_games = Count(), Count(), 0
    actions = np.full(SIDE_BY_SIDE, -1, np.int64)
    while n_games < arguments.games:
        games.advance(actions)
        n_games += int(games.ended.sum())
        masks = (games.words != ILLEGAL).astype(np.int8)
        actions = agent.act_batch(games.observations, masks)
        is_wrong = games.words[np.arange(SIDE_BY_SIDE), actions] == LOST
        is_hidden = games.observations[:, unseen].any(axis=1)
        rows = matters(games.words)
        hidden.add(rows & is_hidden, is_wrong)
        in_the_open.add(rows & ~is_hidden, is_wrong)
    return hidden, in_the_open, n_games


def main() -> None:
    arguments = read_arguments(Arguments)
    try:
        rules = get_rules(arguments.rules)
        agent = load_agent(arguments.agent, rules)
        if agent.privileged:
            raise ValueError(f"{arguments.agent} needs to see the hidden cards: give a fair agent")
        if arguments.node_limit > MOST_NODES:
            raise ValueError(
                f"--node-limit {arguments.node_limit} is not allowed: 1 to {MOST_NODES}"
            )
    except (ValueError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    hidden, in_the_open, n_games = count_mistakes(agent, rules, arguments)
    head = ("", "choices that matter, a game", "wrong", "games lost by one")
    rows = [hidden.row("cards face down", n_games), in_the_open.row("all cards known", n_games)]
    print(table(head, rows))


if __name__ == "__main__":
    main()
