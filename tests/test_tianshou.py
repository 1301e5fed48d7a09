"""Tianshou: what its collector plays is legal, whether it explores or follows the values."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tianshou")

from tianshou.data import Collector, VectorReplayBuffer
from tianshou_dqn import Arguments, make_dqn

from pyramid_env.integrations.tianshou import make_tianshou_envs


@pytest.mark.parametrize("exploring", [0.0, 1.0])
def test_what_is_collected_is_legal(exploring: float) -> None:
    envs = make_tianshou_envs(4, "kawu-1")
    envs.seed(0)
    np.random.seed(0)
    dqn = make_dqn(Arguments(rules="kawu-1"), envs)
    dqn.policy.set_eps_training(exploring)
    dqn.policy.set_eps_inference(exploring)
    buffer = VectorReplayBuffer(2000, 4)
    Collector(dqn, envs, buffer, exploration_noise=True).collect(
        n_step=600, reset_before_collect=True
    )
    steps = buffer[:]
    assert steps.obs.obs.dtype == np.int16
    assert steps.obs.mask.dtype == np.bool_
    assert steps.obs.mask.shape == (len(buffer), 285)
    assert steps.obs.mask[np.arange(len(buffer)), steps.act].all()
    assert (steps.rew >= 0).all()
    assert steps.terminated.sum() >= 4
    assert steps.obs_next.mask[steps.terminated].all()
    assert len(np.unique(steps.act)) > 1


def test_what_the_environment_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs=0 is not allowed"):
        make_tianshou_envs(0)
    with pytest.raises(ValueError, match="unknown rules 'none'"):
        make_tianshou_envs(1, "none")
