"""Tallies: counts of all ranks in one integer, held against counting card by card."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyramid_env.cards import KING, N_CARDS
from pyramid_env.solver import tally

RANKS = range(1, KING)
counts = st.lists(st.integers(0, 4), min_size=12, max_size=12)


def packed(of_ranks: list[int]) -> np.uint64:
    return np.uint64(
        sum(count << tally.field_of(rank) for rank, count in zip(RANKS, of_ranks, strict=True))
    )


def unpacked(value: int) -> list[int]:
    return [int(count) for count in tally.as_list(int(value))]


@given(st.permutations(range(N_CARDS)), st.integers(0, 2**N_CARDS - 1))
def test_a_tally_counts_each_rank_but_kings(deck: list[int], cards: int) -> None:
    ranks = [card % 13 + 1 for card in deck]
    ones = np.array([tally.one_card(rank) for rank in ranks], np.uint64)
    table = np.empty(tally.TABLE_SHAPE, np.uint64)
    tally.fill_table(ones, table)
    met = Counter(rank for bit, rank in enumerate(ranks) if cards >> bit & 1)
    assert unpacked(tally.tally_of(np.uint64(cards), table)) == [met[rank] for rank in RANKS]


@given(counts, counts)
def test_tallies_are_compared_rank_by_rank(a: list[int], b: list[int]) -> None:
    x, y = packed(a), packed(b)
    pairs = list(zip(a, b, strict=True))
    assert unpacked(tally.smaller(x, y)) == [min(pair) for pair in pairs]
    assert unpacked(tally.missing(x, y)) == [max(0, i - j) for i, j in pairs]
    assert unpacked(tally.fields_of(tally.at_least(x, y))) == [15 * (i >= j) for i, j in pairs]


@given(counts)
def test_partners_totals_and_the_larger_of_each_pair(a: list[int]) -> None:
    x = packed(a)
    assert unpacked(tally.of_partners(x)) == a[::-1]
    assert tally.total(x) == sum(a)
    larger = [max(i, j) for i, j in zip(a[:6], a[:5:-1], strict=True)]
    assert unpacked(tally.larger_of_pairs(x)) == larger + [0] * 6
