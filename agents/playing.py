"""Let an agent play numbered deals, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
    play = _Play(agent, np.array(deals, dtype=np.uint64), rules, min(batch, len(deals)))
    while play.is_playing.any():
        progress(play.step())
    return [game for game in play.games if game is not None], play.seconds / max(play.n_timed, 1)


class _Play:
    """Some rows of games, each filled with the next deal when its game has ended."""

    def __init__(
        self, agent: Agent, numbers: NDArray[np.uint64], rules: Rules, n_rows: int
    ) -> None:
        self.agent = agent
        self.numbers = numbers
        self.table = action_table(rules)
        self.env = PyramidVectorEnv(
            n_rows,
            rules,
            information="thoughtful" if agent.privileged else "fair",
            autoreset_mode=AutoresetMode.DISABLED,
        )
        self.deal_of_row = np.arange(n_rows)  # an index into `numbers`
        self.is_playing = np.ones(n_rows, dtype=np.bool_)
        self.next_deal = n_rows
        self.games: list[PlayedGame | None] = [None] * len(numbers)
        self.actions: list[list[int]] = [[] for _ in numbers]
        self.seconds, self.n_timed, self.n_answers = 0.0, 0, 0
        self.observations, infos = self.env.reset(options={"deal": numbers[self.deal_of_row]})
        self.masks: ActionMasks = infos["action_mask"]

    def step(self) -> int:
        """Play one action in every row; how many games have ended."""
        actions = self.masks.argmax(axis=1)  # rows without a deal play anything legal
        actions[self.is_playing] = self._ask()
        for row in np.flatnonzero(self.is_playing):
            self.actions[self.deal_of_row[row]].append(int(actions[row]))
        self.observations, _, terminated, truncated, infos = self.env.step(actions)
        self.masks = infos["action_mask"]
        ended = terminated | truncated
        finished = np.flatnonzero(ended & self.is_playing)
        for row in finished:
            self._keep(int(row), infos)
        if ended.any():
            options = {"deal": self.numbers[self.deal_of_row], "reset_mask": ended}
            self.observations, infos = self.env.reset(options=options)
            self.masks = infos["action_mask"]
        return len(finished)

    def _ask(self) -> Actions:
        rows = self.is_playing
        started = time.perf_counter()
        deals = self.numbers[self.deal_of_row[rows]]
        actions = _ask(self.agent, self.observations[rows], self.masks[rows], deals)
        if self.n_answers > 0:
            self.seconds += time.perf_counter() - started
            self.n_timed += len(actions)
        self.n_answers += 1
        return actions

    def _keep(self, row: int, infos: dict[str, Any]) -> None:
        """Keep a row's ended game, and give the row the next deal, if any is left."""
        deal = self.deal_of_row[row]
        self.games[deal] = PlayedGame(
            int(self.numbers[deal]),
            bool(infos["is_success"][row]),
            int(infos["pyramid_cards_removed"][row]),
            tuple(str(self.table[action]) for action in self.actions[deal]),
        )
        if self.next_deal < len(self.numbers):
            self.deal_of_row[row] = self.next_deal
            self.next_deal += 1
        else:
            self.is_playing[row] = False


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
