"""A saved policy as an agent: NumPy alone, no torch, and no pickled code is ever run.

A policy file is safetensors: the weights of an `agents.network`, as float16, and in the file's
metadata a JSON text that says what it was trained for.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.agent import ActionMasks, Actions, Agent, Observations
from agents.network import Network, PolicyConfig
from pyramid_env.actions import action_table
from pyramid_env.files import reading, reason_of, write_bytes
from pyramid_env.rules import Rules

POLICY_FORMAT = "pyramid-env policy 3"

_ROWS_AT_ONCE = 64
"""Rows that the network sees at once: what lies in the cache, 1.4 times as fast as 512."""

Weights = dict[str, NDArray[np.float32]]


class LearnedAgent(Agent):
    """Plays the likeliest legal action of a policy network."""

    def __init__(self, config: PolicyConfig, weights: Weights, name: str = "learned") -> None:
        self.name = name
        self.config = config
        self.privileged = config.information == "thoughtful"
        self._weights = weights
        self._network = Network(config)

    @classmethod
    def load(cls, path: str | Path, rules: Rules, name: str = "learned") -> LearnedAgent:
        """The agent of a policy file, to play `rules`.

        Raises `FileNotFoundError` for a missing file and `ValueError` for one that is damaged, no
        policy of ours, or made for rules with other places.
        """
        config, weights = read_policy(path)
        if action_table(config.rules) is not action_table(rules):
            raise ValueError(
                f"{path} was trained on {config.rules}, whose places are not those of {rules}"
            )
        return cls(config, weights, name)

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """The likeliest legal action of each row; the network is asked where there are several."""
        actions: Actions = action_masks.argmax(axis=1)
        rows = np.flatnonzero(np.count_nonzero(action_masks, axis=1) > 1)
        if rows.size:
            logits = self.logits(observations[rows])
            actions[rows] = np.where(action_masks[rows] != 0, logits, -np.inf).argmax(axis=1)
        return actions

    def probabilities(
        self, observations: Observations, action_masks: ActionMasks
    ) -> NDArray[np.float64]:
        """The policy's, over the legal actions."""
        logits = np.where(action_masks != 0, self.logits(observations).astype(np.float64), -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def logits(self, observations: Observations) -> NDArray[np.float32]:
        """The network's output before masking, float32[n, n_actions]."""
        return self._scores(observations)[0]

    def win_chances(self, observations: Observations) -> NDArray[np.float32]:
        """How likely each action leaves the game winnable, float32[n, n_actions], in its view."""
        chances = 1 / (1 + np.exp(-self._scores(observations)[1]))
        return chances.astype(np.float32)

    def _scores(
        self, observations: Observations
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        parts = []
        for start in range(0, len(observations) or 1, _ROWS_AT_ONCE):
            rows = observations[start : start + _ROWS_AT_ONCE].astype(np.int64)
            tokens = self._network.tokens(self._weights, rows)
            parts.append(self._network.scores(self._weights, tokens))
        logits, wins = (np.concatenate(part) for part in zip(*parts, strict=True))
        return logits, wins


def write_policy(path: str | Path, config: PolicyConfig, weights: Weights) -> None:
    """Write a policy file, whole or not at all."""
    text = json.dumps({"format": POLICY_FORMAT, **dataclasses.asdict(config)})
    tensors = {
        name: np.ascontiguousarray(weights[name], dtype=np.float16) for name in config.shapes()
    }
    # Written by Python, whose error for a full disk is an OSError.
    write_bytes(Path(path), save(tensors, metadata={"policy": text}))


def read_policy(path: str | Path) -> tuple[PolicyConfig, Weights]:
    """The configuration and the weights of a policy file; errors as `LearnedAgent.load`."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no policy file {path}")
    try:
        with (
            reading(path, "is damaged"),
            safe_open(path, framework="numpy") as file,
        ):
            metadata = file.metadata() or {}
            weights: Weights = {
                name: file.get_tensor(name).astype(np.float32)
                for name in file.keys()  # noqa: SIM118
            }
    except SafetensorError as error:
        raise ValueError(
            f"{path} is no safetensors file or is damaged: {reason_of(error)}"
        ) from None
    config = _read_config(path, metadata)
    found = {name: array.shape for name, array in weights.items()}
    for name, shape in config.shapes().items():
        if found.pop(name, None) != shape:
            raise ValueError(f"{path} is damaged: weight {name} must have shape {shape}")
    if found:
        raise ValueError(f"{path} is damaged: unknown weight {min(found)}")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise ValueError(f"{path} is damaged: a weight is not finite")
    return config, weights


def _read_config(path: str | Path, metadata: dict[str, str]) -> PolicyConfig:
    with reading(path, "is no policy file of pyramid-env"):
        fields: dict[str, Any] = json.loads(metadata["policy"])
        if fields.pop("format") != POLICY_FORMAT:
            raise ValueError(f"its format is not {POLICY_FORMAT!r}")
        return PolicyConfig(rules=Rules(**fields.pop("rules")), **fields)
