"""Train masked PPO with Ray RLlib, on a Ray instance of its own or on a cluster."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
import torch
from command_line import run
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from pyramid_env import PyramidVectorEnv
from pyramid_env.integrations.masks import MaskInObservation
from pyramid_env.integrations.rllib import MaskedPolicyModule, register
from pyramid_env.rules import get_rules


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    num_env_runners: int = 1
    """Processes that play, as many as there are cores to spare; with 0 the trainer plays itself."""

    envs: int = 16
    """Games that each of them plays side by side."""

    steps: int = 40_000
    """Environment steps to train for."""

    steps_per_update: int = 4000
    """Steps of all games between two updates."""

    eval_games: int = 50
    """Games that the evaluation plays."""

    rules: str = "kawu"
    """Preset to train on."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    address: str | None = None
    """Ray cluster to train on, such as ``auto``; without one, Ray starts here and stops again."""


def configuration(arguments: Arguments) -> PPOConfig:
    """PPO on the new API stack."""
    get_rules(arguments.rules)  # a wrong name is told here, not by a process that plays
    config: Any = (
        PPOConfig()
        .environment(register(), env_config={"rules": arguments.rules})
        .env_runners(
            num_env_runners=arguments.num_env_runners,
            num_envs_per_env_runner=arguments.envs,
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedPolicyModule))
        .training(
            train_batch_size_per_learner=arguments.steps_per_update,
            minibatch_size=min(1000, arguments.steps_per_update),
            num_epochs=4,
            lr=5e-4,
            gamma=0.998,
            lambda_=0.95,
            entropy_coeff=0.01,
            grad_clip=0.5,
        )
        .debugging(seed=arguments.seed, log_level="ERROR")
    )
    return config


def train(arguments: Arguments) -> None:
    """Train, then evaluate."""
    config = configuration(arguments)
    local = {"num_cpus": arguments.num_env_runners + 1, "include_dashboard": False}
    ray.init(arguments.address, log_to_driver=False, **({} if arguments.address else local))
    try:
        algorithm = config.build_algo()
        done = 0
        while done < arguments.steps:
            played = algorithm.train()["env_runners"]
            done = int(played["num_env_steps_sampled_lifetime"])
            mean = played.get("episode_return_mean", float("nan"))
            print(f"{done:9,} steps, {mean:5.2f} pyramid cards a game", flush=True)
        mean = evaluate(arguments, algorithm.get_module())
        algorithm.stop()
        print(f"removes {mean:.2f} pyramid cards a game")
    finally:
        ray.shutdown()


@torch.no_grad()
def evaluate(arguments: Arguments, module: Any) -> float:
    """Mean pyramid cards that the most probable actions remove, over one game of each row."""
    games = PyramidVectorEnv(arguments.eval_games, arguments.rules)
    envs = MaskInObservation(games, "observations", "action_mask", np.float32)
    observations, _ = envs.reset(seed=arguments.seed + 1)
    cards = np.full(arguments.eval_games, -1)
    while (cards < 0).any():
        tensors = {key: torch.as_tensor(array) for key, array in observations.items()}
        logits = module.forward_inference({Columns.OBS: tensors})[Columns.ACTION_DIST_INPUTS]
        observations, _, terminated, truncated, infos = envs.step(logits.argmax(1).numpy())
        is_first_end = (terminated | truncated) & (cards < 0)
        cards[is_first_end] = infos["pyramid_cards_removed"][is_first_end]
    return float(cards.mean())


if __name__ == "__main__":
    sys.exit(run(train, Arguments))
