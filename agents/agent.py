"""What an agent is: something that maps an observation and an action mask to an action."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Observations = NDArray[np.int16]
ActionMasks = NDArray[np.int8]
Actions = NDArray[np.int64]

Policy = Callable[[NDArray[np.int16], NDArray[np.int8]], Any]
"""One observation and its action mask to one legal action, an integer of any kind."""


class Agent(ABC):
    """A player. Subclass it with a `name` and `act_batch`; `act` follows.

    An observation says all that a fair player can know (see `pyramid_env.observation`), so agents
    need no memory between calls.
    """

    name: str
    """What tables and files call it."""

    privileged: bool = False
    """Whether it must be shown the hidden cards (`information="thoughtful"`)."""

    @abstractmethod
    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """One legal action a row: int16[n, size] and int8[n, n_actions] to int64[n]."""

    def act(self, observation: Observations, action_mask: ActionMasks) -> int:
        """One legal action for one observation."""
        return int(self.act_batch(observation[None], action_mask[None])[0])

    def probabilities(
        self, observations: Observations, action_masks: ActionMasks
    ) -> NDArray[np.float64] | None:
        """How likely it held each action, float64[n, n_actions]; None for who has no such figures.

        Replays show them.
        """
        return None

    def seed(self, seed: int) -> None:  # noqa: B027 - most agents have no chance in them
        """Draw from here on as `seed` says; override it where an agent draws at random.

        A comparison calls it before each share of the deals, so that the games come out the same
        however many processes play them.
        """


class FunctionAgent(Agent):
    """A function from one observation and one action mask to an action, as an agent.

    It is privileged if the function has an attribute `privileged` that is true.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        self.name = name
        self.privileged = bool(getattr(policy, "privileged", False))
        self._policy = policy

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """Ask the function row by row."""
        rows = zip(observations, action_masks, strict=True)
        return np.array([operator.index(self._policy(*row)) for row in rows], dtype=np.int64)
