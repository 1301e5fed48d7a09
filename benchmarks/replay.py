"""Games recorded once and replayed, so that every timing is of the same steps.

Random legal actions depend on what the steps before them led to. They are drawn while recording;
since a seed fixes the games, replaying them times the steps alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from pyramid_env.actions import sample_actions

N_STAGES = 8
STAGE = 8
OPENING = N_STAGES * STAGE
"""Steps before the timed ones. Random games are about equally long, so without more they would stay
in step: every `STAGE` steps one row in `N_STAGES` begins anew.
"""

Actions = NDArray[np.int64]
AnyVectorEnv = VectorEnv[Any, Any, Any]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Recording:
    """Random games of a vector environment."""

    seed: int
    actions: Actions
    """int64[OPENING + timed steps, num_envs]"""

    n_steps: int
    """Rows played in the timed part; those that only reset an ended game are no steps."""


def record(env: AnyVectorEnv, n_calls: int, seed: int = 0) -> Recording:
    """Play an opening and `n_calls` of `step` with random legal actions.

    The environment gives masks as `info["action_mask"]`, and resets ended games at their next step.
    """
    generator = np.random.default_rng(seed)
    actions = np.empty((OPENING + n_calls, env.num_envs), np.int64)

    def draw(i: int, masks: NDArray[np.int8]) -> Actions:
        actions[i] = chosen = sample_actions(masks, generator)
        return chosen

    _, _, terminated, truncated, infos = play_opening(env, seed, draw)
    n_steps = 0
    for i in range(OPENING, OPENING + n_calls):
        n_steps += int(np.count_nonzero(~(terminated | truncated)))
        _, _, terminated, truncated, infos = env.step(draw(i, infos["action_mask"]))
    return Recording(seed, actions, n_steps)


def play_opening(
    env: AnyVectorEnv, seed: int, choose: Callable[[int, NDArray[np.int8]], Actions]
) -> Any:
    """Bring the games into all stages; returns what the last step does.

    `choose` gives the actions of a step by its number and the masks.
    """
    _, infos = env.reset(seed=seed)
    masks = infos["action_mask"]
    for i in range(OPENING):
        if i % STAGE == 0:
            rows = np.arange(env.num_envs) % N_STAGES == i // STAGE
            _, infos = env.reset(options={"reset_mask": rows})
            masks = np.where(rows[:, np.newaxis], infos["action_mask"], masks)
        handed_out = env.step(choose(i, masks))
        masks = handed_out[-1]["action_mask"]
    return handed_out


def replay(env: AnyVectorEnv, recording: Recording, clock: Clock = time.process_time) -> float:
    """Seconds a step, of the recorded actions."""
    play_opening(env, recording.seed, lambda i, _: recording.actions[i])
    started = clock()
    for actions in recording.actions[OPENING:]:
        env.step(actions)
    return (clock() - started) / recording.n_steps


def replay_and_sample(env: AnyVectorEnv, recording: Recording) -> float:
    """Seconds a step, when the recorded actions are drawn anew while the clock runs."""
    generator = np.random.default_rng(recording.seed)
    *_, infos = play_opening(env, recording.seed, lambda _, masks: sample_actions(masks, generator))
    started = time.process_time()
    for _ in recording.actions[OPENING:]:
        *_, infos = env.step(sample_actions(infos["action_mask"], generator))
    return (time.process_time() - started) / recording.n_steps


def amid_games(env: AnyVectorEnv) -> Any:
    """What a step hands out when the games are in all stages."""
    generator = np.random.default_rng(0)
    return play_opening(env, 0, lambda _, masks: sample_actions(masks, generator))


def best_of(measures: Mapping[str, Callable[[], float]], n_rounds: int) -> dict[str, float]:
    """The lowest of `n_rounds` values of each measure, taken in turns so that all meet one noise.

    A round before them, to warm up, does not count. Progress is shown on the terminal.
    """
    best = dict.fromkeys(measures, float("inf"))
    for i in range(n_rounds + 1):
        for name, measure in measures.items():
            show_progress(f"round {i} of {n_rounds}: {name}")
            value = measure()
            if i > 0:
                best[name] = min(best[name], value)
    show_progress("")
    return best


def show_progress(text: str) -> None:
    """Replace the line on the terminal; nothing where the output goes into a file."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
