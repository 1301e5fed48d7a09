"""What the solver's kernels know of a deal under given rules."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import Move, action_table
from pyramid_env.cards import KING, N_CARDS, N_RANKS
from pyramid_env.engine import find_rank_bits
from pyramid_env.jit import kernel
from pyramid_env.pyramid import FIRST_RESERVE, N_SLOTS, STOCK_TOP, WASTE_TOP, Place
from pyramid_env.rules import Rules


class Facts(NamedTuple):
    """What stays the same through all searches of a deal; cards are named by their bits."""

    rank_bits: NDArray[np.uint64]
    """uint64[14]: for each rank the places of its cards, as the engine wants them."""

    rank_of: NDArray[np.uint8]
    """uint8[52]: the rank of each card."""

    partners: NDArray[np.uint64]
    """uint64[52]: the cards that each card could ever go with: the sum is 13, and neither has to
    go before the other is free. None for a king."""


def find_facts(cards: NDArray[np.uint8], rules: Rules) -> Facts:
    """The facts of a deal's cards (uint8[52])."""
    facts = Facts(
        rank_bits=np.empty(N_RANKS + 1, np.uint64),
        rank_of=cards % np.uint8(N_RANKS) + np.uint8(1),
        partners=np.empty(N_CARDS, np.uint64),
    )
    _write_facts(cards, _meeting(rules), facts)
    return facts


@kernel
def _write_facts(cards: Any, meeting: Any, facts: Any) -> None:
    find_rank_bits(cards, facts.rank_bits)
    for i in range(N_CARDS):
        bit = np.uint64(i)
        rank = np.uint64(facts.rank_of[bit])
        mates = facts.rank_bits[np.uint64(KING) - rank] if rank < KING else np.uint64(0)
        facts.partners[bit] = mates & meeting[bit]


@cache
def _meeting(rules: Rules) -> NDArray[np.uint64]:
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
