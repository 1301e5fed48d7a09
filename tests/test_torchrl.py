"""TorchRL: its own checks, and masked rollouts that are the environment's games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torchrl")

import torch
from torchrl.envs import check_env_specs

from pyramid_env import PyramidEnv, action_table
from pyramid_env.integrations.torchrl import make_torchrl_env
from pyramid_env.observation import position_from_observation

N_STEPS = 150


@pytest.mark.parametrize("num_envs", [None, 1, 5])
@pytest.mark.parametrize("rules", ["kawu", "reserve"])
def test_torchrl_finds_no_fault_in_the_specs(num_envs: int | None, rules: str) -> None:
    env = make_torchrl_env(num_envs, rules)
    env.set_seed(0)
    check_env_specs(env)
    assert env.batch_size == (() if num_envs is None else (num_envs,))
    assert env.action_spec.space.n == len(action_table(env.base_env._env.unwrapped.rules))


@pytest.mark.parametrize("num_envs", [None, 5])
def test_a_random_rollout_plays_whole_legal_games(num_envs: int | None) -> None:
    env = make_torchrl_env(num_envs, "kawu-1", information="thoughtful")
    env.set_seed(0)
    torch.manual_seed(0)
    rollout = env.rollout(N_STEPS, break_when_any_done=False).reshape(-1, N_STEPS)
    action, mask = rollout["action"], rollout["action_mask"]
    assert (rollout["observation"].dtype, mask.dtype) == (torch.int16, torch.bool)
    assert mask.gather(-1, action[..., None]).all()
    assert (rollout["next", "reward"] >= 0).all()
    done = rollout["next", "done"][..., 0]
    assert done.sum() >= len(rollout)
    assert rollout["next", "action_mask"][done].all()
    for game in rollout:
        replay(game)


def replay(rollout: Any) -> None:
    """Play the actions again in the scalar environment, deal after deal."""
    env = PyramidEnv("kawu-1", information="thoughtful")
    is_over = True
    for step in rollout:
        observation = step["observation"].numpy()
        if is_over:  # all that is hidden is shown: suits alone are made up
            _, deal = position_from_observation(observation, env.rules)
            expected, _ = env.reset(options={"deal": deal})
        assert np.array_equal(observation, expected)
        expected, reward, terminated, truncated, info = env.step(int(step["action"]))
        after = step["next"]
        assert np.array_equal(after["observation"], expected)
        assert np.array_equal(after["action_mask"], info["action_mask"])
        assert after["reward"].item() == reward
        assert (after["terminated"].item(), after["truncated"].item()) == (terminated, truncated)
        is_over = after["done"].item()
        assert is_over == terminated


def test_what_the_environments_refuse_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs=0 is not allowed"):
        make_torchrl_env(0)
    with pytest.raises(ValueError, match="unknown rules 'none'"):
        make_torchrl_env(None, "none")
