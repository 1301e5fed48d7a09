"""Maskable PPO (sb3-contrib) on the native vector environment.

Huang and Ontañón, "A Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2020.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from agents.learned import LearnedAgent, PolicyConfig, read_policy, write_policy
from agents.playing import play_deals
from agents.training.imitation import imitate_hint
from agents.training.network import ResidualTrunk, policy_weights, set_policy_weights
from agents.versions import package_versions
from pyramid_env.deals import FIRST_HELD_OUT_NUMBER
from pyramid_env.files import replacing
from pyramid_env.integrations.sb3 import PlacePolicy, PyramidVecEnv
from pyramid_env.observation import Information
from pyramid_env.rules import get_rules


@dataclass(frozen=True)
class PPOConfig:
    """Train a policy by maskable PPO and write it to a folder."""

    out: Path = Path("runs/ppo")
    """Folder to write to: policies, configuration, checkpoints, TensorBoard logs."""

    rules: str = "kawu"
    """Preset to train on."""

    steps: int = 20_000_000
    """Environment steps in all."""

    resume: bool = False
    """Go on with the run in the folder, under its own configuration but for `steps`."""

    start_from: Path | None = None
    """Policy file whose weights the policy starts with; the value head starts anew."""

    imitate: int = 0
    """Decisions of the greedy hint that the policy learns from before PPO begins."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    information: Information = "fair"
    """The view: fair, or thoughtful to train a privileged agent."""

    reward: Literal["cards", "win"] = "cards"
    """What a move earns: goal cards removed, or 1 for winning."""

    envs: int = 256
    """Games played side by side."""

    rollout: int = 64
    """Steps of each game between two updates."""

    batch: int = 2048
    """Steps in one gradient step."""

    epochs: int = 4
    """Passes over each rollout."""

    learning_rate: float = 5e-4
    """Adam's step size at the start; it falls linearly to zero."""

    gamma: float = 0.998
    """Discount a step."""

    gae_lambda: float = 0.95
    """Smoothing of the advantage estimate."""

    entropy: float = 0.01
    """Weight of the entropy bonus."""

    width: int = 256
    """Numbers in the network's residual stream."""

    blocks: int = 2
    """Residual blocks."""

    eval_every: int = 1_000_000
    """Steps between two evaluations on held-out deals, each with a checkpoint."""

    eval_deals: int = 500
    """Held-out deals an evaluation plays."""

    device: str = "auto"
    """Torch device: auto, cpu or cuda."""

    threads: int = 1
    """Threads that torch may use."""


COUNTS = ("steps", "envs", "rollout", "batch", "epochs", "width", "eval_every", "eval_deals")


def train_ppo(config: PPOConfig) -> Path:
    """Train as configured; the path of the best policy.

    Writes to `config.out`: ``config.json`` with package versions, ``checkpoint.pt`` to resume from,
    ``policy.safetensors`` (last) and ``best.safetensors`` (best on held-out deals),
    ``evaluations.csv``, ``model.zip`` for SB3, and TensorBoard logs. Raises `ValueError` when the
    folder already holds a run and `resume` is not set, or holds none to resume. Ctrl-C, and any
    error, stops after writing a checkpoint.
    """
    config = open_run(config)
    torch.set_num_threads(config.threads)
    model = make_model(config)
    done = load_checkpoint(model, config.out) if config.resume else 0
    if done >= config.steps:
        raise ValueError(f"the run has done {done} steps already: ask for more than that")
    model.set_logger(configure(str(config.out / "tensorboard"), ["tensorboard"]))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as progress:
        if config.imitate and not config.resume:
            imitate(model, config, progress)
        keeper = RunKeeper(config, progress)
        try:
            model.learn(config.steps - done, callback=keeper, reset_num_timesteps=False)
        finally:
            keeper.keep()
    model.save(config.out / "model.zip")
    return config.out / "best.safetensors"


def open_run(config: PPOConfig) -> PPOConfig:
    """Make the run's folder and write its configuration, or read it when resuming."""
    path = config.out / "config.json"
    get_rules(config.rules)
    for name in COUNTS:
        if getattr(config, name) < 1:
            raise ValueError(f"{name}={getattr(config, name)} is not allowed: 1 or more")
    if config.start_from is not None:
        read_policy(config.start_from)
    if config.resume:
        if not path.is_file():
            raise ValueError(f"nothing to resume: {path} does not exist")
        saved = json.loads(path.read_text())["config"]
        kept = {"out": config.out, "steps": config.steps, "resume": True, "start_from": None}
        return PPOConfig(**{**saved, **kept})
    if config.out.exists() and any(config.out.iterdir()):
        raise ValueError(f"{config.out} is not empty: resume the run in it or choose another --out")
    config.out.mkdir(parents=True, exist_ok=True)
    run = {"config": dataclasses.asdict(config), "versions": package_versions()}
    text = json.dumps(run, indent=2, default=str)
    write_text(path, text + "\n")
    return config


