"""Train MaskablePPO of sb3-contrib on the native vector environment, evaluating on the way."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from command_line import run
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy

from pyramid_env.integrations.sb3 import PlaceEmbedding, PlacePolicy, PyramidVecEnv


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    steps: int = 300_000
    """Environment steps to train for."""

    envs: int = 64
    """Games played side by side."""

    eval_every: int = 100_000
    """Environment steps between two evaluations."""

    eval_games: int = 100
    """Games that an evaluation plays."""

    rules: str = "kawu"
    """Preset to train on."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    threads: int = 1
    """Threads that torch may use; more are slower on a busy machine."""

    out: Path | None = None
    """Folder for the best model; nothing is kept without one."""


def train(arguments: Arguments) -> None:
    """Train, evaluate on the way and at the end."""
    torch.set_num_threads(arguments.threads)
    env = PyramidVecEnv(arguments.envs, arguments.rules)
    eval_env = PyramidVecEnv(min(arguments.envs, arguments.eval_games), arguments.rules)
    eval_env.seed(arguments.seed + 1)
    evaluation = MaskableEvalCallback(
        eval_env,
        n_eval_episodes=arguments.eval_games,
        eval_freq=max(1, arguments.eval_every // arguments.envs),
        best_model_save_path=None if arguments.out is None else str(arguments.out),
    )
    model = MaskablePPO(
        PlacePolicy,
        env,
        n_steps=64,
        batch_size=min(1024, 64 * arguments.envs),
        n_epochs=4,
        learning_rate=5e-4,
        gamma=0.998,
        policy_kwargs={"features_extractor_class": PlaceEmbedding},
        seed=arguments.seed,
        device="cpu",
    )
    model.learn(arguments.steps, callback=evaluation)
    mean, spread = evaluate_policy(model, eval_env, n_eval_episodes=arguments.eval_games)
    print(f"removes {mean:.2f} pyramid cards a game (standard deviation {spread:.2f})")


if __name__ == "__main__":
    sys.exit(run(train, Arguments))
