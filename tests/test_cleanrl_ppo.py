"""The single-file PPO: its rollouts and advantages hold against the games that were played."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from cleanrl_ppo import Arguments, Network, Player, Steps, advantages, loss_of

from pyramid_env import PyramidVectorEnv

ARGUMENTS = Arguments(envs=6, rollout=150, rules="kawu-1")


def play(**arguments: Any) -> tuple[Steps, torch.Tensor]:
    torch.manual_seed(0)
    env = PyramidVectorEnv(ARGUMENTS.envs, ARGUMENTS.rules, **arguments)
    return Player(ARGUMENTS, env, Network(env)).rollout()


def test_a_dummy_step_follows_each_end_and_is_no_part_of_a_game() -> None:
    steps, _ = play()
    ended = steps.terminated | steps.truncated
    assert ended.sum() > ARGUMENTS.envs
    assert not steps.is_dummy[0].any()
    assert torch.equal(steps.is_dummy[1:], ended[:-1])
    assert not (steps.is_dummy & ended).any()
    assert (steps.rewards[steps.is_dummy] == 0).all()
    pyramid = steps.observations[..., :28]
    begun = steps.is_dummy[:-1]  # the step after the dummy shows a fresh deal
    assert (pyramid[1:][begun] > 0).all()
    is_legal = steps.masks.gather(-1, steps.actions[..., None])[..., 0]
    assert is_legal.all()
    assert (steps.rewards >= 0).all()


@pytest.mark.parametrize("limit", [None, 30])
def test_without_discount_an_advantage_is_what_is_still_earned(limit: int | None) -> None:
    steps, next_values = play(max_episode_steps=limit)
    estimates = advantages(steps, next_values, gamma=1.0, gae_lambda=1.0)
    for i in range(ARGUMENTS.envs):
        to_go = 0.0
        value = next_values[i].item()  # of the observation after the step
        for t in reversed(range(ARGUMENTS.rollout)):
            if steps.terminated[t, i]:
                to_go = 0.0
            elif steps.truncated[t, i] or t == ARGUMENTS.rollout - 1:
                to_go = value
            to_go += steps.rewards[t, i].item()
            value = steps.values[t, i].item()
            if not steps.is_dummy[t, i]:
                assert estimates[t, i].item() == pytest.approx(to_go - value, abs=1e-4)
    assert steps.truncated.any() == (limit is not None)


def test_with_a_lambda_of_zero_an_advantage_looks_one_step_ahead() -> None:
    steps, next_values = play()
    estimates = advantages(steps, next_values, gamma=0.5, gae_lambda=0.0)
    after = torch.cat([steps.values[1:], next_values[None]])
    expected = steps.rewards + 0.5 * after * ~steps.terminated - steps.values
    torch.testing.assert_close(estimates, expected)


def test_a_last_batch_of_one_transition_is_learned_from() -> None:
    env = PyramidVectorEnv(ARGUMENTS.envs, ARGUMENTS.rules)
    network = Network(env)
    steps, _ = Player(ARGUMENTS, env, network).rollout()
    one = Steps(*(tensor[0, :1] for tensor in steps))
    loss = loss_of(ARGUMENTS, network, one, torch.ones(1))
    loss.backward()
    assert all(torch.isfinite(each.grad).all() for each in network.parameters())
