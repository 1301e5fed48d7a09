"""Learn to play as the greedy hint does, as a start for reinforcement learning.

DAgger (Ross, Gordon and Bagnell, "A Reduction of Imitation Learning and Structured Prediction to
No-Regret Online Learning", AISTATS 2011): in half of the games the student itself plays, so that it
is also told what to do where only its own mistakes lead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch.nn import functional

from agents.baselines import GreedyAgent
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv

N_GAMES = 256
N_STEPS = 64
BATCH = 1024


def imitate_hint(
    policy: Any,
    rules: Rules,
    *,
    decisions: int,
    learning_rate: float,
    seed: int,
    progress: Callable[[int, float], object],
) -> None:
    """Fit a policy (of `pyramid_env.integrations.sb3`) to the hint's choice in training deals.

    `decisions` positions are labelled, each is learned from once; the learning rate falls linearly
    to zero. `progress` is told (decisions done, share of the last ones that the policy made as the
    hint did), about twenty times.
    """
    teacher = GreedyAgent(rules)
    env = PyramidVectorEnv(N_GAMES, rules, autoreset_mode=AutoresetMode.SAME_STEP)
    observations, infos = env.reset(seed=seed)
    student_plays = np.arange(N_GAMES) % 2 == 0
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    chunk = N_GAMES * N_STEPS
    report_every = max(decisions // 20, 1)
    for done in range(0, decisions, chunk):
        seen, masks, choices = [], [], []
        for _ in range(N_STEPS):
            mask = infos["action_mask"]
            choice = teacher.act_batch(observations, mask)
            seen.append(observations)
            masks.append(mask)
            choices.append(choice)
            with torch.no_grad():
                own = _masked_logits(policy, observations, mask).argmax(dim=1).cpu().numpy()
            actions = np.where(student_plays, own, choice)
            observations, _, _, _, infos = env.step(actions)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * (1 - done / decisions)
        data = (np.concatenate(seen), np.concatenate(masks), np.concatenate(choices))
        agreement = _fit(policy, optimizer, data, generator)
        if (done + chunk) // report_every > done // report_every:
            progress(min(done + chunk, decisions), agreement)


def _fit(policy: Any, optimizer: Any, data: tuple[Any, Any, Any], generator: Any) -> float:
    """One pass over the data; the share of choices that the policy had made as well."""
    observations, masks, choices = data
    agreed = 0
    order = torch.randperm(len(choices), generator=generator).numpy()
    for start in range(0, len(order), BATCH):
        index = order[start : start + BATCH]
        logits = _masked_logits(policy, observations[index], masks[index])
        target = torch.as_tensor(choices[index], device=logits.device)
        loss = functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        agreed += int((logits.argmax(dim=1) == target).sum())
    return agreed / len(choices)


def _masked_logits(policy: Any, observations: Any, masks: Any) -> torch.Tensor:
    features = policy.features_extractor(torch.as_tensor(observations, device=policy.device))
    legal = torch.as_tensor(masks, device=policy.device) != 0
    return policy.action_net(features).masked_fill(~legal, -1e8)  # type: ignore[no-any-return]
