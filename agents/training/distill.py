"""Learn from the exact solver: which moves keep the win.

The states and the solver's words on them come from `agents.training.labelling`, fresh ones for
each step: labelling takes a sixth of the time, so none is kept or met twice. Two heads learn:

- the policy, that its choice is among the moves that keep the win. Most often several do, and a
  student left free among them drifts into positions where one slip loses. So it is drawn to the
  hint's move where that keeps the win, and learns it where none does;
- the chance of each move that it keeps the win, as a help to the common layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress
from torch.nn import functional

from agents.training.labelling import ILLEGAL, LabelledGames
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
from pyramid_env.solver.judge import LOST, WON

HINT_WEIGHT = 0.3
"""What imitating the hint counts in lost positions, against a choice that matters."""

WIN_WEIGHT = 0.5
"""What the win head's loss counts."""

WARM_UP = 200
"""Gradient steps in which the learning rate rises."""


@dataclass(frozen=True)
class DistillConfig(RunConfig):
    """Train a policy on the exact solver's word on every move, in states of its own play."""

    states: int = 5_000_000
    """States to learn from, in all."""

    games: int = 512
    """Games side by side: the states of a gradient step."""

    learning_rate: float = 1e-3
    """Step size at its highest; it falls to nothing, as a cosine does."""

    worth_of_others: float = 0.2
    """What a move that keeps the win is worth to the policy; the hint's is worth 1."""

    node_limit: int = 1000
    """Positions that the solver may meet for one word."""

    eval_every: int = 300_000
    """States between two evaluations on held-out deals, each with a checkpoint."""


def train_distill(config: DistillConfig) -> Path:
    """Train as configured; the path of the best policy.

    Writes to `config.out`: ``config.json`` with package versions, ``checkpoint.pt`` to resume from,
    ``policy.safetensors`` (last), ``best.safetensors`` (best on held-out deals) and
    ``evaluations.csv``. Resuming goes on from the last checkpoint and, on the same machine, ends
    where an uninterrupted run would. Raises `ValueError` as `open_run` does.
    """
    if not 0 < config.worth_of_others <= 1:
        raise ValueError(
            f"worth_of_others={config.worth_of_others} is not allowed: above 0, at most 1"
        )
    counts = ("states", "games", "width", "layers", "eval_every")
    with open_run(config, counts, "states") as config:
        torch.set_num_threads(config.threads)
        run = _Distillation(config)
        if config.resume:
            run.load()
        check_longer(run.done, config.states, "states")
        with progress_bars() as progress:
            run.go_on(progress)
    return config.out / "best.safetensors"


class _Distillation:
    """A run under way."""

    def __init__(self, config: DistillConfig) -> None:
        self.config = config
        self.device = find_device(config.device)
        self.generator = torch.Generator().manual_seed(config.seed)
        torch.manual_seed(config.seed)
        self.net = PolicyNet(policy_config(config)).to(self.device)
        start_from(self.net, config.start_from)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
        )
        rules = get_rules(config.rules)
        self.labelled = LabelledGames(
            config.games,
            rules,
            seed=config.seed,
            node_limit=config.node_limit,
            threads=config.threads,
        )
        self.actions = np.zeros(config.games, np.int64)
        self.done = 0

    def go_on(self, progress: Progress) -> None:
        """Learn until all states have been seen, with evaluations on the way and at the end."""
        config = self.config
        bar = progress.add_task("states", total=config.states, completed=self.done)
        keeper = Keeper(config.out, config.eval_deals, progress)
        next_at = next_evaluation(self.done, config.eval_every)
        agreed: list[float] = []
        while self.done < config.states:
            agreed.append(self._step())
            progress.update(bar, completed=min(self.done, config.states))
            if self.done >= next_at or self.done >= config.states:
                next_at = next_evaluation(self.done, config.eval_every)
                share = sum(agreed) / len(agreed)
                progress.console.print(f"{share:.2%} of the choices that matter kept the win")
                agreed.clear()
                keeper.keep(self.done, "states", self.net.config, self.net.export())
                self.save()

    def _step(self) -> float:
        """One gradient step; the share of the choices that matter where the likeliest was right."""
        games, config = self.labelled, self.config
        games.advance(self.actions)
        observations = torch.as_tensor(games.observations, device=self.device).long()
        words = torch.as_tensor(games.words, device=self.device)
        on = config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=on):
            logits, wins = self.net(observations)
        log_shares = functional.log_softmax(
            logits.float().masked_fill(words == ILLEGAL, -1e9), dim=1
        )
        loss = self._loss(log_shares, wins.float(), words)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.done += config.games
        shares = log_shares.detach().exp()
        self.actions = torch.multinomial(shares.cpu(), 1, generator=self.generator)[:, 0].numpy()
        matters = (words == WON).any(dim=1) & (words == LOST).any(dim=1)
        kept = words.gather(1, shares.argmax(dim=1, keepdim=True))[:, 0] == WON
        return float(kept[matters].float().mean()) if bool(matters.any()) else 1.0

    def _loss(
        self, log_shares: torch.Tensor, wins: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        kept = words == WON
        hints = torch.as_tensor(self.labelled.hints, device=self.device).clamp(min=0)[:, None]
        worth = torch.full_like(log_shares, self.config.worth_of_others).scatter(1, hints, 1.0)
        share_kept = torch.logsumexp((log_shares + worth.log()).masked_fill(~kept, -1e9), dim=1)
        of_hint = log_shares.gather(1, hints)[:, 0]
        of_policy = -torch.where(kept.any(dim=1), share_kept, HINT_WEIGHT * of_hint).mean()
        known = (words == WON) | (words == LOST)
        of_wins = functional.binary_cross_entropy_with_logits(wins[known], kept[known].float())
        return of_policy + WIN_WEIGHT * of_wins

    def _learning_rate(self) -> float:
        config = self.config
        warm = min(1.0, (self.done / config.games + 1) / WARM_UP)
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, self.done / config.states)))
        return config.learning_rate * warm * falling

    def save(self) -> None:
        """Write a checkpoint: the network, the optimizer, and where every game stands."""
        games = self.labelled.games
        state: dict[str, Any] = {
            "net": self.net.state_dict(),
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
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        games = self.labelled.games
        games.view(np.uint8).reshape(len(games), -1)[:] = state["games"].cpu().numpy()
        self.actions = state["actions"].cpu().numpy()
        self.done = int(state["done"])
