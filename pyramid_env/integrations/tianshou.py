"""Tianshou: the environments as it steps them, with the mask where its policies look for it.

Needs the extra ``tianshou``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tianshou.env import DummyVectorEnv

from pyramid_env.env import PyramidEnv
from pyramid_env.integrations.masks import MaskInObservation, ScalarMaskInObservation
from pyramid_env.observation import Information
from pyramid_env.rules import Rules
from pyramid_env.texts import check_whole


def make_tianshou_envs(
    num_envs: int,
    rules: str | Rules = "kawu",
    *,
    information: Information = "fair",
    reward: str = "cards",
) -> DummyVectorEnv:
    """`num_envs` games whose observations are dicts of `obs` (int16) and `mask` (bool).

    Tianshou resets each game by itself, so these are scalar environments, stepped in turn. Raises
    `ValueError` as the environment does, and for less than one game.
    """
    check_whole("num_envs", num_envs, 1)
    arguments: dict[str, Any] = {"rules": rules, "information": information, "reward": reward}
    return DummyVectorEnv([partial(_make_env, arguments)] * num_envs)


def _make_env(arguments: dict[str, Any]) -> ScalarMaskInObservation:
    return MaskInObservation(PyramidEnv(**arguments), "obs", "mask", bool)
