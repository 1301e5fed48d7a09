"""Gymnasium's own wrappers around the environments, scalar and vector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import vector as vector_wrappers
from playing import assert_same

from pyramid_env import sample_actions
from pyramid_env.vector_env import PyramidVectorEnv

ID = "pyramid_env/Pyramid-v0"
GYMNASIUM = tuple(map(int, gymnasium.__version__.split(".")[:2]))
COUNTS_FIRST_STEPS = pytest.mark.skipif(
    GYMNASIUM < (1, 4), reason="forgets an episode's first step"
)


def make(**arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(ID, rules="kawu-1", **arguments)


def make_vec(**arguments: Any) -> PyramidVectorEnv:
    return PyramidVectorEnv(4, "kawu-1", **arguments)


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def random_episode(
    env: gymnasium.Env[Any, Any], seed: int = 2
) -> tuple[list[Any], list[float], dict[str, Any]]:
    """Play legal actions at random to the end: observations, rewards and the last info."""
    generator = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    observations, rewards, is_over = [observation], [], False
    while not is_over:
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        observation, reward, terminated, truncated, info = env.step(action)
        observations.append(observation)
        rewards.append(float(reward))
        is_over = bool(terminated or truncated)
    return observations, rewards, info


def random_steps(envs: Any, n: int = 100, seed: int = 2) -> list[tuple[Any, ...]]:
    """Play legal actions at random: what each step of a vector environment gave, infos last."""
    generator = np.random.default_rng(seed)
    observations, infos = envs.reset(seed=seed)
    steps: list[tuple[Any, ...]] = [(observations, np.zeros(4), None, None, infos)]
    for _ in range(n):
        actions = sample_actions(np.asarray(steps[-1][4]["action_mask"]), generator)
        steps.append(envs.step(actions))
    return steps


# Scalar


def test_flatten_observation_one_hots_every_number() -> None:
    env = wrappers.FlattenObservation(make())
    observations, *_ = random_episode(env)
    categories = make().observation_space.nvec  # type: ignore[attr-defined]
    assert all(observation in env.observation_space for observation in observations)
    assert all(len(observation) == categories.sum() for observation in observations)
    assert all(observation.sum() == len(categories) for observation in observations)


def test_time_limit_cuts_an_episode() -> None:
    env = gymnasium.make(ID, max_episode_steps=7)
    env.reset(seed=1)
    ends = [env.step(0)[2:4] for _ in range(7)]
    assert ends == [(False, False)] * 6 + [(False, True)]


def test_record_episode_statistics_gives_return_and_length() -> None:
    env = wrappers.RecordEpisodeStatistics(make())
    observations, _, info = random_episode(env)
    assert info["episode"]["l"] == len(observations) - 1
    assert info["episode"]["r"] == info["pyramid_cards_removed"]


def test_record_video_writes_a_film(tmp_path: Path) -> None:
    film = wrappers.RecordVideo(
        make(render_mode="rgb_array"), str(tmp_path / "films"), episode_trigger=lambda _: True
    )
    film.reset(seed=1)
    for _ in range(4):
        film.step(int(film.unwrapped.action_masks().argmax()))  # type: ignore[attr-defined]
    film.close()  # type: ignore[no-untyped-call]
    assert is_one_film(tmp_path / "films")


def is_one_film(folder: Path) -> bool:
    [film] = folder.glob("*.mp4")
    return film.stat().st_size > 1000


def test_observations_can_be_stacked_and_delayed_and_told_the_time() -> None:
    plain, *_ = random_episode(make())
    stacked, *_ = random_episode(wrappers.FrameStackObservation(make(), 3))
    delayed, *_ = random_episode(wrappers.DelayObservation(make(), 1))
    timed, *_ = random_episode(
        wrappers.TimeAwareObservation(
            make(max_episode_steps=500), flatten=False, normalize_time=False
        )
    )
    assert np.array_equal(stacked[-1], plain[-3:])
    assert np.array_equal(delayed[1:], plain[:-1])
    assert [int(observation["time"][0]) for observation in timed] == list(range(len(plain)))


def test_flat_observations_can_be_floats() -> None:
    flat, *_ = random_episode(wrappers.FlattenObservation(make()))
    env = wrappers.DtypeObservation(wrappers.FlattenObservation(make()), np.float32)
    floats, *_ = random_episode(env)
    assert floats[0] in env.observation_space
    assert floats[0].dtype == np.float32
    assert np.array_equal(floats, flat)


def test_rewards_can_be_changed() -> None:
    _, plain, _ = random_episode(make())
    _, halved, _ = random_episode(wrappers.TransformReward(make(), lambda reward: reward / 2))
    _, clipped, _ = random_episode(wrappers.ClipReward(make(), 0, 1))
    assert max(plain) == 2
    assert halved == [reward / 2 for reward in plain]
    assert clipped == [min(reward, 1) for reward in plain]


# Vector


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_limit_of_steps_truncates_as_time_limit_does(mode: AutoresetMode) -> None:
    arguments: Any = {"rules": "kawu-1", "max_episode_steps": 20}
    ours = gymnasium.make_vec(ID, num_envs=4, autoreset_mode=mode, **arguments)
    theirs = gymnasium.make_vec(
        ID,
        num_envs=4,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **arguments,
    )
    for envs in (ours, theirs):
        envs.reset(options={"deal": 7})
    actions = np.zeros(4, np.int64)
    for _ in range(20):
        results = [envs.step(actions)[1:4] for envs in (ours, theirs)]
        for our, their in zip(*results, strict=True):
            assert np.array_equal(our, their)
    assert results[0][2].all()


def test_a_limit_of_steps_beyond_our_own_changes_nothing() -> None:
    envs = PyramidVectorEnv(1, max_episode_steps=5000)
    envs.reset(options={"deal": 7})
    truncated = [bool(envs.step(np.zeros(1, np.int64))[3][0]) for _ in range(1000)]
    assert truncated == [False] * 999 + [True]


def test_every_number_of_a_deal_fits_into_the_infos_of_any_vector_environment() -> None:
    for kind in ("sync", "async", "vector_entry_point"):
        envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode=kind)
        _, infos = envs.reset(options={"deal": 2**64 - 1})
        assert_same(infos["deal_number"], np.full(2, 2**64 - 1, np.uint64))
        envs.close()


@pytest.mark.parametrize(
    "mode",
    [
        AutoresetMode.NEXT_STEP,
        pytest.param(AutoresetMode.SAME_STEP, marks=COUNTS_FIRST_STEPS),
        AutoresetMode.DISABLED,
    ],
)
def test_vector_statistics_give_returns_and_lengths(mode: AutoresetMode) -> None:
    envs = vector_wrappers.RecordEpisodeStatistics(make_vec(autoreset_mode=mode))
    n_ended = n_steps = 0
    envs.reset(seed=1)
    masks = envs.unwrapped.action_masks  # type: ignore[attr-defined]
    while n_ended < 12:
        n_steps += 1
        _, _, terminated, _, infos = envs.step(masks().argmax(axis=1))
        if n_ended == 0 and terminated.any():
            assert (infos["episode"]["l"][terminated] == n_steps).all()
        if terminated.any():
            last = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
            returns = infos["episode"]["r"][terminated]
            assert np.array_equal(returns, last["pyramid_cards_removed"][terminated])
            if mode == AutoresetMode.DISABLED:
                envs.reset(options={"reset_mask": terminated})
        n_ended += terminated.sum()


def test_vector_observations_can_be_flattened_and_floats() -> None:
    envs = vector_wrappers.FlattenObservation(make_vec())
    single = make_vec().single_observation_space
    floats = random_steps(vector_wrappers.DtypeObservation(envs, np.float32))
    for plain, step in zip(random_steps(make_vec()), floats, strict=True):
        assert step[0].dtype == np.float32
        assert np.array_equal(step[0], [gymnasium.spaces.flatten(single, row) for row in plain[0]])
    assert floats[0][0] in vector_wrappers.DtypeObservation(envs, np.float32).observation_space


def test_vector_rewards_can_be_changed() -> None:
    plain = [step[1] for step in random_steps(make_vec())]
    clipped = [step[1] for step in random_steps(vector_wrappers.ClipReward(make_vec(), 0, 1))]
    assert np.max(plain) == 2
    assert np.array_equal(clipped, np.minimum(plain, 1))


def test_vector_observations_and_rewards_can_be_normalised() -> None:
    envs: VectorEnv[Any, Any, Any] = vector_wrappers.NormalizeReward(
        vector_wrappers.NormalizeObservation(make_vec())
    )
    seen = np.concatenate([observations for observations, *_ in random_steps(envs)])
    assert np.isfinite(seen).all()
    assert abs(seen.mean()) < 0.5


def test_vector_infos_can_be_a_list() -> None:
    envs = vector_wrappers.DictInfoToList(make_vec())
    _, infos = envs.reset(seed=1)
    _, expected = make_vec().reset(seed=1)
    for i in range(4):
        for key in ("action_mask", "deal_number", "passes_left", "pyramid_cards_removed"):
            assert_same(infos[i][key], expected[key][i])


@pytest.mark.skipif(GYMNASIUM < (1, 2), reason="has no vector RecordVideo")
def test_vector_record_video_writes_a_film_of_all_games(tmp_path: Path) -> None:
    envs = make_vec(render_mode="rgb_array")
    film = vector_wrappers.RecordVideo(
        envs, str(tmp_path / "films"), episode_trigger=lambda _: True
    )
    film.reset(seed=1)
    for _ in range(3):
        film.step(envs.action_masks().argmax(axis=1))
    film.close()
    assert is_one_film(tmp_path / "films")
