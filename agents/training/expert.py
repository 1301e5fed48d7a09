"""Expert iteration: an expert that looks one move ahead, and a student that becomes it.

Anthony, Tian and Barber, "Thinking Fast and Slow with Deep Learning and Tree Search", NIPS 2017.
The student plays training deals by itself. At each of its choices the expert knows two things that
the student does not: the exact solver's word on every move, and how the student itself judges the
states behind the moves. From both comes a worth::

    worth of a move = 0                                    where it loses the deal
                      chance that the student wins on      in the state behind it, elsewhere

The expert plays the student's policy times ``exp(sharpness * worth)``, and the student learns to
play so at once. With face-down cards the worth in one deal says too little. There the expert takes
what the student has learned to expect of the move over all deals (the win head).

The chance that the student wins on is a value head's, learned from how its own games go on: a game
ends where the win is thrown away, so credit for it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from agents.training.labelling import ILLEGAL
from agents.training.learner import Learner, LearnerConfig, log_shares, train
from agents.training.network import PolicyNet, ValueHead
from agents.training.own_games import OwnGames
from pyramid_env.observation import observation_fields
from pyramid_env.solver.judge import LOST

VALUE_WEIGHT = 0.5
"""What the losses of the value head and of the win head count, against the policy's."""


@dataclass(frozen=True)
class ExpertIterationConfig(LearnerConfig):
    """Train a policy to play as an expert that looks a move ahead of it."""

    games: int = 1024
    """Games side by side."""

    rollout: int = 16
    """States of each game between two rounds of learning."""

    batch: int = 512
    """States of a gradient step."""

    learning_rate: float = 3e-4
    """Step size at its highest; it falls to nothing, as a cosine does."""

    sharpness: float = 10.0
    """How much the expert makes of a move's worth."""

    smoothing: float = 0.9
    """How much the value head learns from how games went on, against its own estimates."""

    value_states: int = 200_000
    """States at the start in which only the heads learn, and the policy stays as it is."""


def train_expert_iteration(config: ExpertIterationConfig) -> Path:
    """Train as `agents.training.learner.train` does."""
    if config.batch > config.games * config.rollout > 0:
        raise ValueError(
            f"batch={config.batch} is not allowed: at most games * rollout ="
            f" {config.games * config.rollout}"
        )
    return train(config, _ExpertIteration)


class Rollout(NamedTuple):
    """What a round of play has seen; time comes first."""

    observations: NDArray[np.int16]
    words: NDArray[np.int8]
    log_shares: NDArray[np.float32]
    worths: NDArray[np.float32]
    wins: NDArray[np.float32]
    """float32[rollout, games]: what the value head is to say."""


class _Heads(nn.Module):
    """The policy network with a value head."""

    def __init__(self, net: PolicyNet) -> None:
        super().__init__()
        self.net = net
        self.value = ValueHead(net.config)


class _ExpertIteration(Learner):
    """A run under way."""

    config: ExpertIterationConfig
    labelled: OwnGames

    kind_of_games = OwnGames

    def _all_learned(self) -> nn.Module:
        self._unseen = observation_fields(self.net.config.rules).unseen
        self.heads = _Heads(self.net).to(self.device)
        return self.heads

    @property
    def batch(self) -> int:
        """States of a gradient step."""
        return self.config.batch

    def _step(self) -> float:
        """One round of play, and of learning from it."""
        rollout, kept = self._play()
        flat = [self._tensor(part.reshape(-1, *part.shape[2:])) for part in rollout]
        n = len(flat[0]) // self.batch * self.batch
        order = torch.randperm(len(flat[0]), generator=self.generator)[:n]
        for start in range(0, n, self.batch):
            rows = order[start : start + self.batch]
            self._descend(self._loss(Rollout(*(part[rows] for part in flat))))  # type: ignore[arg-type]
        return kept

    @torch.no_grad()
    def _play(self) -> tuple[Rollout, float]:
        games, config = self.labelled, self.config
        seen = []
        chances = np.empty((config.rollout + 1, config.games), np.float32)
        lost, ended = np.empty((2, config.rollout, config.games), np.bool_)
        games.advance(np.full(config.games, -1, np.int64))
        for t in range(config.rollout):
            tokens, chances[t] = self._look(games.observations)
            words = games.words.copy()
            logits, _ = self.net.scores(tokens)
            shares = log_shares(logits, self._tensor(words))
            self._draw(shares)
            worths = self._worths(words, chances[t])
            seen.append((games.observations.copy(), words, shares.cpu().numpy(), worths))
            games.advance(self.actions)
            lost[t], ended[t] = games.lost, games.ended
        _, chances[-1] = self._look(games.observations)
        wins = _smoothed(chances, lost, ended, config.smoothing)
        observations, words, before, worths = map(np.stack, zip(*seen, strict=True))
        matters = (words == LOST).any(axis=2)
        kept = float(1 - lost.sum() / max(matters.sum(), 1))
        return Rollout(observations, words, before, worths, wins), kept

    def _look(self, observations: NDArray[np.int16]) -> tuple[torch.Tensor, NDArray[np.float32]]:
        """The network's tokens, and the chance that the student wins on."""
        tokens = self.net.tokens(self._tensor(observations))
        value = self.heads.value(tokens)
        return tokens, torch.sigmoid(value[:, 0]).cpu().numpy()

    def _worths(self, words: NDArray[np.int8], chances: NDArray[np.float32]) -> NDArray[np.float32]:
        """The worth of every move, float32[games, n_actions]."""
        children = self.labelled.children()
        _, after = self._look(children.observations)
        worths = np.where((words != ILLEGAL) & (words != LOST), chances[:, None], np.float32(0))
        worths[children.rows, children.actions] = np.where(children.won, 1, after)
        return worths

    def _loss(self, seen: Rollout) -> torch.Tensor:
        """Of a batch of states; its parts are tensors."""
        observations, words, before, worths, wins = map(self._tensor, seen)
        tokens = self.net.tokens(observations)
        logits, expected = self.net.scores(tokens)
        value = self.heads.value(tokens)[:, 0]
        legal = words != ILLEGAL
        face_down = observations[:, self._unseen].sum(dim=1, keepdim=True) > 0
        worth = torch.where(face_down, torch.sigmoid(expected.detach()), worths)
        sharpness = self.config.sharpness if self.done >= self.config.value_states else 0.0
        expert = log_shares(before + sharpness * worth, words).exp()
        of_policy = -(expert * log_shares(logits, words)).sum(dim=1).mean()
        of_value = functional.binary_cross_entropy_with_logits(value, wins)
        of_worth = functional.binary_cross_entropy_with_logits(expected[legal], worths[legal])
        return of_policy + VALUE_WEIGHT * (of_value + of_worth)


def _smoothed(
    chances: NDArray[np.float32],
    lost: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    smoothing: float,
) -> NDArray[np.float32]:
    """What each state's chance should have been: TD(lambda) over the rollout.

    `chances` has one row more than the others, that of the states after the last actions. (Sutton
    and Barto, "Reinforcement Learning", 2nd edition, chapter 12.)
    """
    wins = np.empty_like(chances[:-1])
    later = chances[-1]
    for t in reversed(range(len(wins))):
        mixed = smoothing * later + (1 - smoothing) * chances[t + 1]
        later = wins[t] = np.where(ended[t], np.where(lost[t], 0, 1), mixed)
    return wins
