"""What an agent is: something that maps an observation and an action mask to an action."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Observations = NDArray[np.int16]
ActionMasks = NDArray[np.int8]
Actions = NDArray[np.int64]


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
