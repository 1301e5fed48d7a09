"""The policy network in torch; `agents.learned` runs the same one with NumPy."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.spaces import Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.learned import NORM_EPSILON, Weights
from pyramid_env.integrations.sb3 import PlaceEmbedding


class ResidualBlock(nn.Module):
    """Adds to its input what two layers make of it, normalised first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=NORM_EPSILON)
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        """(batch, width) to (batch, width)."""
        added: torch.Tensor = self.outer(torch.relu(self.inner(self.norm(stream))))
        return stream + added


class ResidualTrunk(BaseFeaturesExtractor):
    """Embedding lookup, residual blocks, norm: observations to (batch, `features_dim`)."""

    def __init__(
        self, observation_space: Space[Any], features_dim: int = 256, blocks: int = 2
    ) -> None:
        super().__init__(observation_space, features_dim)
        self.embedding = PlaceEmbedding(observation_space, features_dim)
        self.blocks = nn.Sequential(*(ResidualBlock(features_dim) for _ in range(blocks)))
        self.norm = nn.LayerNorm(features_dim, eps=NORM_EPSILON)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, places) to (batch, `features_dim`)."""
        features: torch.Tensor = self.norm(self.blocks(self.embedding(observations)))
        return features


def policy_weights(trunk: ResidualTrunk, action: nn.Linear) -> Weights:
    """The weights of a trunk and its action layer, named as a policy file has them."""
    named = {**trunk.state_dict(), "action.weight": action.weight, "action.bias": action.bias}
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in named.items()}


def set_policy_weights(weights: Weights, trunk: ResidualTrunk, action: nn.Linear) -> None:
    """The reverse; `ValueError` where the weights are of a network of another size."""
    tensors = {name: torch.as_tensor(array) for name, array in weights.items()}
    of_action = {name: tensors.pop(f"action.{name}") for name in ("weight", "bias")}
    try:
        trunk.load_state_dict(tensors)
        action.load_state_dict(of_action)
    except RuntimeError as error:
        raise ValueError(f"these weights are of a network of another size: {error}") from None
