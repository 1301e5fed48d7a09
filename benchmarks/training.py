"""Time maskable PPO end to end on ours and other `VecEnv`s: see `training.py --help`.

The same network trains on the native `PyramidVecEnv`, on SB3's `DummyVecEnv` of scalar
environments, and on one that hands out the same arrays over and over and plays nothing. Each is
timed twice: with the updates, which are the same for all, and playing alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from replay import best_of
from results import read_arguments, save_section, table
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from pyramid_env import PyramidEnv
from pyramid_env.integrations.sb3 import PlaceEmbedding, PlacePolicy, PyramidVecEnv


@dataclass(frozen=True)
class Arguments:
    """Train a little on each environment, in turns."""

    envs: int = 256
    """Games side by side."""

    rollout: int = 64
    """Steps of each game between two updates."""

    epochs: int = 4
    """Passes over each rollout."""

    rounds: int = 3
    """How often each is timed; the fastest counts."""

    save: bool = False
    """Whether to write benchmarks/RESULTS.md."""


class IdleVecEnv(PyramidVecEnv):
    """Plays its first step and then says the same for ever."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        super().reset()
        super().step_async(self._masks.argmax(axis=1))
        self._said = super().step_wait()

    def reset(self) -> NDArray[np.int16]:
        """The same observations as ever."""
        return self._said[0]  # type: ignore[return-value]

    def step_wait(self) -> VecEnvStepReturn:
        """What the first step said."""
        return self._said


class Playing(MaskablePPO):
    """Plays its rollouts and learns nothing from them."""

    def train(self) -> None:
        """No update."""


ALGORITHMS = {"": MaskablePPO, ", rollouts alone": Playing}
"""By what they add to the name of an environment."""


def main() -> None:
    """Time all, then print and save the table."""
    arguments = read_arguments(Arguments)
    torch.set_num_threads(1)
    seconds = best_of(
        {
            name + part: training(algorithm, make_env, policy, arguments)
            for name, (make_env, policy) in cases(arguments.envs).items()
            for part, algorithm in ALGORITHMS.items()
        },
        arguments.rounds,
    )
    text = report(seconds, arguments)
    print(text)
    if arguments.save:
        libraries = ["gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch"]
        save_section("Training", text, libraries)


def cases(n: int) -> dict[str, tuple[Callable[[], VecEnv], Any]]:
    """What is timed: makers of environments, with the policy that trains on them."""
    return {
        "`PyramidVecEnv`": (lambda: PyramidVecEnv(n), PlacePolicy),
        "`DummyVecEnv` of `PyramidEnv`": (lambda: DummyVecEnv([PyramidEnv] * n), PlacePolicy),
        "plays nothing": (lambda: IdleVecEnv(n), PlacePolicy),
        "`PyramidVecEnv`, SB3's `MlpPolicy`": (lambda: PyramidVecEnv(n), "MlpPolicy"),
    }


def training(
    algorithm: type[MaskablePPO],
    make_env: Callable[[], VecEnv],
    policy: Any,
    arguments: Arguments,
) -> Callable[[], float]:
    """A measure: CPU seconds a step of one rollout and its update."""
    embedding = {
        "features_extractor_class": PlaceEmbedding,
        "features_extractor_kwargs": {"features_dim": 256},
        "net_arch": [256, 256],
    }
    model = algorithm(
        policy,
        make_env(),
        n_steps=arguments.rollout,
        batch_size=min(2048, arguments.envs * arguments.rollout),
        n_epochs=arguments.epochs,
        seed=0,
        device="cpu",
        policy_kwargs=embedding if policy is PlacePolicy else {"net_arch": [256, 256]},
    )
    n_steps = arguments.envs * arguments.rollout

    def measure() -> float:
        started = time.process_time()
        model.learn(n_steps, reset_num_timesteps=False)
        return (time.process_time() - started) / n_steps

    return measure


def report(seconds: dict[str, float], arguments: Arguments) -> str:
    """The table, with what it says."""
    note = (
        f"MaskablePPO on `kawu`, {arguments.envs} environments, {arguments.rollout} steps a"
        f" rollout, {arguments.epochs} epochs, one torch thread. CPU time, the fastest of"
        f" {arguments.rounds} rounds in turns. *Rollouts alone* leaves the updates out: there the"
        " network chooses, the environment plays, and SB3 stores what it showed."
    )
    names = list(seconds)[:: len(ALGORITHMS)]
    rows = []
    for name in names:
        row = [name]
        for part in ALGORITHMS:
            its, our = seconds[name + part], seconds[names[0] + part]
            row += [f"{1 / its:,.0f}", f"{its / our:.2f}"]
        rows.append(row)
    head = ("environment", "steps/s", "time over the first", "rollouts alone", "time over")
    return f"{note}\n\n{table(head, rows)}"


if __name__ == "__main__":
    main()
