"""Models of Stable-Baselines3 and sb3-contrib as agents, from the `.zip` that `model.save` writes.

Needs the extra ``train``.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.save_util import load_from_zip_file

from agents.agent import ActionMasks, Actions, Agent, Observations
from pyramid_env.actions import action_table
from pyramid_env.observation import observation_space
from pyramid_env.rules import Rules

# Only training needs these, and they are often pickled functions.
_NOT_NEEDED = ("learning_rate", "lr_schedule", "clip_range", "clip_range_vf")


class SB3Agent(Agent):
    """Plays the legal action that a model scores highest, by its policy or its action values.

    So a model that was trained without masks (PPO, A2C, TRPO, DQN, QR-DQN) answers no illegal
    action either; for MaskablePPO it is what `predict` with masks and `deterministic=True` gives.
    """

    def __init__(self, policy: Any, name: str) -> None:
        self.name = name
        self._policy = policy

    @classmethod
    def load(cls, path: Path, rules: Rules, name: str) -> SB3Agent:
        """The agent of a saved model, to play `rules`.

        Such a file holds pickled objects, which can run any code: it warns of that. Raises
        `FileNotFoundError` for a missing file, and `ValueError` for one that is no model, is of a
        kind without scores for single actions, or was trained on other spaces.
        """
        if not path.is_file():
            raise FileNotFoundError(f"no model file {path}")
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is no model of Stable-Baselines3: it is no zip file")
        warnings.warn(
            f"loading {path} runs whatever code is pickled in it: load only files that you trust",
            stacklevel=2,
        )
        try:
            data, parameters, _ = load_from_zip_file(
                path, custom_objects=dict.fromkeys(_NOT_NEEDED, 0.0)
            )
            policy = _make_policy(data or {}, parameters)
        except Exception as error:  # unpickling raises whatever it likes
            raise ValueError(
                f"{path} cannot be loaded as a model of Stable-Baselines3:"
                f" {type(error).__name__}: {error}"
            ) from error
        _check_spaces(path, policy, rules)
        return cls(policy, name)

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """The legal action with the highest score in each row."""
        shown, _ = self._policy.obs_to_tensor(observations)
        with torch.no_grad():
            scores = _scores(self._policy, shown).cpu().numpy()
        actions: Actions = np.where(action_masks != 0, scores, -np.inf).argmax(axis=1)
        return actions


def _make_policy(data: dict[str, Any], parameters: Any) -> Any:
    """The policy alone: all that playing needs, and nothing of the algorithm and its buffers."""
    options = {key: value for key, value in data["policy_kwargs"].items() if key != "device"}
    policy = data["policy_class"](
        data["observation_space"], data["action_space"], lambda _: 0.0, **options
    )
    policy.load_state_dict(parameters["policy"])
    policy.set_training_mode(False)
    if not any(hasattr(policy, name) for name in ("q_net", "quantile_net", "get_distribution")):
        raise ValueError(f"{type(policy).__name__} scores no single actions")
    if hasattr(policy, "lstm_actor"):
        raise ValueError(f"{type(policy).__name__} needs a memory, which agents do not have")
    return policy


def _check_spaces(path: Path, policy: Any, rules: Rules) -> None:
    n_actions = len(action_table(rules))
    if policy.observation_space != observation_space(rules) or policy.action_space.n != n_actions:
        raise ValueError(
            f"{path} was trained on other observations or actions than those of {rules}: write a"
            " function that loads it and translates, and name that"
        )


def _scores(policy: Any, shown: Any) -> Any:
    """A number an action, float32[n, n_actions], the highest for the best."""
    if hasattr(policy, "q_net"):
        return policy.q_net(shown)
    if hasattr(policy, "quantile_net"):
        return policy.quantile_net(shown).mean(dim=1)
    return policy.get_distribution(shown).distribution.logits
