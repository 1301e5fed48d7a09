"""The solver's word as a potential: a win that is thrown away costs at the very move that does it.

Ng, Harada and Russell, "Policy Invariance under Reward Transformations", ICML 1999. The potential
of a position is 1 where the solver finds that its deal, hidden cards included, can still be won.
Which policy is best does not change by it, whatever the student can see; what changes is that it
need not find out which of thirty moves lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from pyramid_env.engine import compile_rules
from pyramid_env.integrations.sb3 import PyramidVecEnv
from pyramid_env.jit import kernel
from pyramid_env.observation import Information
from pyramid_env.rules import Rules
from pyramid_env.solver.judge import WON, can_win, new_judge, take_up

NODE_LIMIT = 1000
"""Positions that the solver may meet for one word; what it leaves undecided counts as lost."""


class ShapedVecEnv(PyramidVecEnv):
    """Games that earn 1 for winning, and the change of the potential at every move.

    `gamma` is the learner's discount. The statistics under `episode` are of the wins alone.
    """

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "kawu",
        *,
        gamma: float,
        information: Information = "fair",
    ) -> None:
        super().__init__(num_envs, rules, information=information, reward="win")
        self._gamma = gamma
        self._rules = compile_rules(self.games.rules)
        self._judge = new_judge(self.games.rules)
        self._potentials = np.zeros(num_envs)

    def reset(self) -> NDArray[np.int16]:
        """As `PyramidVecEnv.reset`."""
        observations = super().reset()
        self._potentials = self._potentials_now()
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        """As `PyramidVecEnv.step_wait`; an ended game's potential is 0."""
        observations, rewards, ended, infos = super().step_wait()
        before, self._potentials = self._potentials, self._potentials_now()
        after = np.where(ended, 0, self._potentials)
        return observations, rewards + self._gamma * after - before, ended, infos

    def set_state(self, state: dict[str, NDArray[Any]]) -> NDArray[np.int16]:
        """As `PyramidVecEnv.set_state`."""
        observations = super().set_state(state)
        self._potentials = self._potentials_now()
        return observations

    def _potentials_now(self) -> NDArray[np.float64]:
        potentials = np.empty(self.num_envs)
        games = self.games
        _judge_all(games.positions, games.cards, self._rules, self._judge, potentials)
        return potentials


@kernel
def _judge_all(positions: Any, cards: Any, rules_array: Any, judge: Any, potentials: Any) -> None:
    for i in range(positions.size):
        row = np.uint64(i)
        take_up(cards[row], judge)
        potentials[row] = can_win(positions[row], NODE_LIMIT, rules_array, judge) == WON
