"""The action mask in the observation: the same games, with the mask where libraries look for it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv

from pyramid_env import sample_actions
from pyramid_env.integrations.masks import MaskInObservation

ID = "pyramid_env/Pyramid-v0"
STYLES = [
    ("observation", "action_mask", np.int8),  # PettingZoo
    ("observations", "action_mask", np.float32),  # RLlib
    ("obs", "mask", bool),  # Tianshou
]


def make_vec(kind: str, mode: AutoresetMode, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    how: dict[str, Any] = (
        {"autoreset_mode": mode}
        if kind == "vector_entry_point"
        else {"vector_kwargs": {"autoreset_mode": mode}}
    )
    return gymnasium.make_vec(ID, num_envs=4, vectorization_mode=kind, **how, **arguments)


@pytest.mark.parametrize(("observation_key", "mask_key", "dtype"), STYLES)
def test_a_whole_game_is_observed_with_its_masks(
    observation_key: str, mask_key: str, dtype: Any
) -> None:
    plain = gymnasium.make(ID)
    env = MaskInObservation(gymnasium.make(ID), observation_key, mask_key, dtype)
    expected, info = plain.reset(seed=3)
    observation, _ = env.reset(seed=3)
    generator = np.random.default_rng(0)
    is_over = False
    while True:
        assert observation in env.observation_space
        assert set(observation) == {observation_key, mask_key}
        assert np.array_equal(observation[observation_key], expected)
        assert observation[mask_key].dtype == np.dtype(dtype)
        assert np.array_equal(observation[mask_key], info["action_mask"])
        if is_over:
            break
        action = int(sample_actions(info["action_mask"][None], generator)[0])
        expected, reward, terminated, truncated, info = plain.step(action)
        observation, *others = env.step(action)
        assert others[:3] == [reward, terminated, truncated]
        is_over = terminated or truncated
    assert observation[mask_key].all()


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasium_finds_no_fault_in_it() -> None:
    check_env(MaskInObservation(gymnasium.make(ID).unwrapped), skip_render_check=True)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("kind", ["vector_entry_point", "sync", "async"])
def test_vector_environments_observe_the_masks_of_their_infos(
    kind: str, mode: AutoresetMode
) -> None:
    plain = make_vec(kind, mode, rules="kawu-1")
    envs = MaskInObservation(make_vec(kind, mode, rules="kawu-1"), "obs", "mask", bool)
    assert envs.single_observation_space["mask"] == Box(0, 1, (285,), np.bool_)  # type: ignore[index]
    expected, expected_infos = plain.reset(seed=1)
    observations, infos = envs.reset(seed=1)
    generator = np.random.default_rng(0)
    n_ended = 0
    for _ in range(120):
        assert observations in envs.observation_space
        assert np.array_equal(observations["obs"], expected)
        assert np.array_equal(observations["mask"], expected_infos["action_mask"])
        actions = sample_actions(expected_infos["action_mask"], generator)
        expected, rewards, terminated, truncated, expected_infos = plain.step(actions)
        observations, *others, infos = envs.step(actions)
        for mine, other in zip((rewards, terminated, truncated), others, strict=True):
            assert np.array_equal(mine, other)
        ended = terminated | truncated
        n_ended += ended.sum()
        if mode == AutoresetMode.SAME_STEP:
            for i in np.flatnonzero(ended):
                final = infos["final_obs"][i]
                assert final in envs.single_observation_space
                assert np.array_equal(final["obs"], expected_infos["final_obs"][i])
                assert final["mask"].all()
        elif mode == AutoresetMode.DISABLED and ended.any():
            before = observations["mask"]
            expected, expected_infos = plain.reset(options={"reset_mask": ended})
            observations, infos = envs.reset(options={"reset_mask": ended})
            expected_infos["action_mask"][~ended] = before[~ended]
    assert n_ended > 4
    for each in (plain, envs):
        each.close()


def test_observations_are_the_callers_own() -> None:
    envs = MaskInObservation(gymnasium.make_vec(ID, num_envs=2))
    observations, infos = envs.reset(seed=1)
    observations["action_mask"][:] = 0
    assert infos["action_mask"].any(axis=1).all()


@pytest.mark.parametrize("made", [gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=2)])
def test_copies_play_on_alike(made: Any) -> None:
    env: Any = MaskInObservation(made, dtype=np.float32)
    _, info = env.reset(seed=1)
    action = info["action_mask"].argmax(axis=-1)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = env.step(action)[0]
    for twin in twins:
        observation = twin.step(action)[0]
        assert all(np.array_equal(observation[key], expected[key]) for key in expected)


def test_its_spec_makes_it_again() -> None:
    env = MaskInObservation(gymnasium.make(ID, rules="par"), "obs", "mask", bool)
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    assert again.observation_space == env.observation_space


def test_what_has_no_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="both 'mask'"):
        MaskInObservation(gymnasium.make(ID), "mask", "mask")
    with pytest.raises(ValueError, match="only Discrete"):
        MaskInObservation(gymnasium.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="no 'action_mask' among the infos"):
        MaskInObservation(gymnasium.make("CartPole-v1")).reset()
