"""The few statistics that a comparison needs.

Bootstrap intervals, performance profiles and several seeds follow Agarwal et al., "Deep
Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Z_95 = 1.959963984540054

RESAMPLES = 5_000


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, JASA 22, 1927).

    >>> low, high = wilson_interval(27, 100)
    >>> round(low, 3), round(high, 3)
    (0.193, 0.364)
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} successes in {trials} trials: 0 to trials, at least 1 trial")
    share = successes / trials
    shrink = 1 + Z_95**2 / trials
    centre = (share + Z_95**2 / (2 * trials)) / shrink
    half = Z_95 / shrink * math.sqrt(share * (1 - share) / trials + (Z_95 / (2 * trials)) ** 2)
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap_interval(
    values: NDArray[np.float64] | NDArray[np.int64], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The 95 % percentile interval of a mean, its values drawn anew with replacement.

    Games have few different values, and how often each is drawn is multinomial: so a resample costs
    as much as there are different values, not as there are games. The same values in whatever order
    give the same interval.

    >>> low, high = bootstrap_interval(np.array([0, 0, 1, 1] * 100))
    >>> round(low, 2), round(high, 2)
    (0.45, 0.55)
    """
    kinds, counts = np.unique(values, return_counts=True)
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(len(values), counts / len(values), size=resamples)
    low, high = np.percentile(drawn @ kinds / len(values), [2.5, 97.5])
    return float(low), float(high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test, from the deals that only one of two won.

    McNemar, Psychometrika 12, 1947; the exact form is the binomial test of an even split.

    >>> mcnemar(0, 6)
    0.03125
    """
    from scipy.stats import binomtest

    n = only_first + only_second
    return float(binomtest(only_first, n).pvalue) if n else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number (Holm, Scandinavian Journal of Statistics 6, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
