"""What a planted fault has to get past: a small campaign, always the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pyramid_env import actions, engine
from pyramid_env.actions import sample_actions
from pyramid_env.observation import observation_space
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import facts
from tests.campaign import environments, solving
from tests.campaign.environments import play_batch
from tests.campaign.solving import play_solver
from tests.campaign.words import play_words

STEPS_A_BATCH = 3000
N_ROUNDS = 8


def forget() -> None:
    """Leave nothing behind of what was worked out from tables without the fault."""
    for cached in (actions._table, engine.compile_rules, facts.meeting_of):
        cached.cache_clear()


def check() -> int:
    """Play the campaign; raises at a difference, and returns the nodes of all searches."""
    forget()
    environments.STEPS_A_BATCH = STEPS_A_BATCH
    nodes = 0
    solve = solving.solve

    def counting(*arguments: Any, **settings: Any) -> Any:
        nonlocal nodes
        solution = solve(*arguments, **settings)
        nodes += solution.nodes
        return solution

    solving.solve = counting
    for step in steps():
        step()
    solving.solve = solve
    return nodes


def steps() -> Iterator[Any]:
    """The parts of the campaign, short ones first."""
    for number in range(N_ROUNDS):
        generator = np.random.default_rng([2026, number])
        yield lambda generator=generator: play_words(generator)
        yield lambda generator=generator: play_batch(generator)
        for _ in range(3):
            yield lambda generator=generator: play_solver(generator)
    yield check_sampling
    yield check_spaces


def check_sampling() -> None:
    """Each action drawn is the one that the generator's number names."""
    generator = np.random.default_rng(5)
    for n_actions in (3, 8, 102, 285, 565):
        masks = (generator.random((50, n_actions)) < 0.1).astype(np.int8)
        masks[:, generator.integers(n_actions)] = 1
        drawn = sample_actions(masks, np.random.default_rng(9))
        uniforms = np.random.default_rng(9).random(len(masks))
        for mask, uniform, action in zip(masks, uniforms, drawn, strict=True):
            legal = np.flatnonzero(mask)
            assert action == legal[int(uniform * len(legal))]
    try:
        sample_actions(np.zeros((2, 285), np.int8), generator)
    except ValueError:
        return
    raise AssertionError("an empty mask was sampled from")


def check_spaces() -> None:
    """Each number of an observation has as many values as it can take."""
    for rules in (*PRESETS.values(), Rules(reserve=3)):
        size = 24 - rules.reserve
        categories = [14] * (28 + rules.reserve + size) + [15] * size + [10] + [5] * 13
        assert observation_space(rules).nvec.tolist() == categories
