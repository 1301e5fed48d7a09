"""What the ways of training share that learn from the solver's word on every move."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress
from torch import nn

from agents.training.labelling import ILLEGAL, NODE_LIMIT, LabelledGames
from agents.training.network import PolicyNet
from agents.training.run import (
    Keeper,
    RunConfig,
    check_longer,
    find_device,
    load_checkpoint,
    next_evaluation,
    open_run,
    policy_config,
    progress_bars,
    save_checkpoint,
    start_from,
)
from pyramid_env.rules import get_rules

WARM_UP = 200
"""Gradient steps in which the learning rate rises."""


@dataclass(frozen=True)
class LearnerConfig(RunConfig):
    """The arguments that these ways have."""

    states: int = 2_200_000
    """States to learn from, in all."""

    games: int = 128
    """Games side by side."""

    learning_rate: float = 1e-3
    """Step size at its highest; it falls to nothing, as a cosine does."""

    node_limit: int = NODE_LIMIT
    """Positions that the solver may meet for one word."""

    eval_every: int = 400_000
    """States between two evaluations on held-out deals, each with a checkpoint."""


class Learner(ABC):
    """A run under way."""

    kind_of_games: type[LabelledGames] = LabelledGames
    """The games to learn from."""

    def __init__(self, config: LearnerConfig) -> None:
        self.config = config
        self.device = find_device(config.device)
        self.generator = torch.Generator().manual_seed(config.seed)
        torch.manual_seed(config.seed)
        self.net = PolicyNet(policy_config(config), config.precision).to(self.device)
        start_from(self.net, config.start_from)
        self.learned = self._all_learned()
        self.optimizer = torch.optim.AdamW(
            self.learned.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
        )
        self.labelled = self.kind_of_games(
            config.games,
            get_rules(config.rules),
            seed=config.seed,
            node_limit=config.node_limit,
            threads=config.threads,
        )
        self.actions = np.full(config.games, -1, np.int64)
        self.done = 0

    @property
    @abstractmethod
    def batch(self) -> int:
        """States of a gradient step."""

    @abstractmethod
    def _step(self) -> float:
        """Learn from some states; the share of the choices that matter that kept the win."""

    def _all_learned(self) -> nn.Module:
        """All that has weights to be learned."""
        return self.net

    def go_on(self, progress: Progress) -> None:
        """Learn until all states have been seen, with evaluations on the way and at the end."""
        config = self.config
        bar = progress.add_task("states", total=config.states, completed=self.done)
        keeper = Keeper(config.out, config.eval_deals, progress)
        next_at = next_evaluation(self.done, config.eval_every)
        kept: list[float] = []
        while self.done < config.states:
            kept.append(self._step())
            progress.update(bar, completed=min(self.done, config.states))
            if self.done >= next_at or self.done >= config.states:
                next_at = next_evaluation(self.done, config.eval_every)
                share = sum(kept) / len(kept)
                progress.console.print(f"{share:.2%} of the choices that matter kept the win")
                kept.clear()
                keeper.keep(self.done, "states", self.net.config, self.net.export())
                self.save()

    def _tensor(self, array: Any) -> torch.Tensor:
        return torch.as_tensor(array, device=self.device)

    def _draw(self, log_shares: torch.Tensor) -> None:
        """Choose the next actions by the policy's shares."""
        shares = log_shares.detach().exp().cpu()
        self.actions = torch.multinomial(shares, 1, generator=self.generator)[:, 0].numpy()

    def _descend(self, loss: torch.Tensor) -> None:
        """One gradient step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.learned.parameters(), 1.0)
        self.optimizer.step()
        self.done += self.batch

    def _learning_rate(self) -> float:
        config = self.config
        warm = min(1.0, (self.done / self.batch + 1) / WARM_UP)
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, self.done / config.states)))
        return config.learning_rate * warm * falling

    def save(self) -> None:
        """Write a checkpoint: the weights, the optimizer, and where every game stands."""
        games = self.labelled.games
        state: dict[str, Any] = {
            "net": self.learned.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "games": torch.as_tensor(games.view(np.uint8).reshape(len(games), -1)),
            "actions": torch.as_tensor(self.actions),
            "done": self.done,
        }
        save_checkpoint(state, self.config.out)

    def load(self) -> None:
        """Take up the last checkpoint, if there is one."""
        names = {"net", "optimizer", "generator", "games", "actions", "done"}
        state = load_checkpoint(self.config.out, self.device, names)
        if state is None:
            return
        self.learned.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        games = self.labelled.games
        games.view(np.uint8).reshape(len(games), -1)[:] = state["games"].cpu().numpy()
        self.actions = state["actions"].cpu().numpy()
        self.done = int(state["done"])


def log_shares(logits: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """The policy over the legal moves, as logarithms; next to nothing for all others."""
    masked = logits.float().masked_fill(words == ILLEGAL, -1e9)
    return nn.functional.log_softmax(masked, dim=1)


def train(config: LearnerConfig, learner: Callable[[Any], Learner]) -> Path:
    """Train as configured; the path of the best policy.

    Writes to `config.out`: ``config.json`` with package versions, ``checkpoint.pt`` to resume from,
    ``policy.safetensors`` (last), ``best.safetensors`` (best on held-out deals) and
    ``evaluations.csv``. Resuming goes on from the last checkpoint and, on the same machine, ends
    where an uninterrupted run would. Raises `ValueError` as `open_run` does.
    """
    with open_run(config, "states") as config:
        torch.set_num_threads(config.threads)
        run = learner(config)
        if config.resume:
            run.load()
        check_longer(run.done, config.states, "states")
        with progress_bars() as progress:
            run.go_on(progress)
    return config.out / "best.safetensors"
