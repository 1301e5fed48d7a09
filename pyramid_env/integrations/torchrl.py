"""TorchRL: the environments as a `TransformedEnv` that knows its action mask.

Needs the extra ``torchrl``.
"""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode
from torchrl.envs import ActionMask, GymWrapper, TransformedEnv

from pyramid_env.env import PyramidEnv
from pyramid_env.integrations.masks import MaskInObservation
from pyramid_env.observation import Information
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv


def make_torchrl_env(
    num_envs: int | None = None,
    rules: str | Rules = "kawu",
    *,
    information: Information = "fair",
    reward: str = "cards",
) -> TransformedEnv:
    """One game, of batch size [], or with `num_envs` the native vector environment.

    Tensordicts have `observation` (int16[..., size]) and `action_mask` (bool[..., n_actions]); the
    action is an integer (`Categorical`), and its spec draws legal ones only. Games that have ended
    are reset by TorchRL, so no transition is a dummy. Raises `ValueError` as the environments do.
    """
    arguments: dict[str, Any] = {"rules": rules, "information": information, "reward": reward}
    masked = (
        MaskInObservation(PyramidEnv(**arguments), dtype=bool)
        if num_envs is None
        else MaskInObservation(
            PyramidVectorEnv(num_envs, autoreset_mode=AutoresetMode.DISABLED, **arguments),
            dtype=bool,
        )
    )
    return TransformedEnv(GymWrapper(masked, categorical_action_encoding=True), ActionMask())
