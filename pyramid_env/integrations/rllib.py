"""Ray RLlib (new API stack): the environment by name, and a module that masks its policy.

Needs the extra ``rllib``.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.spaces import Dict, Discrete
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import nn

from pyramid_env.env import PyramidEnv
from pyramid_env.integrations.masks import MaskInObservation, ScalarMaskInObservation
from pyramid_env.integrations.places import PlaceLookup

ENV_NAME = "pyramid"
"""What `register` calls the environment."""


def make_rllib_env(env_config: dict[str, Any]) -> ScalarMaskInObservation:
    """`PyramidEnv` with the arguments in `env_config`, and RLlib's dict of observation and mask."""
    return MaskInObservation(PyramidEnv(**env_config), "observations", "action_mask", "float32")


def register() -> str:
    """Make the environment known to Ray; its name."""
    register_env(ENV_NAME, make_rllib_env)
    return ENV_NAME


class MaskedPolicyModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """Policy and value on one trunk for `PPO`; illegal actions have no probability.

    `model_config` may have `width`, numbers in a hidden layer (256).
    """

    def setup(self) -> None:
        """Build the network, from `observation_space` and `action_space`."""
        assert isinstance(self.observation_space, Dict)
        assert isinstance(self.action_space, Discrete)
        width = int(self.model_config.get("width", 256))
        self.trunk = nn.Sequential(
            PlaceLookup(self.observation_space["observations"], width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.policy = nn.Linear(width, int(self.action_space.n))
        self.value = nn.Linear(width, 1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features = self.trunk(batch[Columns.OBS]["observations"])
        logits = self.policy(features)
        is_illegal = batch[Columns.OBS]["action_mask"] == 0
        least = torch.finfo(logits.dtype).min
        return {
            Columns.ACTION_DIST_INPUTS: logits.masked_fill(is_illegal, least),
            Columns.EMBEDDINGS: features,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """The values of the observations, (batch)."""
        if embeddings is None:
            embeddings = self.trunk(batch[Columns.OBS]["observations"])
        values: torch.Tensor = self.value(embeddings)[..., 0]
        return values
