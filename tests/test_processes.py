"""Environments in threads and processes: alone or beside others, they play the same games."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import NDArray
from playing import assert_same
from stopping import PATIENCE, ROOT

from pyramid_env import PyramidEnv, PyramidVectorEnv, sample_actions, solve_batch

METHODS = [name for name in ("fork", "spawn") if name in multiprocessing.get_all_start_methods()]
every_method = pytest.mark.parametrize("method", METHODS)


def play(envs: Any, seed: int, n_steps: int = 60) -> list[NDArray[Any]]:
    """What a vector environment shows in random legal games."""
    generator = np.random.default_rng(seed)
    observations, infos = envs.reset(seed=seed)
    seen = [observations]
    for _ in range(n_steps):
        masks = np.stack(list(infos["action_mask"]))
        observations, rewards, terminated, truncated, infos = envs.step(
            sample_actions(masks, generator)
        )
        seen += [observations, rewards, terminated, truncated, infos["deal_number"]]
    envs.close()
    return seen


def test_vector_environments_in_threads_do_not_disturb_each_other() -> None:
    kinds = [(rules, threads) for rules in ("kawu", "reserve", "tuts-tomb") for threads in (1, 2)]

    def games(number: int) -> list[NDArray[Any]]:
        rules, threads = kinds[number]
        return play(PyramidVectorEnv(300, rules, num_threads=threads), seed=number)

    alone = [games(number) for number in range(len(kinds))]
    with ThreadPoolExecutor(len(kinds)) as pool:
        for one, other in zip(alone, pool.map(games, range(len(kinds))), strict=True):
            assert_same(one, other)


def test_the_solver_and_environments_share_the_threads_of_a_process() -> None:
    alone = [solve_batch(range(40), rules, jobs=1) for rules in ("kawu", "classic")]
    games = play(PyramidVectorEnv(100), seed=1)
    with ThreadPoolExecutor(3) as pool:
        solved = [
            pool.submit(solve_batch, range(40), rules, jobs=2) for rules in ("kawu", "classic")
        ]
        played = pool.submit(play, PyramidVectorEnv(100), 1)
        for one, other in zip(alone, solved, strict=True):
            assert [s.moves for s in one] == [s.moves for s in other.result()]
        assert_same(games, played.result())


@every_method
def test_gymnasiums_processes_play_the_games_of_its_loop(method: str) -> None:
    makers = [partial(PyramidEnv, rules) for rules in ("kawu", "kawu-1")]
    alone = play(SyncVectorEnv(makers), seed=5)
    assert_same(alone, play(AsyncVectorEnv(makers, context=method), seed=5))


@every_method
def test_the_processes_of_sb3_play_the_games_of_its_loop(method: str) -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    maskable = pytest.importorskip("sb3_contrib.common.maskable.utils")
    makers = [partial(PyramidEnv, rules) for rules in ("kawu", "kawu-1")]

    def games(envs: Any) -> list[NDArray[Any]]:
        generator = np.random.default_rng(0)
        envs.seed(3)
        seen = [envs.reset()]
        for _ in range(60):
            masks = maskable.get_action_masks(envs)
            observations, rewards, ended, _ = envs.step(sample_actions(masks, generator))
            seen += [observations, rewards, ended]
        envs.close()
        return seen

    alone = games(vec_env.DummyVecEnv(makers))
    others = games(vec_env.SubprocVecEnv(makers, start_method=method))  # rewards of another dtype
    assert all(map(np.array_equal, alone, others))


@pytest.mark.parametrize("copied", [deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_copy_of_a_vector_environment_plays_the_same_games(
    copied: Callable[[Any], Any], threads: int, fresh: bool
) -> None:
    envs = PyramidVectorEnv(50, "reserve", num_threads=threads, copy=fresh)
    _, infos = envs.reset(seed=2)
    envs.step(infos["action_mask"].argmax(axis=1))
    twin = copied(envs)
    masks = envs.action_masks()
    for _ in range(60):
        actions = masks.argmax(axis=1)
        one, other = envs.step(actions), twin.step(actions)
        assert_same(one, other)
        masks = one[4]["action_mask"]
    envs.close()
    twin.close()


@pytest.mark.skipif("fork" not in METHODS, reason="processes cannot fork here")
@pytest.mark.parametrize("fresh", [True, False])
def test_a_forked_process_goes_on_where_its_threads_are_not(fresh: bool) -> None:
    envs = PyramidVectorEnv(50, num_threads=2, copy=fresh)
    _, infos = envs.reset(seed=2)
    envs.step(infos["action_mask"].argmax(axis=1))

    def go_on(answer: Any) -> None:
        masks = envs.action_masks()
        for _ in range(60):
            *shown, infos = envs.step(masks.argmax(axis=1))
            masks = infos["action_mask"]
        envs.close()
        answer([array.copy() for array in shown])

    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    child = fork.Process(target=go_on, args=(there.send,), daemon=True)
    child.start()
    alone: list[Any] = []
    go_on(alone.append)
    try:
        assert here.poll(PATIENCE), "the forked process waits"
        assert_same(here.recv(), alone[0])
    finally:
        child.kill()


def test_a_state_goes_on_in_another_environment() -> None:
    first, second = (PyramidVectorEnv(20, "tuts-tomb") for _ in range(2))
    with pytest.raises(gymnasium.error.ResetNeeded):
        first.get_state()
    _, infos = first.reset(seed=4)
    first.step(infos["action_mask"].argmax(axis=1))
    state = first.get_state()
    observations = second.set_state(state)
    masks = first.action_masks()
    assert np.array_equal(second.action_masks(), masks)
    for _ in range(80):
        one, other = (envs.step(masks.argmax(axis=1)) for envs in (first, second))
        assert_same(list(one[:4]), list(other[:4]))
        masks = one[4]["action_mask"]
    assert np.array_equal(first.set_state(state), observations)
    for wrong in (state[:5], state.astype(np.int64), state[:, 1:]):
        with pytest.raises(ValueError, match="the state must be uint8"):
            second.set_state(wrong)


PLAY_AND_SOLVE = """
import hashlib
import numpy as np
from pyramid_env import PyramidVectorEnv, solve_batch
envs = PyramidVectorEnv(8)
_, infos = envs.reset(seed=0)
for _ in range(40):
    observations, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
moves = [solution.moves for solution in solve_batch(range(20), jobs=1)]
print(hashlib.sha256(observations.tobytes() + repr(moves).encode()).hexdigest())
"""


@pytest.mark.slow
def test_eight_processes_that_compile_at_once_agree(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def answers(n: int) -> list[str]:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", PLAY_AND_SOLVE],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(n)
        ]
        said = [child.communicate(timeout=4 * PATIENCE)[0] for child in children]
        assert [child.returncode for child in children] == [0] * n
        return said

    cold = answers(8)
    assert len(set(cold)) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".code"}
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert answers(1) == cold[:1]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
