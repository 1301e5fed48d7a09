"""The policy network as a torch module, and as the policy of `MaskablePPO`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Space
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn
from torch.nn import functional

from agents.learned import Weights
from agents.network import ALL_CARDS, NORM_EPSILON, Network, PolicyConfig, pyramid_relations
from pyramid_env.integrations.sb3 import PlacePolicy
from pyramid_env.pyramid import N_SLOTS


class PolicyNet(nn.Module):
    """`agents.network.Network` with weights to be learned, which are float32.

    `precision` is that of all else between observations and logits.
    """

    def __init__(self, config: PolicyConfig, precision: str = "float32") -> None:
        super().__init__()
        self.config = config
        self.precision: torch.dtype = getattr(torch, precision)
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(_first_value(name, shape, config))
                for name, shape in config.shapes().items()
            }
        )
        self._networks: dict[torch.device, Network] = {}

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Observations (batch, size) to policy and win logits, float32 (batch, n_actions) each."""
        return self.scores(self.tokens(observations))

    def tokens(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations (batch, size) to (batch, places + 1, width), in the net's precision."""
        tokens = self._network().tokens(self._in_precision(), observations.long())
        return tokens  # type: ignore[no-any-return]

    def scores(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Policy and win logits, float32 (batch, n_actions) each."""
        weights = self._in_precision()
        logits, wins = self._network().scores(weights, tokens.to(self.precision))
        return logits.float(), wins.float()

    def export(self) -> Weights:
        """The weights, named as a policy file has them."""
        return {
            name: tensor.detach().float().cpu().numpy().copy()
            for name, tensor in self.weights.items()
        }

    def take(self, config: PolicyConfig, weights: Weights) -> None:
        """Take up the weights of a network of this size, or of one with fewer blocks.

        The blocks that it has not come after its own, and change nothing at first. `ValueError`
        where it is of another size.
        """
        check_fits(config, self.config)
        with torch.no_grad():
            for name, array in weights.items():
                self.weights[name].copy_(torch.as_tensor(array))
            for i in range(config.layers, self.config.layers):
                self.weights[f"blocks/{i}/outer"].zero_()

    def _in_precision(self) -> dict[str, torch.Tensor]:
        return {name: weight.to(self.precision) for name, weight in self.weights.items()}

    def _network(self) -> Network:
        device = self.weights["norm"].device
        if device not in self._networks:
            self._networks[device] = Network(
                self.config,
                torch,
                partial(_to_tensor, device, self.precision),
                _layer_norm,
                torch.relu,
            )
        return self._networks[device]


def check_fits(found: PolicyConfig, wanted: PolicyConfig) -> None:
    """Raise `ValueError` where a network cannot take up the weights of another."""
    if not found.shapes().items() <= wanted.shapes().items():
        raise ValueError(
            f"these weights are of a network of another size: width {found.width}, layers"
            f" {found.layers}, not width {wanted.width}, layers {wanted.layers} or fewer"
        )


def _to_tensor(device: torch.device, precision: torch.dtype, array: NDArray[Any]) -> torch.Tensor:
    tensor = torch.as_tensor(np.array(array), device=device)
    return tensor.to(precision) if tensor.is_floating_point() else tensor


def _layer_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, weight.shape, weight, eps=NORM_EPSILON)


class TokenExtractor(BaseFeaturesExtractor):
    """The network up to its heads: observations to (batch, (places + 1) * width)."""

    def __init__(
        self, observation_space: Space[Any], config: PolicyConfig, precision: str = "float32"
    ) -> None:
        super().__init__(observation_space, config.n_tokens * config.width)
        self.net = PolicyNet(config, precision)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, size) to (batch, `features_dim`)."""
        return self.net.tokens(observations).float().flatten(1)


class TokenPolicy(PlacePolicy):
    """A `MaskablePPO` policy that is a `PolicyNet`, on a `TokenExtractor`."""

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        extractor: Any = self.features_extractor
        self.action_net = _ActionHead(extractor.net)
        self.value_net: Any = _ValueOfFeatures(extractor.net.config)
        optimizer: Any = self.optimizer_class
        self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class _ActionHead(nn.Module):
    def __init__(self, net: PolicyNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.net.scores(_tokens(features, self.net.config))[0]


class ValueHead(nn.Module):
    """One number a state, from tokens (batch, places + 1, width) to (batch, 1)."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.layer = nn.Linear(config.width, 1)
        # A random head would be noise that undoes what a policy that starts out good knows.
        nn.init.zeros_(self.layer.weight)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """One number a state."""
        return self.layer(tokens[:, ALL_CARDS].float())  # type: ignore[no-any-return]


class _ValueOfFeatures(ValueHead):
    """A value head behind a `TokenExtractor`."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward(_tokens(features, self.config))


def _tokens(features: torch.Tensor, config: PolicyConfig) -> torch.Tensor:
    """What `TokenExtractor` has flattened."""
    return features.reshape(len(features), config.n_tokens, config.width)


def _first_value(name: str, shape: tuple[int, ...], config: PolicyConfig) -> torch.Tensor:
    """What a weight is before anything is learned."""
    kind = name.rsplit("/", 1)[-1]
    if kind == "bias":
        return torch.zeros(shape)
    if kind == "norm":
        return torch.ones(shape)
    if name in ("places", "order", "passes"):
        return 0.3 * torch.randn(shape)
    if kind == "places":
        return _neighbours(config) + 0.02 * torch.randn(shape)
    bound = shape[-1] ** -0.5
    if kind in ("outer", "scores"):
        bound *= 0.3  # blocks that change little, and all actions about as likely
    return torch.empty(shape).uniform_(-bound, bound)


def _neighbours(config: PolicyConfig) -> torch.Tensor:
    """(heads, cards, cards): whom a card hears from at first, each head one or more of these."""
    above, covers = map(torch.from_numpy, pyramid_relations())
    drawn_next = torch.diag(torch.ones(config.rules.stock_size - 1), 1)
    found = torch.zeros(config.heads, config.n_cards, config.n_cards)
    for head, in_pyramid, in_order in (
        (0, 0.7 * covers, 0),
        (1, 0.7 * covers.T, 0),
        (2, 0.25 * above, drawn_next),
        (3, 0.25 * above.T, drawn_next.T),
    ):
        hears = found[head % config.heads]
        hears[:N_SLOTS, :N_SLOTS] += in_pyramid
        hears[config.n_face_up :, config.n_face_up :] += in_order
    return found
