"""Time the environments on random legal games, next to peers: `python benchmarks/env.py --help`.

It prints tables of steps a CPU second and ratios; `--save` writes them to `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray
from peers import PEERS, Peer, steps_per_second
from replay import (
    AnyVectorEnv,
    amid_games,
    best_of,
    record,
    replay,
    replay_and_sample,
    show_progress,
)
from results import read_arguments, save_section, table

from pyramid_env import PRESETS, PyramidEnv, PyramidVectorEnv, sample_actions

N_ENVS = 1024
SIZES = (64, 256, 1024, 4096, 16384, 65536)
DEFAULT = "kawu"

Measure = Callable[[], float]
Times = dict[str, float]
"""Seconds a step by measure."""


@dataclass(frozen=True)
class Arguments:
    """Time steps of random legal games under every preset and at many sizes, and peers."""

    rounds: int = 7
    """How often each measure is taken; the fastest counts."""

    peers: bool = True
    """Whether to measure the other libraries that are installed."""

    save: bool = False
    """Whether to write benchmarks/RESULTS.md."""


def main() -> None:
    """Measure everything in turns, then print and save the tables."""
    arguments = read_arguments(Arguments)
    show_progress("recording games")
    times = best_of(all_measures(), arguments.rounds)
    peers = dict(measure_peers()) if arguments.peers else {}
    text = "\n\n".join(
        [
            NOTE.format(rounds=arguments.rounds),
            main_table(times),
            limit_table(times),
            preset_table(times),
            size_table(times),
            *([peer_table(times, peers)] if peers else []),
        ]
    )
    print(text)
    if arguments.save:
        measured = {PEERS[name].package for name, speed in peers.items() if speed}
        save_section("Environments", text, sorted({"gymnasium", "numba", "numpy"} | measured))


# What is measured


def all_measures() -> dict[str, Measure]:
    """Every measure by its name; each gives seconds a step."""
    return {
        "zero copy": replaying(N_ENVS),
        "fresh arrays": replaying(N_ENVS, copy=True),
        "sampling included": sampling_too(),
        "sampling alone": sampling(),
        "scalar": scalar(),
        "SyncVectorEnv": synchronous(),
        "copies into place": copying(np.copyto),
        "fresh copies": copying(lambda _, source: source.copy()),
        **{
            f"{n} threads, {size}": threaded(n, size)
            for size in (N_ENVS, SIZES[-1])
            for n in (1, 2)
        },
        **{name: replaying(N_ENVS, name) for name in PRESETS if name != DEFAULT},
        **{f"{size}": replaying(size) for size in SIZES if size != N_ENVS},
    }


def make(
    size: int, rules: str = DEFAULT, copy: bool = False, num_threads: int = 1
) -> PyramidVectorEnv:
    return PyramidVectorEnv(size, rules, copy=copy, num_threads=num_threads)


def n_calls(size: int) -> int:
    """Calls of `step` in one round: enough steps to time, and a few calls in any case."""
    return max(32, 2**18 // size)


def replaying(size: int, rules: str = DEFAULT, copy: bool = False) -> Measure:
    env = make(size, rules, copy)
    return partial(replay, env, record(env, n_calls(size)))


def sampling_too() -> Measure:
    env = make(N_ENVS)
    return partial(replay_and_sample, env, record(env, n_calls(N_ENVS)))


def threaded(num_threads: int, size: int) -> Measure:
    """Wall time, which is what more threads save."""
    env = make(size, num_threads=num_threads)
    return partial(replay, env, record(env, n_calls(size)), time.perf_counter)


def synchronous() -> Measure:
    """Few environments, since its time is the same for each."""
    env: AnyVectorEnv = SyncVectorEnv([PyramidEnv] * 64)
    return partial(replay, env, record(env, 32))


def sampling() -> Measure:
    *_, infos = amid_games(make(N_ENVS))
    generator = np.random.default_rng(0)
    return calling(lambda: sample_actions(infos["action_mask"], generator))


def copying(copy: Callable[[NDArray[Any], NDArray[Any]], Any]) -> Measure:
    """The least that a step can take: to write what it says of the games, once."""
    observations, rewards, terminated, truncated, infos = amid_games(make(N_ENVS))
    said = (observations, infos["action_mask"], rewards, terminated, truncated)
    sources = [array.copy() for array in said]  # without the gaps of views
    targets = [source.copy() for source in sources]

    def copy_all() -> None:
        for target, source in zip(targets, sources, strict=True):
            copy(target, source)

    return calling(copy_all)


def calling(call: Callable[[], Any]) -> Measure:
    """Seconds an environment, of a call that does something for `N_ENVS` of them."""

    def measure() -> float:
        started = time.process_time()
        for _ in range(n_calls(N_ENVS)):
            call()
        return (time.process_time() - started) / n_calls(N_ENVS) / N_ENVS

    return measure


def scalar() -> Measure:
    """Whole games of the scalar environment, without the wrappers of `gymnasium.make`."""
    env = PyramidEnv()
    generator = np.random.default_rng(0)
    games: list[list[np.int64]] = []
    for seed in range(100):
        info = env.reset(seed=seed)[1]
        games.append([])
        is_over = False
        while not is_over:
            games[-1].append(sample_actions(info["action_mask"][np.newaxis], generator)[0])
            _, _, terminated, truncated, info = env.step(games[-1][-1])
            is_over = terminated or truncated

    def measure() -> float:
        seconds = 0.0
        for seed, actions in enumerate(games):
            env.reset(seed=seed)
            started = time.process_time()
            for action in actions:
                env.step(action)
            seconds += time.process_time() - started
        return seconds / sum(map(len, games))

    return measure


def measure_peers() -> Iterator[tuple[str, float | None]]:
    """Steps a CPU second by peer; None for one that is not installed."""
    for name, peer in PEERS.items():
        show_progress(peer.title)
        yield name, steps_per_second(name)
    show_progress("")


# What is printed

NOTE = (
    f"Steps of `{DEFAULT}` games with random legal actions on {N_ENVS:,} environments, unless a row"
    " says otherwise. The actions are recorded first and replayed while the clock runs. Times are"
    " CPU time on one core, threads wall time; the fastest of {rounds} rounds, in which all rows"
    " take turns. What only resets an ended game is no step."
)


def millions(seconds: float) -> str:
    return f"{1e-6 / seconds:.2f}"


def nanoseconds(seconds: float) -> str:
    return f"{1e9 * seconds:.1f}"


def main_table(times: Times) -> str:
    rows = [
        ("`PyramidVectorEnv.step`, zero copy", "zero copy", "zero copy"),
        ("... fresh arrays", "fresh arrays", "zero copy"),
        ("... zero copy, and `sample_actions`", "sampling included", "zero copy"),
        ("`sample_actions` alone", "sampling alone", "zero copy"),
        ("`PyramidEnv.step`", "scalar", "zero copy"),
        ("Gymnasium's `SyncVectorEnv` of 64 `PyramidEnv`", "SyncVectorEnv", "zero copy"),
    ]
    for size in (N_ENVS, SIZES[-1]):
        one = f"1 threads, {size}"
        rows.append((f"one thread, {size:,} environments, wall time", one, one))
        rows.append((f"two threads, {size:,} environments, wall time", f"2 threads, {size}", one))
    return table(
        ("", "M steps/s", "ns a step", "speed-up"),
        [
            (
                title,
                millions(times[name]),
                nanoseconds(times[name]),
                f"{times[base] / times[name]:.3g}",
            )
            for title, name, base in rows
        ],
    ) + ("\n\n*Speed-up* is over zero copy, of threads over one thread.")


def limit_table(times: Times) -> str:
    rows = [
        ("zero copy, against `np.copyto`", "zero copy", "copies into place"),
        ("fresh arrays, against `ndarray.copy`", "fresh arrays", "fresh copies"),
    ]
    return table(
        ("How close to the limit", "ns a step", "ns to write", "ratio"),
        [
            (
                title,
                nanoseconds(times[step]),
                nanoseconds(times[write]),
                f"{times[step] / times[write]:.2f}",
            )
            for title, step, write in rows
        ],
    ) + (
        "\n\n*To write* is the time merely to copy the same bytes (observation, mask, reward and"
        " flags) with NumPy."
    )


def preset_table(times: Times) -> str:
    default = times["zero copy"]
    seconds = {name: times.get(name, default) for name in PRESETS}
    return table(
        ("Rules", "M steps/s", "time over the default's"),
        [(f"`{name}`", millions(s), f"{s / default:.2f}") for name, s in seconds.items()],
    )


def size_table(times: Times) -> str:
    default = times["zero copy"]
    seconds = {size: times.get(f"{size}", default) for size in SIZES}
    return table(
        ("Environments", "ns a step", f"time over that of {N_ENVS:,}"),
        [(f"{size:,}", nanoseconds(s), f"{s / default:.2f}") for size, s in seconds.items()],
    )


def peer_table(times: Times, peers: dict[str, float | None]) -> str:
    """Against fresh arrays, since the peers hand out such."""
    return table(
        ("Peer", "mask", "M steps/s", "ours, fresh arrays, over it"),
        [peer_row(times, PEERS[name], speed) for name, speed in peers.items()],
    )


def peer_row(times: Times, peer: Peer, speed: float | None) -> tuple[str, ...]:
    mask = "yes" if peer.has_mask else "no"
    if speed is None:
        why = "failed" if peer.is_installed else "not installed"
        return peer.title, mask, f"{why}: skipped", ""
    title = f"{peer.title} ({peer.package} {version(peer.package)})"
    return title, mask, f"{speed / 1e6:.3f}", f"{1 / times['fresh arrays'] / speed:,.1f}"


if __name__ == "__main__":
    main()
