"""What the solver's kernels know of a deal under given rules."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import Move, action_table
from pyramid_env.cards import KING, N_CARDS, N_RANKS
from pyramid_env.engine import ALL_CARDS, find_rank_bits, is_position
from pyramid_env.jit import kernel
from pyramid_env.pyramid import FIRST_RESERVE, N_SLOTS, STOCK_TOP, WASTE_TOP, Place
from pyramid_env.rules import Rules
from pyramid_env.solver.tally import TABLE_SHAPE, fill_table, one_card

_N_RANK_PAIRS = (KING - 1) // 2


FACTS_DTYPE = np.dtype(
    [
        ("rank_bits", np.uint64, (N_RANKS + 1,)),  # of each rank the cards, as the engine wants it
        # The cards that each card could ever go with: the sum is 13, and neither has to go before
        # the other is free. None for a king.
        ("partners", np.uint64, (N_CARDS,)),
        ("ones", np.uint64, (N_CARDS,)),  # the tally of each card alone
        ("tallies", np.uint64, TABLE_SHAPE),  # the table of `tally.tally_of`
        # Kings, and the cards of some of the six pairs of ranks: bit i of the index stands for
        # ranks i + 1 and 12 - i.
        ("rank_pairs", np.uint64, (2**_N_RANK_PAIRS,)),
    ],
    align=True,
)
"""What stays the same through all searches of a deal; cards are named by their bits."""


GOOD, NO_DECK, NO_POSITION = range(3)
"""What `check` finds."""


@kernel
def check(position: Any, cards: Any, rules_array: Any) -> int:
    """Whether cards (uint8[52]) are one deck and a position is one of a game by the rules."""
    met = np.uint64(0)
    for i in range(N_CARDS):
        if cards[i] < N_CARDS:
            met |= np.uint64(1) << np.uint64(cards[i])
    if met != ALL_CARDS:
        return NO_DECK
    return GOOD if is_position(position, rules_array[0]) else NO_POSITION


def fill_facts(cards: NDArray[np.uint8], rules: Rules, facts: NDArray[np.void]) -> None:
    """Write the facts of a deal's cards (uint8[52]) into an array of one `FACTS_DTYPE` record."""
    write_facts(cards, meeting_of(rules), facts)


@kernel
def write_facts(cards: Any, meeting: Any, facts_array: Any) -> None:
    """`fill_facts` for kernels, with `meeting_of` the rules."""
    facts = facts_array[0]
    find_rank_bits(cards, facts["rank_bits"])
    for i in range(N_CARDS):
        bit = np.uint64(i)
        rank = np.uint64(cards[bit] % N_RANKS + 1)
        mates = facts["rank_bits"][np.uint64(KING) - rank] if rank < KING else np.uint64(0)
        facts["partners"][bit] = mates & meeting[bit]
        facts["ones"][bit] = one_card(rank)
    fill_table(facts["ones"], facts["tallies"])
    for i in range(2**_N_RANK_PAIRS):
        pairs = facts["rank_bits"][np.uint64(KING)]
        for j in range(_N_RANK_PAIRS):
            if i >> j & 1:
                low = np.uint64(j + 1)
                pairs |= facts["rank_bits"][low] | facts["rank_bits"][np.uint64(KING) - low]
        facts["rank_pairs"][np.uint64(i)] = pairs


@cache
def meeting_of(rules: Rules) -> NDArray[np.uint64]:
    """uint64[52]: for each bit those that it could form a pair with, by the action table."""
    table = action_table(rules)
    meeting = np.zeros(N_CARDS, np.uint64)
    for a, b in combinations(range(N_CARDS), 2):
        pairs = (
            Move("pair", (min(first, second), max(first, second)))
            for first in _places_of(a, rules)
            for second in _places_of(b, rules)
            if first != second
        )
        if any(pair in table for pair in pairs):
            meeting[a] |= np.uint64(1 << b)
            meeting[b] |= np.uint64(1 << a)
    meeting.flags.writeable = False
    return meeting


def _places_of(bit: int, rules: Rules) -> tuple[Place, ...]:
    """The places that a card can be played from in the course of a game."""
    if bit < N_SLOTS:
        return (Place(bit),)
    if bit < N_SLOTS + rules.reserve:
        return (Place(FIRST_RESERVE + bit - N_SLOTS),)
    return (WASTE_TOP, STOCK_TOP)
