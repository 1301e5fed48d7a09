"""The three autoreset modes held against Gymnasium's."""

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium import Wrapper
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers
from numpy.typing import NDArray
from playing import (
    DRAW,
    LOST_FROM_THE_START,
    RECYCLE,
    WON,
    assert_same,
    mostly_legal,
    new_envs,
    standing,
)

from pyramid_env.env import PyramidEnv
from pyramid_env.vector_env import PyramidVectorEnv


class GivenDeals(Wrapper[Any, Any, Any, Any]):
    """Deals what is handed on to it."""

    coming: int

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=seed, options={"deal": self.coming})


class TwoVectorEnvs:
    """The native games and the same in Gymnasium's `SyncVectorEnv`, held together."""

    def __init__(self, mode: AutoresetMode) -> None:
        self.mode = mode
        self.native = PyramidVectorEnv(3, "kawu-1", autoreset_mode=mode)
        self.singles = [GivenDeals(PyramidEnv("kawu-1")) for _ in range(3)]
        makers: list[Any] = [lambda env=env: env for env in self.singles]
        self.sync = SyncVectorEnv(makers, autoreset_mode=mode)
        self.listed: Any = wrappers.DictInfoToList(self.native)
        self.sync_listed: Any = wrappers.DictInfoToList(self.sync)

    def reset(self, rows: NDArray[np.bool_], seed: int | None = None) -> None:
        results = self.listed.reset(seed=seed, options={"reset_mask": rows})
        self.hand_on(results, rows)
        self.compare(results, self.sync_listed.reset(options={"reset_mask": rows.copy()}))

    def step(self, actions: NDArray[np.int64], over: NDArray[np.bool_]) -> NDArray[np.bool_]:
        results = self.listed.step(actions)
        ended: NDArray[np.bool_] = results[2] | results[3]
        self.hand_on(results, ended if self.mode == AutoresetMode.SAME_STEP else over)
        self.compare(results, self.sync_listed.step(actions))
        return ended

    def hand_on(self, results: Any, begun: NDArray[np.bool_]) -> None:
        for i in np.flatnonzero(begun):
            self.singles[i].coming = int(results[-1][i]["deal_number"])

    def compare(self, results: Any, expected: Any) -> None:
        for ours, theirs in zip(results[:-1], expected[:-1], strict=True):
            assert_same(ours, theirs)
        for our_info, their_info in zip(results[-1], expected[-1], strict=True):
            assert_same(our_info, their_info)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_autoreset_is_that_of_gymnasium(mode: AutoresetMode) -> None:
    """Games 1 and 2 end often; game 0 is never played on, so it is cut after 1,000 steps."""
    envs = TwoVectorEnvs(mode)
    assert envs.native.metadata["autoreset_mode"] == envs.sync.metadata["autoreset_mode"]
    generator = np.random.default_rng(2)
    over, n_ended = np.zeros(3, dtype=np.bool_), np.zeros(3, dtype=int)
    envs.reset(~over, seed=5)
    for _ in range(1010):
        if mode == AutoresetMode.DISABLED and over.any():
            envs.reset(over)
            over[:] = False
        actions = mostly_legal(envs.native.action_masks(), generator)
        actions[0] = RECYCLE
        over = envs.step(actions, over)
        n_ended += over
    assert n_ended[0] == 1
    assert n_ended[1:].min() > 10


def test_next_step_ignores_the_action_of_an_ended_game_whatever_it_is() -> None:
    envs = new_envs(2, rules="tuts-tomb", deal=[LOST_FROM_THE_START, WON["tuts-tomb"]])
    assert envs.step(np.array([0, DRAW - 30]))[2].tolist() == [True, False]
    for action in (0, -7, 10**12):
        results = copy.deepcopy(envs).step(np.array([action, 0]))
        expected = copy.deepcopy(envs).step(np.array([0, 0]))
        assert_same(results, expected)
        assert results[1].tolist() == [0.0, -1.0]
        assert results[4]["_illegal_action"].tolist() == [False, True]
        assert results[4]["deal_number"][0] >= 2**32


def test_without_autoreset_an_ended_game_waits_for_its_reset() -> None:
    envs = new_envs(2, rules="tuts-tomb", deal=[7, LOST_FROM_THE_START], autoreset_mode="Disabled")
    *_, infos = envs.step(envs.action_masks().argmax(axis=1))
    assert infos["_is_success"].tolist() == [False, True]
    before = standing(envs)
    with pytest.raises(ResetNeeded, match="game 1 is over: reset it"):
        envs.step(np.array([0, 0]))
    assert standing(envs) == before
    observations, infos = envs.reset(options={"reset_mask": np.array([False, True])})
    assert infos["_deal_number"].tolist() == [False, True]
    assert observations[1, :28].tolist() == [card % 13 + 1 for card in envs.deals()[1].cards[:28]]
    assert envs.positions[0] != envs.positions[1] == 2**52 - 1
    assert not envs.step(envs.action_masks().argmax(axis=1))[2].any()
