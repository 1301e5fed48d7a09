"""The benchmarks replay the very games that they recorded, and count no reset as a step."""

from collections.abc import Callable

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from replay import N_STAGES, OPENING, Recording, play_opening, record, replay, replay_and_sample

from pyramid_env import PyramidEnv, PyramidVectorEnv

N_CALLS = 100
"""More than a game lasts."""


def played() -> tuple[PyramidVectorEnv, Recording]:
    env = PyramidVectorEnv(64, copy=False)
    return env, record(env, N_CALLS)


@pytest.mark.parametrize("again", [replay, replay_and_sample])
def test_a_replay_ends_where_the_recording_did(
    again: Callable[[PyramidVectorEnv, Recording], float],
) -> None:
    env, recording = played()
    positions = env.positions
    env.step(np.zeros(64, np.int64))
    again(env, recording)
    np.testing.assert_array_equal(env.positions, positions)


def test_the_scalar_environments_replay_too() -> None:
    env = SyncVectorEnv([PyramidEnv] * N_STAGES)
    recording = record(env, N_CALLS)
    positions = env.call("position")
    replay(env, recording)
    assert env.call("position") == positions


def test_what_only_resets_is_no_step() -> None:
    env, recording = played()
    n_ended = 0
    handed_out = play_opening(env, recording.seed, lambda i, _: recording.actions[i])
    for actions in recording.actions[OPENING:]:
        _, _, terminated, truncated, _ = handed_out
        n_ended += int((terminated | truncated).sum())
        handed_out = env.step(actions)
    assert n_ended > 0
    assert recording.n_steps == N_CALLS * 64 - n_ended


def test_the_games_are_in_all_stages_when_the_clock_starts() -> None:
    env, recording = played()
    replay(env, Recording(recording.seed, recording.actions[:OPENING], 1))
    assert len(set(env.positions.tolist())) == 64
