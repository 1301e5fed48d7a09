"""The benchmark of training: what it compares is alike, and it runs."""

import sys

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import training

from pyramid_env.integrations.sb3 import PyramidVecEnv


def test_the_environment_that_plays_nothing_says_what_the_real_one_would() -> None:
    real, idle = PyramidVecEnv(3), training.IdleVecEnv(3)
    assert idle.observation_space == real.observation_space
    assert idle.action_space == real.action_space
    observations = [env.reset() for env in (real, idle)]
    assert observations[0].shape == observations[1].shape
    assert observations[0].dtype == observations[1].dtype
    actions = np.argmax(real.env_method("action_masks")[0], axis=1)
    *arrays, infos = real.step(actions)
    *idle_arrays, idle_infos = idle.step(actions)
    for ours, theirs in zip(arrays, idle_arrays, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert infos == idle_infos == [{}] * 3
    (real_masks,), (idle_masks,) = (env.env_method("action_masks") for env in (real, idle))
    assert (real_masks.shape, real_masks.dtype) == (idle_masks.shape, idle_masks.dtype)
    assert idle.step(actions)[0] is idle.step(actions)[0]


def test_every_case_trains(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "training.py --envs 2 --rollout 8 --epochs 1 --rounds 1"
    monkeypatch.setattr(sys, "argv", words.split())
    training.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert rows[2].count("| 1.00 |") == 2


def test_the_ratio_is_the_time_over_that_of_the_first() -> None:
    whole, alone = ({"ours": 0.001, "slower": 0.004}, {"ours": 0.0001, "slower": 0.0002})
    seconds = {
        name + part: of[name]
        for name in whole
        for part, of in zip(training.ALGORITHMS, (whole, alone), strict=True)
    }
    assert training.report(seconds, training.Arguments()).splitlines()[-2:] == [
        "| ours | 1,000 | 1.00 | 10,000 | 1.00 |",
        "| slower | 250 | 4.00 | 5,000 | 2.00 |",
    ]
