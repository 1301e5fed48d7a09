"""The native VecEnv under Stable-Baselines3 and sb3-contrib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy as evaluate_unmasked
from stable_baselines3.common.preprocessing import preprocess_obs

from pyramid_env import PRESETS, PyramidVectorEnv, sample_actions
from pyramid_env.integrations.sb3 import PlaceEmbedding, PlacePolicy, PyramidVecEnv


def test_it_plays_the_games_of_the_vector_environment() -> None:
    ours = PyramidVectorEnv(8, autoreset_mode="SameStep")
    theirs = PyramidVecEnv(8)
    theirs.seed(3)
    observations, infos = ours.reset(seed=3)
    assert (theirs.reset() == observations).all()
    generator = np.random.default_rng(0)
    n_ended = 0
    for _ in range(200):
        masks = get_action_masks(theirs).reshape(8, -1)
        assert (masks == infos["action_mask"]).all()
        actions = sample_actions(infos["action_mask"], generator)
        observations, rewards, terminated, truncated, infos = ours.step(actions)
        seen, earned, ended, info_list = theirs.step(actions)
        assert (seen == observations).all()
        assert (earned == rewards).all()
        assert (ended == terminated | truncated).all()
        for i in np.flatnonzero(ended):
            n_ended += 1
            assert (info_list[i]["terminal_observation"] == infos["final_obs"][i]).all()
            assert info_list[i]["TimeLimit.truncated"] is False
            assert info_list[i]["episode"]["r"] == infos["final_info"]["pyramid_cards_removed"][i]
            assert info_list[i]["is_success"] == infos["final_info"]["is_success"][i]
        assert all(not info_list[i] for i in np.flatnonzero(~ended))
    assert n_ended > 10


def test_earlier_observations_and_masks_stay_as_they_were() -> None:
    env = PyramidVecEnv(4)
    env.seed(1)
    first = env.reset()
    kept, mask = first.copy(), get_action_masks(env)
    kept_mask = mask.copy()
    env.step(mask.reshape(4, -1).argmax(axis=1))
    assert (first == kept).all()
    assert (mask == kept_mask).all()


@pytest.mark.parametrize(
    ("policy", "kwargs"),
    [("MlpPolicy", {}), (PlacePolicy, {"features_extractor_class": PlaceEmbedding})],
)
def test_maskable_ppo_trains_and_is_evaluated(policy: object, kwargs: dict[str, object]) -> None:
    env = PyramidVecEnv(4)
    assert is_masking_supported(env)
    model = MaskablePPO(
        policy, env, n_steps=32, batch_size=64, policy_kwargs=kwargs, seed=0, device="cpu"
    )
    model.learn(256)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=4, warn=False)
    assert 0 <= mean <= 28


def test_an_evaluation_on_the_way_plays_legal_games_only(tmp_path: Path) -> None:
    env, eval_env = PyramidVecEnv(4), PyramidVecEnv(4)
    evaluation = MaskableEvalCallback(
        eval_env,
        n_eval_episodes=6,
        eval_freq=32,
        log_path=str(tmp_path),
        best_model_save_path=str(tmp_path),
        verbose=0,
    )
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=0, device="cpu")
    model.learn(256, callback=evaluation)
    written = np.load(tmp_path / "evaluations.npz")
    assert written["timesteps"].tolist() == [128, 256]
    assert written["results"].shape == written["ep_lengths"].shape == (2, 6)
    # An illegal action would cost 1: some of these many would show.
    assert (written["results"] >= 0).all()
    assert (written["ep_lengths"] <= PRESETS["kawu"].longest_game).all()
    assert np.array_equal(written["successes"], written["results"] == 28)
    best = MaskablePPO.load(tmp_path / "best_model.zip", device="cpu")
    rewards, lengths = evaluate_policy(
        best, eval_env, n_eval_episodes=6, return_episode_rewards=True
    )
    assert all(0 <= reward <= 28 for reward in rewards)
    assert all(length < 1000 for length in lengths)


def test_plain_sb3_plays_without_masks() -> None:
    env = PyramidVecEnv(4, "kawu-1")
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=64, seed=0, device="cpu")
    model.learn(64)
    _, lengths = evaluate_unmasked(
        model, env, n_eval_episodes=4, return_episode_rewards=True, deterministic=False
    )
    assert all(0 < length <= 1000 for length in lengths)


def test_the_lookup_is_a_linear_layer_over_one_hot_codes() -> None:
    env = PyramidVecEnv(16)
    observations = torch.as_tensor(env.reset())
    embedding = PlaceEmbedding(env.observation_space, 8)
    one_hot = preprocess_obs(observations, env.observation_space)
    expected = one_hot @ embedding.table.weight
    torch.testing.assert_close(embedding(observations), expected)
    of_games = embedding.table(observations.float().reshape(2, 8, -1))
    torch.testing.assert_close(of_games, expected.reshape(2, 8, 8))
    with pytest.raises(ValueError, match="only MultiDiscrete"):
        PlaceEmbedding(env.action_space)


def test_what_the_vec_env_cannot_do_it_says() -> None:
    env = PyramidVecEnv(3)
    env.reset()
    assert env.get_attr("rules", indices=[0, 2]) == [env.games.rules] * 2
    assert env.env_method("action_masks", indices=1)[0].shape == (1, 285)
    with pytest.raises(AttributeError, match="only action_masks"):
        env.env_method("undo")
    with pytest.raises(AttributeError, match="cannot set 'rules'"):
        env.set_attr("rules", None)
    assert not env.has_attr("no_such_thing")


def test_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = PyramidVecEnv(2, render_mode="rgb_array")
    env.reset()
    images = env.get_images()
    assert len(images) == 2
    assert images[0] is not None
    assert images[0].dtype == np.uint8
