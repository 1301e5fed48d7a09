"""Stable-Baselines3 and sb3-contrib: the native vector environment as their `VecEnv`.

Needs the extra ``train``. `PyramidVecEnv` is a drop-in for `MaskablePPO`; `PlacePolicy` spares it
SB3's loop over the 90 places that one-hots a `MultiDiscrete` observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from pyramid_env.integrations.places import PlaceLookup
from pyramid_env.observation import Information
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv


class PyramidVecEnv(VecEnv):
    """`num_envs` games as an SB3 `VecEnv`, stepped by one kernel.

    Arguments are those of `PyramidVectorEnv`. Ended episodes come with SB3's `terminal_observation`
    and `TimeLimit.truncated`, the statistics of a `Monitor` under `episode`, and `is_success`.
    """

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "kawu",
        *,
        information: Information = "fair",
        reward: str = "cards",
        render_mode: str | None = None,
    ) -> None:
        self.games = PyramidVectorEnv(
            num_envs,
            rules,
            information=information,
            reward=reward,
            autoreset_mode=AutoresetMode.SAME_STEP,
            render_mode=render_mode,
        )
        self._masks = np.empty((0, 0), dtype=np.int8)
        self._actions: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        super().__init__(
            num_envs, self.games.single_observation_space, self.games.single_action_space
        )

    def reset(self) -> NDArray[np.int16]:
        """Start all games; a seed given by `seed()` fixes their deals."""
        observations, infos = self.games.reset(seed=self._seeds[0])
        self._masks = infos["action_mask"]
        self._returns[:] = 0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take note of the actions; `step_wait` plays them."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play the noted actions."""
        observations, rewards, terminated, truncated, infos = self.games.step(self._actions)
        self._masks = infos["action_mask"]
        self._returns += rewards
        self._lengths += 1
        ended = terminated | truncated
        info_list: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended).tolist():
            is_success = bool(infos["final_info"]["is_success"][i])
            info_list[i] = self._end(i, infos["final_obs"][i], bool(truncated[i]), is_success)
        return observations, rewards, ended, info_list

    def _end(
        self, row: int, last: NDArray[np.int16], truncated: bool, is_success: bool
    ) -> dict[str, Any]:
        """What is told of an episode that has ended, and its sums begun anew."""
        episode = {"r": float(self._returns[row]), "l": int(self._lengths[row]), "t": 0.0}
        self._returns[row] = self._lengths[row] = 0
        return {
            "terminal_observation": last,
            "TimeLimit.truncated": truncated,
            "is_success": is_success,
            "episode": episode,
        }

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Where the games stand, for `set_state`: arrays of one row a game."""
        return {
            "games": self.games.get_state(),
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
        }

    def set_state(self, state: dict[str, NDArray[Any]]) -> NDArray[np.int16]:
        """Go on from what `get_state` gave, by a `VecEnv` made alike; the observations."""
        observations = self.games.set_state(state["games"])
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]
        self._masks = self.games.action_masks()
        return observations

    def action_masks(self) -> NDArray[np.int8]:
        """The masks of all games, int8[num_envs, n_actions]."""
        return self._masks

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Answer `action_masks`, all masks in one array (sb3-contrib stacks what it gets)."""
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r}: only action_masks")
        return [self._masks if indices is None else self._masks[self._rows(indices)]]

    def has_attr(self, attr_name: str) -> bool:
        """Whether `get_attr` or `env_method` can answer."""
        return attr_name == "action_masks" or hasattr(self.games, attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute that all games share, once a game."""
        return [getattr(self.games, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refused: the games are one object, and their attributes are fixed."""
        raise AttributeError(f"cannot set {attr_name!r}: make a new PyramidVecEnv instead")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for every game but for `Monitor`, whose statistics are built in."""
        is_monitor = wrapper_class.__name__ == "Monitor"
        return [is_monitor] * len(self._rows(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """One picture a game, for `render_mode="rgb_array"`."""
        return self.games.render() or [None] * self.num_envs

    def close(self) -> None:
        """Close the games."""
        self.games.close()

    def _rows(self, indices: VecEnvIndices) -> list[int]:
        return list(self._get_indices(indices))


class PlaceEmbedding(BaseFeaturesExtractor):
    """`PlaceLookup` as a features extractor: (batch, places) to (batch, `features_dim`)."""

    def __init__(self, observation_space: Space[Any], features_dim: int = 256) -> None:
        super().__init__(observation_space, features_dim)
        self.table = PlaceLookup(observation_space, features_dim)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Sum the embeddings of what lies at each place."""
        return self.table(observations)  # type: ignore[no-any-return]


class _IntegerFeatures(BasePolicy):
    """Hands observations to the features extractor as they are."""

    def extract_features(self, obs: Any, features_extractor: BaseFeaturesExtractor) -> torch.Tensor:
        return features_extractor(obs)  # type: ignore[no-any-return]


class PlacePolicy(MaskableActorCriticPolicy, _IntegerFeatures):  # type: ignore[misc]
    """A `MaskablePPO` policy whose features extractor reads the observation's integers as such.

    SB3 would one-hot them first, place by place. Use it with `PlaceEmbedding` or a module that
    starts with one. (The second base class stands before `BasePolicy` in the method resolution
    order, so it is what `MaskableActorCriticPolicy` calls as its `super()`.)
    """
