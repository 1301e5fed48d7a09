"""Fails when the vector environment's step has become much slower: `python benchmarks/guard.py`.

No clock decides that, but the ratio to a fixed piece of work, timed in turns in the same process.
Half of this is NumPy copies of all that a step hands out, half a kernel of bit scans that end
where no branch predictor expects it: so a slower machine, or one with other caches, slows both.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from replay import AnyVectorEnv, amid_games, record, replay

from pyramid_env import PyramidVectorEnv
from pyramid_env.jit import kernel, lowest

N_ENVS = 1024
N_CALLS = 128
N_ROUNDS = 11
N_TRIES = 3

LIMIT = 2.6
"""The highest ratio that passes: 1.3 times the median of 20 runs of `python benchmarks/guard.py`.

That lies between noise and a twofold slowdown. On a shared machine, single measurements were up to
14 % above the median, and with both cores kept busy down to 25 % below it.
"""


def main() -> None:
    """Print the ratio; exit with 1 and a message where it is over the limit."""
    ratio = lowest_ratio(PyramidVectorEnv(N_ENVS, copy=False))
    print(f"A step takes {ratio:.2f} times the reference work; {LIMIT} is allowed.")
    if ratio > LIMIT:
        sys.exit("PyramidVectorEnv.step has become slower: see LIMIT in benchmarks/guard.py")


def lowest_ratio(env: AnyVectorEnv) -> float:
    """The ratio, measured again while over the limit: noise passes, slowness stays."""
    ratio = float("inf")
    for _ in range(N_TRIES):
        ratio = min(ratio, measure_ratio(env))
        if ratio <= LIMIT:
            break
    return ratio


def measure_ratio(env: AnyVectorEnv) -> float:
    """CPU time of a step over that of the reference work: the median of rounds in turns."""
    recording = record(env, N_CALLS)
    reference = reference_work(env)
    replay(env, recording), reference()
    return float(np.median([replay(env, recording) / reference() for _ in range(N_ROUNDS)]))


def reference_work(env: AnyVectorEnv) -> Callable[[], float]:
    """Seconds a row of the work that a step is compared with."""
    sources = [array.copy() for array in arrays_of(amid_games(env))]
    targets = [source.copy() for source in sources]
    words = np.arange(env.num_envs, dtype=np.uint64)
    sums = np.zeros(env.num_envs, np.uint64)

    def work() -> float:
        started = time.process_time()
        for _ in range(N_CALLS):
            for target, source in zip(targets, sources, strict=True):
                np.copyto(target, source)
            scan_bits(words, sums)
        return (time.process_time() - started) / N_CALLS / env.num_envs

    return work


def arrays_of(value: Any) -> list[NDArray[Any]]:
    """All arrays in what a step hands out."""
    if isinstance(value, np.ndarray):
        return [value]
    if not isinstance(value, dict | tuple):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [array for part in parts for array in arrays_of(part)]


@kernel
def scan_bits(words: Any, sums: Any) -> None:
    """Step each word (uint64[n]) as a generator of random numbers, and sum the places of its ones.

    A quarter of the bits is looked at, so that how many there are differs from word to word.
    """
    one = np.uint64(1)
    for i in range(words.size):
        word = words[i] * np.uint64(0xD1342543DE82EF95) + one
        words[i] = word
        bits = (word >> np.uint64(32)) & (word >> np.uint64(13)) & np.uint64(0xFFFFFFFF)
        while bits:
            sums[i] += lowest(bits)
            bits &= bits - one


if __name__ == "__main__":
    main()
