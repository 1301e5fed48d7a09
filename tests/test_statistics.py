"""The statistics of a comparison, against published values and other implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap

from agents.statistics import bootstrap_interval, holm, mcnemar, wilson_interval


def test_wilson_interval_against_published_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    for successes, trials, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)
    with pytest.raises(ValueError, match="0 to trials"):
        wilson_interval(3, 2)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).integers(0, 2, 500),
        np.random.default_rng(2).integers(-28, 29, 300),
        np.random.default_rng(3).integers(0, 4, 400) / 3,  # the mean of three seeds
    ],
)
def test_bootstrap_interval_is_that_of_scipy(values: np.ndarray) -> None:
    expected = bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    close = pytest.approx(tuple(expected), abs=0.1 * expected_error(values))
    assert bootstrap_interval(values, 20_000) == close


def expected_error(values: np.ndarray) -> float:
    return float(values.std()) / math.sqrt(len(values))


def test_bootstrap_interval_holds_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        low, high = bootstrap_interval(generator.random(400) < 0.3, 1000)
        held += low <= 0.3 <= high
    assert 270 <= held <= 297  # 285 expected


def test_bootstrap_interval_knows_no_order_and_no_chance() -> None:
    values = np.random.default_rng(5).integers(0, 29, 200)
    assert bootstrap_interval(values) == bootstrap_interval(np.sort(values))
    assert bootstrap_interval(np.full(10, 7)) == (7, 7)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    # Two-sided: twice the tail of 3 or fewer in 14 tosses of a coin.
    tail = sum(math.comb(14, k) for k in range(4)) / 2**14
    assert mcnemar(3, 11) == mcnemar(11, 3) == pytest.approx(2 * tail)
    assert mcnemar(0, 0) == mcnemar(5, 5) == 1
    assert mcnemar(0, 10_000) < 1e-100


def test_holm_multiplies_each_by_how_many_are_not_smaller() -> None:
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.5, 0.001, 0.9]) == pytest.approx([1, 0.003, 1])
    assert holm([]) == []
