"""The two simple players: uniformly random moves, and the greedy hint."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import ActionMasks, Actions, Agent, Observations
from pyramid_env.actions import sample_actions
from pyramid_env.cards import N_CARDS, N_RANKS
from pyramid_env.engine import compile_rules, find_rank_bits
from pyramid_env.hint import hint
from pyramid_env.jit import kernel
from pyramid_env.observation import decode
from pyramid_env.rules import Rules, get_rules


class RandomAgent(Agent):
    """Plays a legal action drawn uniformly."""

    def __init__(self, seed: int = 0) -> None:
        self.name = "random"
        self._generator = np.random.default_rng(seed)

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """Draw one legal action a row."""
        return sample_actions(action_masks, self._generator)

    def probabilities(
        self, observations: Observations, action_masks: ActionMasks
    ) -> NDArray[np.float64]:
        """The same for every legal action."""
        shares: NDArray[np.float64] = action_masks / action_masks.sum(axis=1, keepdims=True)
        return shares

    def seed(self, seed: int) -> None:
        """Draw from here on as `seed` says."""
        self._generator = np.random.default_rng(seed)


class GreedyAgent(Agent):
    """Plays the greedy hint (`pyramid_env.hint`), which is fair."""

    def __init__(self, rules: str | Rules = "kawu") -> None:
        self.name = "greedy"
        self._rules = compile_rules(get_rules(rules))

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """The hint for each row."""
        actions = np.empty(len(observations), dtype=np.int64)
        _hints(observations, self._rules, actions)
        # With unlimited passes the unseen cards decide whether a game is lost. The hint, which
        # knows nothing of them, may think so where one can still draw.
        return np.where(actions < 0, action_masks.argmax(axis=1), actions)


@kernel
def _hints(observations: Any, rules: Any, actions: Any) -> None:
    cards = np.empty(N_CARDS, np.uint8)
    rank_bits = np.empty(N_RANKS + 1, np.uint64)
    for i in range(observations.shape[0]):
        position = decode(observations[i], rules[0], cards)
        find_rank_bits(cards, rank_bits)
        actions[i] = hint(position, rank_bits, rules[0])
