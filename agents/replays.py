"""Pages that replay agents' games, with the probabilities that the agents gave their moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.registry import AgentSpec
from agents.results import read_settings
from pyramid_env.actions import Move, action_table
from pyramid_env.env import PyramidEnv
from pyramid_env.replay import write_replay
from pyramid_env.replay.results import find_game
from pyramid_env.rules import Rules


def write_replays(folder: Path, names: Iterable[str], n_deals: int) -> list[Path]:
    """Write ``replays/NAME-DEAL.html`` for the first deals of an evaluation and some of its agents.

    Returns the paths. The agents' games must be finished. Raises `ValueError` where the folder
    holds no evaluation or an agent is none of it.
    """
    found = read_settings(folder)
    if found is None:
        raise ValueError(f"{folder} holds no evaluation")
    settings, entries = found
    targets = {entry.name: entry.target for entry in entries}
    pages = folder / "replays"
    pages.mkdir(exist_ok=True)
    written = []
    for name in names:
        if name not in targets:
            raise ValueError(f"{folder} has no games of agent {name}, but of {', '.join(targets)}")
        agent = AgentSpec(name, targets[name]).load(settings.rules)
        for deal in settings.deals[:n_deals]:
            moves = find_game(folder, deal, name).moves
            written.append(pages / f"{name}-{deal}.html")
            write_agent_replay(written[-1], agent, settings.rules, deal, moves)
    return written


def write_agent_replay(
    path: Path, agent: Agent, rules: Rules, deal: int, moves: Sequence[str]
) -> None:
    """Write the page of a game that an agent played, with its probabilities where it has them."""
    probabilities = probabilities_along(agent, rules, deal, moves)
    write_replay(path, rules, deal, moves, agent=agent.name, probabilities=probabilities)


def probabilities_along(
    agent: Agent, rules: Rules, deal: int, moves: Sequence[str]
) -> NDArray[np.float64] | None:
    """An agent's probabilities before each move of a game, float64[n_moves, n_actions].

    None for an agent that has none, or a game without moves.
    """
    env = PyramidEnv(rules, information="thoughtful" if agent.privileged else "fair")
    observation, info = env.reset(options={"deal": deal})
    table = action_table(rules)
    observations, masks = [], []
    for move in moves:
        observations.append(observation)
        masks.append(info["action_mask"])
        observation, _, _, _, info = env.step(table.action(Move.parse(move)))
    return agent.probabilities(np.stack(observations), np.stack(masks)) if moves else None