def make_model(config: PPOConfig) -> MaskablePPO:
    """A fresh model with its environment."""
    env = PyramidVecEnv(
        config.envs, config.rules, information=config.information, reward=config.reward
    )
    start = config.learning_rate
    model = MaskablePPO(
        PlacePolicy,
        env,
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
            "features_extractor_class": ResidualTrunk,
            "features_extractor_kwargs": {"features_dim": config.width, "blocks": config.blocks},
            "net_arch": [],
        },
    )
    # A random value head would be noise that undoes what a policy that starts out good knows.
    torch.nn.init.zeros_(model.policy.value_net.weight)
    if config.start_from is not None:
        _, weights = read_policy(config.start_from)
        policy: Any = model.policy
        set_policy_weights(weights, policy.features_extractor, policy.action_net)
    return model


def imitate(model: MaskablePPO, config: PPOConfig, progress: Progress) -> None:
    """The phase before PPO: learn from the greedy hint."""
    bar = progress.add_task("imitation", total=config.imitate)

    def show(done: int, agreement: float) -> None:
        progress.update(bar, completed=done)
        progress.console.print(f"{done:,} decisions: {agreement:.1%} as the hint's")

    imitate_hint(
        model.policy,
        get_rules(config.rules),
        decisions=config.imitate,
        learning_rate=config.learning_rate,
        seed=config.seed,
        progress=show,
    )


class RunKeeper(BaseCallback):
    """Evaluates on held-out deals now and then; keeps checkpoint, last and best policy."""

    def __init__(self, config: PPOConfig, progress: Progress) -> None:
        super().__init__()
        self.config = config
        self.progress = progress
        self.bar = progress.add_task("training", total=config.steps)
        self.curve = config.out / "evaluations.csv"

    def _on_training_start(self) -> None:
        if not self.curve.exists():
            write_text(self.curve, "steps,win_rate,mean_cards\n")
            self.keep()
        self.next_at = self.num_timesteps + self.config.eval_every

    def _on_step(self) -> bool:
        self.progress.update(self.bar, completed=min(self.num_timesteps, self.config.steps))
        return True

    def _on_rollout_start(self) -> None:  # right after an update
        if self.num_timesteps >= self.next_at:
            self.next_at += self.config.eval_every
            self.keep()

    def keep(self) -> None:
        """Evaluate, then write checkpoint and policies."""
        config = self.config
        policy: Any = self.model.policy
        weights = policy_weights(policy.features_extractor, policy.action_net)
        rules = get_rules(config.rules)
        policy_config = PolicyConfig(rules, config.width, config.blocks, config.information)
        deals = range(FIRST_HELD_OUT_NUMBER, FIRST_HELD_OUT_NUMBER + config.eval_deals)
        games, _ = play_deals(LearnedAgent(policy_config, weights), deals, rules)
        win_rate = sum(game.won for game in games) / len(games)
        mean_cards = sum(game.cards for game in games) / len(games)
        self.progress.console.print(
            f"{self.num_timesteps:,} steps: {win_rate:.1%} of {len(games)} held-out deals won,"
            f" {mean_cards:.2f} cards removed"
        )
        self.logger.record("held_out/win_rate", win_rate)
        self.logger.record("held_out/mean_cards", mean_cards)
        best_before = max((row[1:] for row in self._read_curve()), default=(-1.0, -1.0))
        rows = f"{self.curve.read_text()}{self.num_timesteps},{win_rate:.4f},{mean_cards:.3f}\n"
        write_text(self.curve, rows)
        write_policy(config.out / "policy.safetensors", policy_config, weights)
        if (win_rate, mean_cards) > best_before:
            write_policy(config.out / "best.safetensors", policy_config, weights)
        save_checkpoint(self.model, config.out)

    def _read_curve(self) -> list[tuple[float, ...]]:
        lines = self.curve.read_text().splitlines()[1:]
        return [tuple(map(float, line.split(","))) for line in lines]


def save_checkpoint(model: Any, out: Path) -> None:
    """Write all that `load_checkpoint` needs: tensors and numbers only, no pickled code."""
    state = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "steps": model.num_timesteps,
    }
    with replacing(out / "checkpoint.pt") as draft:
        torch.save(state, draft)


def load_checkpoint(model: Any, out: Path) -> int:
    """Take up a checkpoint; the steps that were done."""
    state = torch.load(out / "checkpoint.pt", map_location=model.device, weights_only=True)
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps = state["steps"]
    return int(state["steps"])


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text)
