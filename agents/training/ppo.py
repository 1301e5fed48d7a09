"""Maskable PPO (sb3-contrib) on the native vector environment.

Huang and Ontañón, "A Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2020.
"""

from __future__ import annotations

import io
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from rich.progress import Progress
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from agents.training.network import TokenExtractor, TokenPolicy
from agents.training.run import (
    Keeper,
    RunConfig,
    check_longer,
    load_checkpoint,
    next_evaluation,
    open_run,
    policy_config,
    progress_bars,
    save_checkpoint,
    start_from,
)
from agents.training.shaping import ShapedVecEnv
from pyramid_env.files import write_bytes
from pyramid_env.integrations.sb3 import PyramidVecEnv
from pyramid_env.observation import Information


@dataclass(frozen=True)
class PPOConfig(RunConfig):
    """Train a policy by maskable PPO."""

    steps: int = 2_000_000
    """Environment steps in all."""

    information: Information = "fair"
    """The view: fair, or thoughtful to train a privileged agent."""

    reward: Literal["cards", "win", "shaped"] = "shaped"
    """What a move earns: goal cards removed, 1 for winning, or -1 for throwing the win away, as the
    exact solver sees it (`agents.training.shaping`)."""

    envs: int = 256
    """Games played side by side."""

    rollout: int = 32
    """Steps of each game between two updates."""

    batch: int = 512
    """Steps in one gradient step."""

    epochs: int = 2
    """Passes over each rollout."""

    learning_rate: float = 5e-4
    """Adam's step size at the start; it falls linearly to zero."""

    gamma: float = 1.0
    """Discount a step."""

    gae_lambda: float = 0.95
    """Smoothing of the advantage estimate."""

    entropy: float = 0.01
    """Weight of the entropy bonus."""

    eval_every: int = 200_000
    """Steps between two evaluations on held-out deals, each with a checkpoint."""


def train_ppo(config: PPOConfig) -> Path:
    """Train as configured; the path of the best policy.

    Writes to `config.out`: ``config.json`` with package versions, ``checkpoint.pt`` to resume from,
    ``policy.safetensors`` (last) and ``best.safetensors`` (best on held-out deals),
    ``evaluations.csv``, ``model.zip`` for SB3, and TensorBoard logs. Raises `ValueError` as
    `open_run` does. Ctrl-C, and any error, stops after writing the state at the last update to the
    checkpoint; resuming goes on from there and, on the same machine, ends where an uninterrupted
    run would.
    """
    with open_run(config, "steps") as config:
        torch.set_num_threads(config.threads)
        model = make_model(config)
        done = resume(model, config.out) if config.resume else 0
        check_longer(done, config.steps, "steps")
        model.set_logger(configure(str(config.out / "tensorboard"), ["tensorboard"]))
        with progress_bars() as progress:
            keeper = RunKeeper(config, progress)
            try:
                model.learn(config.steps - done, callback=keeper, reset_num_timesteps=False)
                # Before the last checkpoint, which says that all is done.
                save_model(model, config.out / "model.zip")
                keeper.keep()
            except BaseException:
                keeper.save()
                raise
    return config.out / "best.safetensors"


def make_model(config: PPOConfig) -> MaskablePPO:
    """A fresh model with its environment."""
    start = config.learning_rate
    model = MaskablePPO(
        TokenPolicy,
        _make_games(config),
        learning_rate=lambda remaining: start * remaining,
        n_steps=config.rollout,
        batch_size=config.batch,
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        ent_coef=config.entropy,
        seed=config.seed,
        device=config.device,
        policy_kwargs={
            "features_extractor_class": TokenExtractor,
            "features_extractor_kwargs": {
                "config": policy_config(config, config.information),
                "precision": config.precision,
            },
            "net_arch": [],
        },
    )
    start_from(net_of(model), config.start_from)
    return model


def _make_games(config: PPOConfig) -> PyramidVecEnv:
    view = config.information
    if config.reward == "shaped":
        return ShapedVecEnv(config.envs, config.rules, gamma=config.gamma, information=view)
    return PyramidVecEnv(config.envs, config.rules, information=view, reward=config.reward)


def net_of(model: MaskablePPO) -> Any:
    """The `PolicyNet` of a model."""
    policy: Any = model.policy
    return policy.features_extractor.net


def save_model(model: MaskablePPO, path: Path) -> None:
    """Write the file that `MaskablePPO.load` reads, whole or not at all."""
    content = io.BytesIO()
    model.save(content)
    write_bytes(path, content.getbuffer())


class RunKeeper(BaseCallback):
    """Evaluates on held-out deals now and then; keeps checkpoint, last and best policy."""

    def __init__(self, config: PPOConfig, progress: Progress) -> None:
        super().__init__()
        self.config = config
        self.progress = progress
        self.bar = progress.add_task("steps", total=config.steps)
        self.keeper = Keeper(config.out, config.eval_deals, progress)
        self.state: dict[str, Any] | None = None

    def _on_training_start(self) -> None:
        if self.num_timesteps == 0:
            self.keep()
        self.next_at = next_evaluation(self.num_timesteps, self.config.eval_every)

    def _on_step(self) -> bool:
        self.progress.update(self.bar, completed=min(self.num_timesteps, self.config.steps))
        return True

    def _on_rollout_start(self) -> None:  # right after an update
        if self.num_timesteps >= self.next_at:
            self.next_at = next_evaluation(self.num_timesteps, self.config.eval_every)
            self.keep()
        else:
            self.state = state_of(self.model)  # type: ignore[arg-type]

    def keep(self) -> None:
        """Evaluate, then write checkpoint and policies."""
        self.state = state_of(self.model)  # type: ignore[arg-type]
        net = net_of(self.model)  # type: ignore[arg-type]
        self.keeper.keep(self.num_timesteps, "steps", net.config, net.export())
        self.save()

    def save(self) -> None:
        """Write the state at the last update, if there was one; a rollout may be under way."""
        if self.state is not None:
            save_checkpoint(self.state, self.config.out)


def state_of(model: MaskablePPO) -> dict[str, Any]:
    """What a run can go on from between two rollouts, as if it had not stopped."""
    policy: Any = model.policy
    env: Any = model.env
    shuffling: Any = np.random.get_state()  # SB3 uses the global generator
    return {
        "policy": deepcopy(policy.state_dict()),
        "optimizer": deepcopy(policy.optimizer.state_dict()),
        "steps": model.num_timesteps,
        "games": {name: torch.as_tensor(array) for name, array in env.get_state().items()},
        "starts": torch.as_tensor(model._last_episode_starts),
        "torch": torch.get_rng_state(),
        "numpy": [torch.as_tensor(shuffling[1].astype(np.int64)), *shuffling[2:]],
    }


STATE_NAMES = {"policy", "optimizer", "steps", "games", "starts", "torch", "numpy"}


def resume(model: MaskablePPO, out: Path) -> int:
    """Take up a checkpoint, if there is one; the steps that were done."""
    state = load_checkpoint(out, model.device, STATE_NAMES)
    if state is None:
        return 0
    policy: Any = model.policy
    env: Any = model.env
    policy.load_state_dict(state["policy"])
    policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps = state["steps"]
    games = {name: tensor.cpu().numpy() for name, tensor in state["games"].items()}
    model._last_obs = env.set_state(games)
    model._last_episode_starts = state["starts"].cpu().numpy()
    torch.set_rng_state(state["torch"].cpu())
    keys, *rest = state["numpy"]
    np.random.set_state(("MT19937", keys.cpu().numpy().astype(np.uint32), *rest))
    return int(state["steps"])
