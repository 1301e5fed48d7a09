"""Let an agent play numbered deals, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from agents.agent import ActionMasks, Actions, Agent, Observations
from pyramid_env.actions import action_table
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv


@dataclass(frozen=True)
class PlayedGame:
    """How an agent's game of one numbered deal went."""

    deal: int
    """The deal's number."""

    won: bool
    """Whether the goal was reached."""

    cards: int
    """Pyramid cards removed, 0 to 28."""

    moves: tuple[str, ...]
    """The moves as text; `Game.replay(rules, deal, moves)` plays them again."""


def play_deals(
    agent: Agent,
    deals: Sequence[int],
    rules: Rules,
    *,
    batch: int = 256,
    progress: Callable[[int], None] = lambda finished: None,
) -> tuple[list[PlayedGame], float]:
    """Play each deal once: the games in the order of `deals`, and the agent's seconds a move.

    The agent's first answer is not timed, since it may compile or load something. `progress` is
    called with the number of games that have just ended. Raises `ValueError` naming agent and deal
    when the agent answers an illegal action.
    """
    if not deals:
        raise ValueError("no deals to play: give at least one number")
    numbers = np.array(deals, dtype=np.uint64)
    n_games = min(batch, len(numbers))
    env = PyramidVectorEnv(
        n_games,
        rules,
        information="thoughtful" if agent.privileged else "fair",
        autoreset_mode=AutoresetMode.DISABLED,
    )
    playing = np.arange(n_games)  # the deal of each row, an index into `numbers`
    is_playing = np.ones(n_games, dtype=np.bool_)
    next_deal = n_games
    observations, infos = env.reset(options={"deal": numbers[playing]})
    actions_of: list[list[int]] = [[] for _ in numbers]
    games: list[PlayedGame | None] = [None] * len(numbers)
    seconds, n_moves, n_answers = 0.0, 0, 0

    while is_playing.any():
        masks: ActionMasks = infos["action_mask"]
        actions = masks.argmax(axis=1)  # rows without a deal play anything legal
        started = time.perf_counter()
        actions[is_playing] = _ask(
            agent, observations[is_playing], masks[is_playing], numbers[playing[is_playing]]
        )
        if n_answers > 0:
            seconds += time.perf_counter() - started
            n_moves += int(is_playing.sum())
        n_answers += 1
        for row in np.flatnonzero(is_playing):
            actions_of[playing[row]].append(int(actions[row]))
        observations, _, terminated, truncated, infos = env.step(actions)
        ended = terminated | truncated
        if not ended.any():
            continue
        finished = np.flatnonzero(ended & is_playing)
        for row in finished:
            deal = playing[row]
            games[deal] = PlayedGame(
                int(numbers[deal]),
                bool(infos["is_success"][row]),
                int(infos["pyramid_cards_removed"][row]),
                tuple(str(action_table(rules)[action]) for action in actions_of[deal]),
            )
            if next_deal < len(numbers):
                playing[row] = next_deal
                next_deal += 1
            else:
                is_playing[row] = False
        progress(len(finished))
        observations, infos = env.reset(options={"deal": numbers[playing], "reset_mask": ended})
    return [game for game in games if game is not None], seconds / max(n_moves, 1)


def _ask(
    agent: Agent, observations: Observations, masks: ActionMasks, deals: NDArray[np.uint64]
) -> Actions:
    """The agent's actions, checked."""
    actions = np.asarray(agent.act_batch(observations, masks))
    if actions.shape != (len(masks),) or actions.dtype.kind not in "iu":
        raise ValueError(
            f"agent {agent.name} answered {actions.dtype} of shape {actions.shape}, not"
            f" {len(masks)} integers"
        )
    in_range = (actions >= 0) & (actions < masks.shape[1])
    legal = in_range & (masks[np.arange(len(masks)), np.where(in_range, actions, 0)] != 0)
    if not legal.all():
        row = int(legal.argmin())
        raise ValueError(
            f"agent {agent.name} answered action {actions[row]} in deal {deals[row]}: it is illegal"
        )
    return actions.astype(np.int64)
