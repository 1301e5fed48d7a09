"""The action mask as a part of the observation, for libraries that look for it there.

>>> import gymnasium, numpy, pyramid_env
>>> env = MaskInObservation(gymnasium.make("pyramid_env/Pyramid-v0"), "obs", "mask", bool)
>>> observation, info = env.reset(seed=1)
>>> observation["obs"].shape, observation["mask"].shape, observation["mask"].dtype
((90,), (285,), dtype('bool'))

What each library looks for stands in ``docs/integrations.md``.
"""

from __future__ import annotations

from typing import Any, overload

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

Observation = dict[str, Any]
"""The wrapped environment's observation and the action mask, by their keys."""


@overload
def MaskInObservation(
    env: gymnasium.Env[Any, Any],
    observation_key: str = "observation",
    mask_key: str = "action_mask",
    dtype: DTypeLike = np.int8,
) -> ScalarMaskInObservation: ...
@overload
def MaskInObservation(
    env: VectorEnv[Any, Any, Any],
    observation_key: str = "observation",
    mask_key: str = "action_mask",
    dtype: DTypeLike = np.int8,
) -> VectorMaskInObservation: ...
def MaskInObservation(  # noqa: N802 (it stands for the wrapper that it makes)
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    observation_key: str = "observation",
    mask_key: str = "action_mask",
    dtype: DTypeLike = np.int8,
) -> ScalarMaskInObservation | VectorMaskInObservation:
    """Wrap an environment, scalar or vector, so that it observes its action mask too.

    Observations become a dict of what they were, under `observation_key`, and of
    `info["action_mask"]`, under `mask_key`, as an array of `dtype` (1, or True, is legal) of shape
    (n_actions,), with the games before that for a vector environment.

    Raises `ValueError` for two equal keys and for actions that are not `Discrete`.
    """
    wrapper = VectorMaskInObservation if isinstance(env, VectorEnv) else ScalarMaskInObservation
    return wrapper(env, observation_key, mask_key, dtype)  # type: ignore[arg-type]


class ScalarMaskInObservation(
    gymnasium.Wrapper[Observation, Any, Any, Any],
    RecordConstructorArgs,
):
    """What `MaskInObservation` makes of a `gymnasium.Env`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        observation_key: str = "observation",
        mask_key: str = "action_mask",
        dtype: DTypeLike = np.int8,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, observation_key=observation_key, mask_key=mask_key, dtype=dtype
        )
        super().__init__(env)
        self._observation_key, self._mask_key = observation_key, mask_key
        self._dtype = np.dtype(dtype)
        self.observation_space = _masked_space(
            env.observation_space, env.action_space, observation_key, mask_key, self._dtype
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._with_mask(observation, info), info

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_mask(observation, info), reward, terminated, truncated, info

    def _with_mask(self, observation: Any, info: dict[str, Any]) -> Observation:
        return {
            self._observation_key: observation,
            self._mask_key: _mask_of(info).astype(self._dtype),
        }


class VectorMaskInObservation(VectorWrapper):  # type: ignore[type-arg] # generic since 1.4
    """What `MaskInObservation` makes of a `gymnasium.vector.VectorEnv`.

    Under SAME_STEP autoreset the entries of `final_obs` are such dicts too.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        observation_key: str = "observation",
        mask_key: str = "action_mask",
        dtype: DTypeLike = np.int8,
    ) -> None:
        super().__init__(env)
        self._observation_key, self._mask_key = observation_key, mask_key
        self._dtype = np.dtype(dtype)
        self.single_observation_space = _masked_space(
            env.single_observation_space,
            env.single_action_space,
            observation_key,
            mask_key,
            self._dtype,
        )
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._masks: NDArray[Any] = np.ones(
            self.observation_space[mask_key].shape,  # type: ignore[index]
            dtype=self._dtype,
        )

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """That of the wrapped environment: TorchRL asks for it."""
        mode: AutoresetMode = self.env.metadata["autoreset_mode"]
        return mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start all games, or those of `options["reset_mask"]`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._with_masks(observations, infos), infos

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play one action a game."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        return self._with_masks(observations, infos), rewards, terminated, truncated, infos

    def _with_masks(self, observations: Any, infos: dict[str, Any]) -> Observation:
        masks = _mask_of(infos).astype(self._dtype)
        is_told = infos["_action_mask"]
        if not is_told.all():  # a reset of some games says nothing of the others
            masks[~is_told] = self._masks[~is_told]
        self._masks = masks
        if "final_obs" in infos:
            infos["final_obs"] = self._final_with_masks(infos)
        return {self._observation_key: observations, self._mask_key: masks.copy()}

    def _final_with_masks(self, infos: dict[str, Any]) -> NDArray[np.object_]:
        masks = _mask_of(infos["final_info"])
        final = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(infos["_final_obs"]):
            final[i] = {
                self._observation_key: infos["final_obs"][i],
                self._mask_key: masks[i].astype(self._dtype),
            }
        return final


def _masked_space(
    observations: Space[Any],
    actions: Space[Any],
    observation_key: str,
    mask_key: str,
    dtype: np.dtype[Any],
) -> Dict:
    if observation_key == mask_key:
        raise ValueError(f"observation_key and mask_key are both {mask_key!r}: give two keys")
    if not isinstance(actions, Discrete):
        raise ValueError(f"the actions are {actions}, and only Discrete ones have a mask")
    mask = Box(0, 1, (int(actions.n),), dtype.type)
    return Dict({observation_key: observations, mask_key: mask})


def _mask_of(info: dict[str, Any]) -> NDArray[np.int8]:
    if "action_mask" not in info:
        raise ValueError(f"no 'action_mask' among the infos {', '.join(info) or '(none)'}")
    mask: NDArray[np.int8] = info["action_mask"]
    return mask
