"""Train masked PPO with TorchRL on the native vector environment."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import ceil

import torch
from command_line import run
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import RewardSum
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from pyramid_env import get_rules
from pyramid_env.episode import step_limit
from pyramid_env.integrations.places import PlaceLookup
from pyramid_env.integrations.torchrl import make_torchrl_env
from pyramid_env.observation import observation_space

ROLLOUT = 64
BATCH = 1024
EPOCHS = 4


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    steps: int = 100_000
    """Environment steps to train for."""

    envs: int = 64
    """Games played side by side."""

    eval_games: int = 200
    """Games that the evaluation plays."""

    rules: str = "kawu"
    """Preset to train on."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    threads: int = 1
    """Threads that torch may use; more are slower on a busy machine."""


def network(rules: str, outputs: int) -> nn.Sequential:
    """Observations to so many numbers."""
    lookup = PlaceLookup(observation_space(get_rules(rules)), 256)
    hidden = (nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
    return nn.Sequential(lookup, *hidden, nn.Linear(256, outputs))


def masked_actor(rules: str, n_actions: int) -> ProbabilisticActor:
    """A policy that gives illegal actions no probability."""
    logits = TensorDictModule(
        network(rules, n_actions), in_keys=["observation"], out_keys=["logits"]
    )
    return ProbabilisticActor(
        logits,
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )


def train(arguments: Arguments) -> None:
    """Train, then evaluate."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    env = make_torchrl_env(arguments.envs, arguments.rules).append_transform(RewardSum())
    env.set_seed(arguments.seed)
    actor = masked_actor(arguments.rules, env.action_spec.space.n)
    critic = ValueOperator(network(arguments.rules, 1), in_keys=["observation"])
    advantage = GAE(
        gamma=0.998, lmbda=0.95, value_network=critic, average_gae=True, deactivate_vmap=True
    )
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-4)
    frames = ROLLOUT * arguments.envs
    collector = Collector(
        env,
        actor,
        frames_per_batch=frames,
        total_frames=frames * ceil(arguments.steps / frames),
        auto_register_policy_transforms=False,
    )
    for i, rollout in enumerate(collector, start=1):
        for _ in range(EPOCHS):
            with torch.no_grad():
                advantage(rollout)
            steps = rollout.reshape(-1)[torch.randperm(rollout.numel())]
            for batch in steps.split(BATCH):
                losses = loss(batch)
                total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        ended = rollout["next", "done"]
        cards = rollout["next", "episode_reward"][ended].mean()
        print(f"{i * frames:9,} steps, {cards:5.2f} pyramid cards a game", flush=True)
    collector.shutdown()
    print(f"removes {evaluate(arguments, actor):.2f} pyramid cards a game")


def evaluate(arguments: Arguments, actor: ProbabilisticActor) -> float:
    """Mean pyramid cards that the policy removes when it plays its most probable actions."""
    env = make_torchrl_env(arguments.eval_games, arguments.rules)
    env.set_seed(arguments.seed + 1)
    rules = get_rules(arguments.rules)
    n_steps = rules.longest_game or step_limit(rules)
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        rollout = env.rollout(n_steps, actor, break_when_any_done=False)
    done = rollout["next", "done"].long()
    is_first_game = done.cumsum(1) == done  # up to its end
    removed: float = (rollout["next", "reward"] * is_first_game).sum(1).mean().item()
    return removed


if __name__ == "__main__":
    sys.exit(run(train, Arguments))
