"""Games that last as long as they can be won: a lost win costs at the very move that loses it.

The solver's word as a potential (Ng, Harada and Russell, "Policy Invariance under Reward
Transformations", ICML 1999): 1 where it finds that the deal, hidden cards included, can still be
won. Which policy is best does not change by it, whatever the student can see; what changes is that
it need not find out which of thirty moves lost. From there on nothing more can be earned, so the
game ends; and deals that cannot be won are not begun.
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
    """Winnable games, up to the win or the move that throws it away.

    A move earns 1 for winning, and the change of the potential, which is 1 until the end and 0
    after it; `gamma` is the learner's discount. The statistics under `episode` are of the wins
    alone.
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
        self._all = np.ones(num_envs, np.bool_)

    def reset(self) -> NDArray[np.int16]:
        """As `PyramidVecEnv.reset`."""
        observations = super().reset()
        return self._deal_until_winnable(self._lost(self._all), observations)

    def step_wait(self) -> VecEnvStepReturn:
        """As `PyramidVecEnv.step_wait`; a game that cannot be won any more has ended."""
        observations: Any
        observations, rewards, ended, infos = super().step_wait()
        is_lost = self._lost(self._all)
        thrown = is_lost & ~ended
        for i in np.flatnonzero(thrown).tolist():
            infos[i] = self._end(i, observations[i].copy(), truncated=False, is_success=False)
        ended = ended | thrown
        shaped = rewards + self._gamma * ~ended - 1
        return self._deal_until_winnable(is_lost, observations), shaped, ended, infos

    def _lost(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the chosen games cannot be won."""
        found = np.zeros(self.num_envs, np.bool_)
        games = self.games
        _judge_all(rows, games.positions, games.cards, self._rules, self._judge, found)
        return found

    def _deal_until_winnable(
        self, rows: NDArray[np.bool_], observations: NDArray[np.int16]
    ) -> NDArray[np.int16]:
        """Begin the chosen games anew, with the next of their deals that can be won."""
        while rows.any():
            observations, infos = self.games.reset(options={"reset_mask": rows})
            self._masks = infos["action_mask"]
            rows = self._lost(rows)
        return observations


@kernel
def _judge_all(
    rows: Any, positions: Any, cards: Any, rules_array: Any, judge: Any, is_lost: Any
) -> None:
    for i in range(positions.size):
        row = np.uint64(i)
        if rows[row]:
            take_up(cards[row], judge)
            is_lost[row] = can_win(positions[row], NODE_LIMIT, rules_array, judge) != WON
