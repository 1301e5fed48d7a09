"""Train a masked double DQN with Tianshou."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from command_line import run
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OffPolicyTrainerParams
from torch import nn

from pyramid_env import get_rules
from pyramid_env.actions import action_table
from pyramid_env.integrations.places import PlaceLookup
from pyramid_env.integrations.tianshou import make_tianshou_envs
from pyramid_env.observation import observation_space


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    steps: int = 40_000
    """Environment steps to train for."""

    envs: int = 16
    """Games played side by side."""

    steps_per_epoch: int = 10_000
    """Steps between two evaluations."""

    eval_games: int = 100
    """Games that an evaluation plays."""

    rules: str = "kawu"
    """Preset to train on."""

    seed: int = 0
    """Seed of the deals, the weights and the exploration."""

    threads: int = 1
    """Threads that torch may use; more are slower on a busy machine."""


class ActionValues(nn.Module):
    """Observations to the value of every action, in the signature that Tianshou calls."""

    def __init__(self, rules: str, width: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            PlaceLookup(observation_space(get_rules(rules)), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, len(action_table(get_rules(rules)))),
        )

    def forward(
        self, obs: np.ndarray[Any, Any] | torch.Tensor, state: Any = None, info: Any = None
    ) -> tuple[torch.Tensor, Any]:
        """(batch, places) to (batch, n_actions), and the state as it was."""
        return self.layers(torch.as_tensor(obs)), state


def make_dqn(arguments: Arguments, envs: Any) -> DQN[Any]:
    """A double DQN over the actions that the mask allows."""
    policy = DiscreteQLearningPolicy(
        model=ActionValues(arguments.rules),
        action_space=envs.action_space[0],
        observation_space=envs.observation_space[0],
        eps_training=0.1,
    )
    return DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=5e-4),
        gamma=0.99,
        n_step_return_horizon=3,
        target_update_freq=500,
    )


def train(arguments: Arguments) -> None:
    """Train, with an evaluation after each epoch and at the end."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    np.random.seed(arguments.seed)  # Tianshou explores with it
    envs = make_tianshou_envs(arguments.envs, arguments.rules)
    eval_envs = make_tianshou_envs(min(arguments.envs, arguments.eval_games), arguments.rules)
    envs.seed(arguments.seed)
    eval_envs.seed(arguments.seed + 1000)
    dqn = make_dqn(arguments, envs)
    buffer = VectorReplayBuffer(20_000, arguments.envs)
    test_collector = Collector(dqn, eval_envs)
    parameters = OffPolicyTrainerParams(
        max_epochs=max(1, arguments.steps // arguments.steps_per_epoch),
        epoch_num_steps=min(arguments.steps_per_epoch, arguments.steps),
        collection_step_num_env_steps=10 * arguments.envs,
        update_step_num_gradient_steps_per_sample=0.05,
        batch_size=256,
        training_collector=Collector(dqn, envs, buffer, exploration_noise=True),
        test_collector=test_collector,
        test_step_num_episodes=arguments.eval_games,
    )
    dqn.run_training(parameters)
    test_collector.reset()
    played = test_collector.collect(n_episode=arguments.eval_games)
    print(f"removes {played.returns.mean():.2f} pyramid cards a game")


if __name__ == "__main__":
    sys.exit(run(train, Arguments))
