"""A first layer for networks in torch that reads the observation's integers as such."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import MultiDiscrete, Space


class PlaceLookup(torch.nn.EmbeddingBag):
    """One embedding lookup for all places: the same as a linear layer over their one-hot codes.

    Takes observations of any integer or float dtype and of shape (..., places), and gives float32
    of shape (..., `features`). Raises `ValueError` for a space that is not `MultiDiscrete`.
    """

    offsets: torch.Tensor

    def __init__(self, observation_space: Space[Any], features: int) -> None:
        if not isinstance(observation_space, MultiDiscrete):
            raise ValueError(
                f"only MultiDiscrete observations can be looked up, not {observation_space}"
            )
        categories = observation_space.nvec.astype(np.int64)
        super().__init__(int(categories.sum()), features, mode="sum")
        torch.nn.init.normal_(self.weight, std=len(categories) ** -0.5)
        offsets = np.concatenate([[0], categories.cumsum()[:-1]])
        self.register_buffer("offsets", torch.as_tensor(offsets), persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Sum the embeddings of what lies at each place."""
        rows = (observations.long() + self.offsets).reshape(-1, len(self.offsets))
        return super().forward(rows).reshape(*observations.shape[:-1], self.embedding_dim)
