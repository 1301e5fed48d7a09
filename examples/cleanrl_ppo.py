"""Masked PPO in one file, in the manner of CleanRL, on the native vector environment.

The environment resets an ended game at its next step, whose action it ignores (Gymnasium's
autoreset mode NEXT_STEP). That step is no transition of any game, so it is left out of the loss.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from command_line import run
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

from pyramid_env import PyramidVectorEnv
from pyramid_env.integrations.places import PlaceLookup


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    steps: int = 300_000
    """Environment steps to train for."""

    envs: int = 64
    """Games played side by side."""

    rollout: int = 64
    """Steps of each game between two updates."""

    batch: int = 1024
    """Transitions in one gradient step."""

    epochs: int = 4
    """Passes over each rollout."""

    learning_rate: float = 5e-4
    """Adam's step size."""

    gamma: float = 0.998
    """Discount a step."""

    gae_lambda: float = 0.95
    """Smoothing of the advantage estimate."""

    clip: float = 0.2
    """How far the policy may move from the one that played."""

    entropy: float = 0.01
    """Weight of the entropy bonus."""

    eval_games: int = 200
    """Games that the evaluation plays."""

    rules: str = "kawu"
    """Preset to train on."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    threads: int = 1
    """Threads that torch may use; more are slower on a busy machine."""


class Network(nn.Module):
    """Policy and value on one trunk."""

    def __init__(self, env: PyramidVectorEnv, width: int = 256) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            PlaceLookup(env.single_observation_space, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.actor = nn.Linear(width, int(env.single_action_space.n))  # type: ignore[attr-defined]
        self.critic = nn.Linear(width, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def forward(
        self, observations: torch.Tensor, masks: torch.Tensor
    ) -> tuple[Categorical, torch.Tensor]:
        """The policy over legal actions, and the value, for (batch, ...) of each."""
        features = self.trunk(observations)
        logits = self.actor(features)
        legal = logits.masked_fill(masks == 0, torch.finfo(logits.dtype).min)
        return Categorical(logits=legal), self.critic(features)[:, 0]


class Steps(NamedTuple):
    """Steps of all games, each a tensor (rollout, envs, ...), or a batch of them."""

    observations: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor
    is_dummy: torch.Tensor  # the step that resets a game


def advantages(
    steps: Steps, next_values: torch.Tensor, gamma: float, gae_lambda: float
) -> torch.Tensor:
    """Generalised advantage estimates (rollout, envs); those of dummy steps mean nothing.

    `next_values` (envs) are of the observations after the last step. A terminated game is worth
    nothing afterwards; a truncated one what its last observation is. Neither looks beyond its end.
    """
    estimates = torch.zeros_like(steps.rewards)
    later = torch.zeros_like(next_values)
    for t in reversed(range(len(estimates))):
        goes_on = ~steps.terminated[t]
        error = steps.rewards[t] + gamma * next_values * goes_on - steps.values[t]
        later = error + gamma * gae_lambda * later * (goes_on & ~steps.truncated[t])
        estimates[t] = later
        next_values = steps.values[t]
    return estimates


class Player:
    """Plays the games and hands out rollouts."""

    def __init__(self, arguments: Arguments, env: PyramidVectorEnv, network: Network) -> None:
        self.env, self.network, self.arguments = env, network, arguments
        observations, infos = env.reset(seed=arguments.seed)
        self.observations = torch.as_tensor(observations)
        self.masks = torch.as_tensor(infos["action_mask"])
        self.has_ended = torch.zeros(arguments.envs, dtype=torch.bool)
        self.cards: list[int] = []  # removed in the games that ended

    @torch.no_grad()
    def rollout(self) -> tuple[Steps, torch.Tensor]:
        """The next steps, and the values of the observations after them."""
        steps = [self.step() for _ in range(self.arguments.rollout)]
        _, next_values = self.network(self.observations, self.masks)
        return Steps(*map(torch.stack, zip(*steps, strict=True))), next_values

    def step(self) -> Steps:
        """One step of all games."""
        policy, values = self.network(self.observations, self.masks)
        actions = policy.sample()  # type: ignore[no-untyped-call]
        observations, rewards, terminated, truncated, infos = self.env.step(actions.numpy())
        ended = terminated | truncated
        self.cards += infos["pyramid_cards_removed"][ended].tolist()
        step = Steps(
            self.observations,
            self.masks,
            actions,
            policy.log_prob(actions),  # type: ignore[no-untyped-call]
            values,
            torch.as_tensor(rewards, dtype=torch.float32),
            torch.as_tensor(terminated),
            torch.as_tensor(truncated),
            self.has_ended,
        )
        self.observations = torch.as_tensor(observations)
        self.masks = torch.as_tensor(infos["action_mask"])
        self.has_ended = torch.as_tensor(ended)
        return step


def loss_of(
    arguments: Arguments, network: Network, batch: Steps, advantage: torch.Tensor
) -> torch.Tensor:
    """The loss of PPO: clipped policy, value, entropy."""
    policy, values = network(batch.observations, batch.masks)
    log_probs = policy.log_prob(batch.actions)  # type: ignore[no-untyped-call]
    ratio = (log_probs - batch.log_probs).exp()
    target = batch.values + advantage
    advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
    clipped = ratio.clamp(1 - arguments.clip, 1 + arguments.clip)
    policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
    value_loss = 0.5 * (values - target).square().mean()
    entropy = policy.entropy().mean()  # type: ignore[no-untyped-call]
    loss: torch.Tensor = policy_loss + 0.5 * value_loss - arguments.entropy * entropy
    return loss


def train(arguments: Arguments) -> None:
    """Train, then evaluate."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    env = PyramidVectorEnv(arguments.envs, arguments.rules, autoreset_mode=AutoresetMode.NEXT_STEP)
    network = Network(env)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate, eps=1e-5)
    player = Player(arguments, env, network)
    per_rollout = arguments.rollout * arguments.envs
    for done in range(per_rollout, arguments.steps + per_rollout, per_rollout):
        steps, next_values = player.rollout()
        estimates = advantages(steps, next_values, arguments.gamma, arguments.gae_lambda)
        is_real = ~steps.is_dummy.flatten()
        flat = Steps(*(tensor.flatten(0, 1)[is_real] for tensor in steps))
        flat_estimates = estimates.flatten()[is_real]
        for _ in range(arguments.epochs):
            order = torch.randperm(len(flat_estimates))
            for start in range(0, len(order), arguments.batch):
                chosen = order[start : start + arguments.batch]
                batch = Steps(*(tensor[chosen] for tensor in flat))
                loss = loss_of(arguments, network, batch, flat_estimates[chosen])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()
        mean = np.mean(player.cards[-500:]) if player.cards else np.nan
        print(f"{done:9,} steps, {mean:5.2f} pyramid cards a game", flush=True)
    print(f"removes {evaluate(arguments, network):.2f} pyramid cards a game")


@torch.no_grad()
def evaluate(arguments: Arguments, network: Network) -> float:
    """Mean pyramid cards that the most probable actions remove, over one game of each row."""
    env = PyramidVectorEnv(arguments.eval_games, arguments.rules)
    observations, infos = env.reset(seed=arguments.seed + 1)
    cards = np.full(arguments.eval_games, -1)
    while (cards < 0).any():
        policy, _ = network(torch.as_tensor(observations), torch.as_tensor(infos["action_mask"]))
        observations, _, terminated, truncated, infos = env.step(policy.probs.argmax(1).numpy())
        is_first_end = (terminated | truncated) & (cards < 0)
        cards[is_first_end] = infos["pyramid_cards_removed"][is_first_end]
    return float(cards.mean())


if __name__ == "__main__":
    sys.exit(run(train, Arguments))
