"""Threads that share a step: the same games as alone, however they wait, fail or are stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playing import assert_same

from pyramid_env import PyramidVectorEnv, sample_actions, threads

N = 50


def play(env: PyramidVectorEnv, n_steps: int, pause: float = 0) -> Iterator[list[np.ndarray]]:
    generator = np.random.default_rng(2)
    _, infos = env.reset(seed=2)
    for _ in range(n_steps):
        time.sleep(pause)
        actions = sample_actions(infos["action_mask"], generator)
        *shown, infos = env.step(actions)
        yield [array.copy() for array in (*shown, infos["action_mask"])]
    env.close()


def alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "pyramid_env" in thread.name]


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("num_threads", [2, 3, 8])
def test_many_steps_are_those_of_one_thread(num_threads: int, copy: bool) -> None:
    shared = PyramidVectorEnv(N, num_threads=num_threads, copy=copy)
    assert_same([*play(shared, 300)], [*play(PyramidVectorEnv(N), 300)])


@pytest.mark.parametrize("copy", [False, True])
def test_threads_that_have_gone_to_rest_come_back(copy: bool) -> None:
    env = PyramidVectorEnv(N, num_threads=2, copy=copy)
    assert_same([*play(env, 8, pause=0.02)], [*play(PyramidVectorEnv(N), 8)])
    env.step(np.zeros(N, np.int64))
    team: Any = env._episodes._threads
    deadline = time.monotonic() + 10
    while team._up and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not team._up
    env.close()


def test_what_ends_a_thread_is_raised_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    env = PyramidVectorEnv(N, num_threads=2)
    env.reset(seed=2)

    def fail(*arguments: Any) -> int:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(threads, "_follow", fail)
        with pytest.raises(MemoryError, match="no room"):
            env.step(np.zeros(N, np.int64))
    assert not alive()
    assert_same([*play(env, 30)], [*play(PyramidVectorEnv(N), 30)])


def test_after_a_stop_no_thread_is_left_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    env = PyramidVectorEnv(N, num_threads=3)
    env.reset(seed=2)

    def stop(*arguments: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threads, "_lead", stop)
        with pytest.raises(KeyboardInterrupt):
            env.step(np.zeros(N, np.int64))
    assert not alive()
    assert_same([*play(env, 30)], [*play(PyramidVectorEnv(N), 30)])
    assert not alive()
