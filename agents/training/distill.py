"""Learn from the exact solver: which moves keep the win.

The states and the solver's words on them come from `agents.training.labelling`, fresh ones for
each step: labelling takes a sixth of the time, so none is kept or met twice. Two heads learn:

- the policy, that its choice is among the moves that keep the win. Most often several do, and a
  student left free among them drifts into positions where one slip loses. So it is drawn to the
  hint's move where that keeps the win, and learns it where none does;
- the chance of each move that it keeps the win, as a help to the common layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional

from agents.training.learner import Learner, LearnerConfig, log_shares, train
from pyramid_env.solver.judge import LOST, UNDECIDED, WON

HINT_WEIGHT = 0.3
"""What imitating the hint counts in lost positions, against a choice that matters."""

WIN_WEIGHT = 0.5
"""What the win head's loss counts."""


@dataclass(frozen=True)
class DistillConfig(LearnerConfig):
    """Train a policy on the exact solver's word on every move, in states of its own play."""

    worth_of_others: float = 0.2
    """What a move that keeps the win is worth to the policy; the hint's is worth 1."""


def train_distill(config: DistillConfig) -> Path:
    """Train as `agents.training.learner.train` does."""
    return train(config, _Distillation)


class _Distillation(Learner):
    """A run under way."""

    config: DistillConfig

    @property
    def batch(self) -> int:
        """States of a gradient step."""
        return self.config.games

    def _step(self) -> float:
        """One gradient step; the share of the choices that matter where the likeliest was right."""
        self.labelled.advance(self.actions)
        words = self._tensor(self.labelled.words)
        logits, wins = self.net(self._tensor(self.labelled.observations))
        shares, keeps = log_shares(logits, words), _keep_the_win(words)
        self._descend(self._loss(shares, wins, words, keeps))
        self._draw(shares)
        matters = keeps.any(dim=1) & (words == LOST).any(dim=1)
        kept = keeps.gather(1, shares.argmax(dim=1, keepdim=True))[:, 0]
        return float(kept[matters].float().mean()) if bool(matters.any()) else 1.0

    def _loss(
        self, shares: torch.Tensor, wins: torch.Tensor, words: torch.Tensor, keeps: torch.Tensor
    ) -> torch.Tensor:
        hints = self._tensor(self.labelled.hints).clamp(min=0)[:, None]
        worth = torch.full_like(shares, self.config.worth_of_others).scatter(1, hints, 1.0)
        share_kept = torch.logsumexp((shares + worth.log()).masked_fill(~keeps, -1e9), dim=1)
        of_hint = shares.gather(1, hints)[:, 0]
        of_policy = -torch.where(keeps.any(dim=1), share_kept, HINT_WEIGHT * of_hint).mean()
        known = (words == WON) | (words == LOST)
        of_wins = functional.binary_cross_entropy_with_logits(
            wins[known], (words == WON)[known].float()
        )
        return of_policy + WIN_WEIGHT * of_wins


def _keep_the_win(words: torch.Tensor) -> torch.Tensor:
    """Which moves keep the win, as far as the solver knows (see `LabelledGames`)."""
    won = words == WON
    return torch.where(won.any(dim=1, keepdim=True), won, words == UNDECIDED)
