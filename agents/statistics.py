"""The few statistics that a comparison needs."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054


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
