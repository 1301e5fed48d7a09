"""RLlib: the module never picks what is illegal, and the environment runner plays legal games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from rllib_ppo import Arguments, configuration

from pyramid_env import PyramidVectorEnv
from pyramid_env.integrations.masks import MaskInObservation
from pyramid_env.integrations.rllib import MaskedPolicyModule, make_rllib_env

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of RLlib itself


def new_module() -> MaskedPolicyModule:
    env = make_rllib_env({"rules": "kawu-1"})
    return MaskedPolicyModule(
        observation_space=env.observation_space,
        action_space=env.action_space,
        model_config={"width": 32},
    )


def test_illegal_actions_have_no_probability_and_gradients_are_numbers() -> None:
    envs = MaskInObservation(PyramidVectorEnv(8), "observations", "action_mask", np.float32)
    observations, _ = envs.reset(seed=1)
    batch = {Columns.OBS: {key: torch.as_tensor(value) for key, value in observations.items()}}
    module = new_module()
    outputs = module.forward_train(batch)
    probabilities = outputs[Columns.ACTION_DIST_INPUTS].softmax(-1)
    legal = batch[Columns.OBS]["action_mask"] == 1
    assert (probabilities[~legal] == 0).all()
    assert (probabilities[legal] > 0).all()
    distribution = module.get_train_action_dist_cls().from_logits(
        outputs[Columns.ACTION_DIST_INPUTS]
    )
    (distribution.entropy().sum() + module.compute_values(batch).sum()).backward()
    assert all(torch.isfinite(each.grad).all() for each in module.parameters())
    shared = module.compute_values(batch, outputs[Columns.EMBEDDINGS])
    torch.testing.assert_close(shared, module.compute_values(batch))


def test_what_its_runner_plays_is_legal() -> None:
    arguments = Arguments(num_env_runners=0, envs=4, rules="kawu-1")
    runner = SingleAgentEnvRunner(config=configuration(arguments))
    episodes: list[Any] = runner.sample(num_episodes=6)
    assert len(episodes) >= 6
    for episode in episodes:
        masks = episode.get_observations()["action_mask"]
        actions = np.asarray(episode.get_actions())
        assert masks[np.arange(len(actions)), actions].all()
        assert (np.asarray(episode.get_rewards()) >= 0).all()
        if episode.is_terminated:
            assert masks[-1].all()
            assert episode.get_return() == episode.get_infos(-1)["pyramid_cards_removed"]
    assert any(episode.is_terminated for episode in episodes)


def test_wrong_rules_are_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="unknown rules 'none'"):
        configuration(Arguments(rules="none"))
