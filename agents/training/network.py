"""The policy network as a torch module, and as the policy of `MaskablePPO`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.learned import Weights
from agents.network import N_TOKENS, TABLE_TOKEN, Network, PolicyConfig
from pyramid_env.integrations.sb3 import PlacePolicy


class PolicyNet(nn.Module):
    """`agents.network.Network` with weights to be learned."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(_first_value(name, shape))
                for name, shape in config.shapes().items()
            }
        )
        self._networks: dict[torch.device, Network] = {}

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Observations (batch, size) to policy and win logits, (batch, n_actions) each."""
        tokens = self.tokens(observations)
        return self.scores("action", tokens, observations), self.scores("win", tokens, observations)

    def tokens(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations (batch, size) to (batch, `N_TOKENS`, width)."""
        tokens = self._network().tokens(dict(self.weights.items()), observations.long())
        return tokens  # type: ignore[no-any-return]

    def scores(self, head: str, tokens: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """One number an action from a head, (batch, n_actions)."""
        weights = dict(self.weights.items())
        found = self._network().scores(weights, head, tokens, observations.long())
        return found  # type: ignore[no-any-return]

    def export(self) -> Weights:
        """The weights, named as a policy file has them."""
        return {
            name: tensor.detach().float().cpu().numpy().copy()
            for name, tensor in self.weights.items()
        }

    def take(self, config: PolicyConfig, weights: Weights) -> None:
        """Take up weights; `ValueError` where they are of a network of another size."""
        if config.shapes() != self.config.shapes():
            raise ValueError(
                f"these weights are of a network of another size: width {config.width}, layers"
                f" {config.layers}, not width {self.config.width}, layers {self.config.layers}"
            )
        with torch.no_grad():
            for name, array in weights.items():
                self.weights[name].copy_(torch.as_tensor(array))

    def _network(self) -> Network:
        device = self.weights["norm/bias"].device
        if device not in self._networks:
            self._networks[device] = Network(
                self.config, torch, lambda array: torch.as_tensor(np.array(array), device=device)
            )
        return self._networks[device]


class TokenExtractor(BaseFeaturesExtractor):
    """The network up to its heads: observations to (batch, `N_TOKENS` * width + size).

    The observation comes last, since the action head needs it. `precision` is that of the products.
    """

    def __init__(
        self, observation_space: Space[Any], config: PolicyConfig, precision: str = "float32"
    ) -> None:
        size = int(np.prod(observation_space.shape or ()))
        super().__init__(observation_space, N_TOKENS * config.width + size)
        self.net = PolicyNet(config)
        self._coarse = precision == "bfloat16"

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, size) to (batch, `features_dim`)."""
        with torch.autocast(observations.device.type, torch.bfloat16, enabled=self._coarse):
            tokens = self.net.tokens(observations).float().flatten(1)
        return torch.cat([tokens, observations.to(tokens.dtype)], dim=1)


class RankPolicy(PlacePolicy):
    """A `MaskablePPO` policy that is a `PolicyNet`, on a `TokenExtractor`."""

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        extractor: Any = self.features_extractor
        self.action_net = _ActionHead(extractor.net)
        self.value_net: Any = _ValueOfFeatures(extractor.net.config.width)
        optimizer: Any = self.optimizer_class
        self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class _ActionHead(nn.Module):
    def __init__(self, net: PolicyNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        tokens, rest = _split(features, self.net.config.width)
        return self.net.scores("action", tokens, rest)


class ValueHead(nn.Module):
    """One number a state, from tokens (batch, `N_TOKENS`, width) to (batch, 1)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(2 * width, 1)
        # A random head would be noise that undoes what a policy that starts out good knows.
        nn.init.zeros_(self.layer.weight)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """One number a state."""
        pooled = torch.cat([tokens.mean(dim=1), tokens[:, TABLE_TOKEN]], dim=1)
        return self.layer(pooled)  # type: ignore[no-any-return]


class _ValueOfFeatures(ValueHead):
    """A value head behind a `TokenExtractor`."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.width = width

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        tokens, _ = _split(features, self.width)
        return super().forward(tokens)


def _split(features: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What `TokenExtractor` has put together."""
    end = N_TOKENS * width
    return features[:, :end].reshape(len(features), N_TOKENS, width), features[:, end:]


def _first_value(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """What a weight is before anything is learned."""
    if name.endswith("bias"):
        return torch.zeros(shape)
    if "norm" in name:
        return torch.ones(shape)
    bound = shape[-1] ** -0.5
    if name.startswith(("action", "win")):
        bound *= 0.1  # all actions about as likely
    return torch.empty(shape).uniform_(-bound, bound)
