"""Let an agent play numbered deals, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from agents.agent import ActionMasks, Actions, Agent, Observations
from pyramid_env.actions import ActionTable, action_table
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv

LONGEST_ERROR = 300
"""Characters kept of what an agent raised."""


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

    error: str = ""
    """Why the game broke off: what the agent raised, or its illegal answer."""

    seconds: float = field(default=0.0, compare=False)
    """How long the agent took for its moves; an equal share of each batch of answers."""


class AgentError(ValueError):
    """An agent raised, or answered an illegal action; the text names agent and deal."""


def play_deals(
    agent: Agent,
    deals: Sequence[int],
    rules: Rules,
    *,
    batch: int = 256,
    errors: Literal["raise", "keep"] = "raise",
    progress: Callable[[int], None] = lambda finished: None,
    stop: Event | None = None,
) -> tuple[list[PlayedGame], float]:
    """Play each deal once: the games in the order of `deals`, and the agent's seconds a move.

    `progress` is called with the number of games that have just ended. When the agent raises or
    answers an illegal action, `errors` says whether to raise `AgentError`, or to break that game
    off, not won, and to keep the reason. Setting `stop` ends it all with `InterruptedError`.
    """
    if not deals:
        raise ValueError("no deals to play: give at least one number")
    play = _Play(agent, np.array(deals, dtype=np.uint64), rules, min(batch, len(deals)))
    while play.is_playing.any():
        if stop is not None and stop.is_set():
            raise InterruptedError
        progress(play.step(errors == "raise"))
    games = [game for game in play.games if game is not None]
    n_moves = sum(len(game.moves) for game in games)
    return games, float(play.seconds.sum()) / max(n_moves, 1)


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
        self.seconds = np.zeros(len(numbers))
        self.observations, self.infos = self.env.reset(options={"deal": numbers[self.deal_of_row]})

    def step(self, raise_errors: bool) -> int:
        """Play one action in every row; how many games have ended."""
        actions: Actions = self.infos["action_mask"].argmax(axis=1)  # idle rows play what is legal
        rows = np.flatnonzero(self.is_playing).tolist()
        actions[rows], failures = self._ask(rows)
        for row, reason in failures.items():
            if raise_errors:
                deal = self.numbers[self.deal_of_row[row]]
                raise AgentError(f"agent {self.agent.name}, deal {deal}: {reason}")
            self._keep(row, False, reason)
        for row in rows:
            if row not in failures:
                self.actions[self.deal_of_row[row]].append(int(actions[row]))
        self.observations, _, terminated, truncated, self.infos = self.env.step(actions)
        ended = terminated | truncated
        finished = [row for row in rows if ended[row] and row not in failures]
        for row in finished:
            self._keep(row, bool(self.infos["is_success"][row]))
        ended[list(failures)] = True
        self._deal_next(ended)
        return len(finished) + len(failures)

    def _ask(self, rows: list[int]) -> tuple[Actions, dict[int, str]]:
        """The agent's answers for some rows, and what was wrong by row."""
        started = time.perf_counter()
        answers, failures = ask(
            self.agent, self.observations[rows], self.infos["action_mask"][rows], self.table
        )
        self.seconds[self.deal_of_row[rows]] += (time.perf_counter() - started) / len(rows)
        return answers, {rows[i]: reason for i, reason in failures.items()}

    def _keep(self, row: int, won: bool, error: str = "") -> None:
        """Keep a row's game as it stands."""
        deal = self.deal_of_row[row]
        self.games[deal] = PlayedGame(
            int(self.numbers[deal]),
            won,
            int(self.infos["pyramid_cards_removed"][row]),
            tuple(str(self.table[action]) for action in self.actions[deal]),
            error,
            float(self.seconds[deal]),
        )

    def _deal_next(self, ended: NDArray[np.bool_]) -> None:
        """Give the rows whose game has ended the next deal, while any is left."""
        if not ended.any():
            return
        for row in np.flatnonzero(ended & self.is_playing):
            if self.next_deal < len(self.numbers):
                self.deal_of_row[row] = self.next_deal
                self.next_deal += 1
            else:
                self.is_playing[row] = False
        options: dict[str, Any] = {"deal": self.numbers[self.deal_of_row], "reset_mask": ended}
        self.observations, self.infos = self.env.reset(options=options)


def ask(
    agent: Agent, observations: Observations, masks: ActionMasks, table: ActionTable
) -> tuple[Actions, dict[int, str]]:
    """An agent's answers, int64[n], and what was wrong with them by row.

    When it raises it is asked again row by row, which tells the games it cannot play. Rows that
    are wrong have some legal action.
    """
    actions: Actions = masks.argmax(axis=1)
    answers, problem = _answers(agent, observations, masks)
    if problem and len(masks) == 1:
        return actions, {0: problem}
    failures: dict[int, str] = {}
    if problem:
        for row in range(len(masks)):
            [actions[row]], wrong = ask(agent, observations[[row]], masks[[row]], table)
            if wrong:
                failures[row] = wrong[0]
        return actions, failures
    in_range = (answers >= 0) & (answers < masks.shape[1])
    legal = in_range & (masks[np.arange(len(masks)), np.where(in_range, answers, 0)] != 0)
    actions[legal] = answers[legal]
    for row in np.flatnonzero(~legal).tolist():
        move = f" ({table[int(answers[row])]})" if in_range[row] else ""
        failures[row] = f"answered action {answers[row]}{move}, which is illegal"
    return actions, failures


def _answers(
    agent: Agent, observations: Observations, masks: ActionMasks
) -> tuple[NDArray[Any], str]:
    """What an agent answers, and what is wrong with it as a whole, in one line."""
    try:
        # Copies: what an agent writes to its mask makes no action legal.
        answers = np.asarray(agent.act_batch(observations.copy(), masks.copy()))
    except Exception as error:  # an agent raises whatever it likes
        text = " ".join(f"raised {type(error).__name__}: {error}".split())
        return np.empty(0), text[:LONGEST_ERROR]
    if answers.shape == (len(masks),) and answers.dtype.kind in "iu":
        return answers, ""
    shape = answers.shape
    return answers, f"answered {answers.dtype} of shape {shape}, not {len(masks)} integers"
