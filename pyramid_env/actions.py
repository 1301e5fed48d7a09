"""The action table: the one place that converts action ids, moves and move texts.

An *action* is the integer at the environment's border, a *move* the structured value behind it. The
table holds every move that could ever be legal under given rules. Ids are stable: a change of the
table bumps the environment's version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Literal, NewType

import numpy as np
from numpy.typing import NDArray

from pyramid_env.jit import inline_kernel, kernel, lowest
from pyramid_env.pyramid import (
    FIRST_RESERVE,
    N_PLACES,
    N_SLOTS,
    STOCK_TOP,
    WASTE_TOP,
    Place,
    Slot,
    covers_of,
    lies_above,
    parse_place,
    place_name,
)
from pyramid_env.rules import Rules
from pyramid_env.simd import load_8
from pyramid_env.texts import shown

_0 = np.uint64(0)
_1 = np.uint64(1)
_8 = np.uint64(8)
_ONES = np.uint64(0x0101010101010101)  # eight bytes, each of them 1

Action = NewType("Action", int)
MoveKind = Literal["pair", "king", "draw", "recycle"]

_N_PLACES_OF_KIND: dict[MoveKind, int] = {"pair": 2, "king": 1, "draw": 0, "recycle": 0}


@dataclass(frozen=True)
class Move:
    """One move: two places for a pair, in ascending order, one for a king, none otherwise.

    >>> Move.parse("g7+b1")
    Move(kind='pair', places=(1, 27))
    >>> str(Move("king", (Place(28),)))
    'W'
    """

    kind: MoveKind
    places: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", tuple(self.places))
        if not isinstance(self.kind, str) or self.kind not in _N_PLACES_OF_KIND:
            raise ValueError(f"no move is a {self.kind!r}: {', '.join(_N_PLACES_OF_KIND)}")
        if len(self.places) != _N_PLACES_OF_KIND[self.kind]:
            raise ValueError(
                f"a {self.kind} has {_N_PLACES_OF_KIND[self.kind]} places, not {len(self.places)}"
            )
        for place in self.places:
            if not 0 <= place < N_PLACES:
                raise ValueError(f"there is no place {place}: 0 to {N_PLACES - 1}")
        if list(self.places) != sorted(set(self.places)):
            raise ValueError(f"the places of a {self.kind} must ascend: {self.places}")

    @classmethod
    def parse(cls, text: str) -> Move:
        """The move of a text: two places (``B1+G7``, ``W+S``), a king's place, draw, recycle."""
        words = text.replace("+", " ").split()
        if len(words) == 1 and words[0].lower() in ("draw", "recycle"):
            return RECYCLE if words[0].lower() == "recycle" else DRAW
        if len(words) not in (1, 2):
            raise ValueError(
                f"cannot read {shown(text)} as a move: two places such as B1+G7, one for a king,"
                " draw or recycle"
            )
        places = tuple(sorted(parse_place(word) for word in words))
        return cls("pair" if len(words) == 2 else "king", places)

    def __str__(self) -> str:
        return "+".join(map(place_name, self.places)) or self.kind


DRAW = Move("draw")
RECYCLE = Move("recycle")


class ActionTable:
    """All moves of some rules in the order of their ids.

    Pairs come first (two slots, slot and waste, slot and stock, slot and reserve, then those
    outside the pyramid), then kings, draw and recycle. `len`, indexing, iteration and `in` work as
    on a tuple of moves.

    >>> table = action_table(Rules())
    >>> len(table), table[283], table.action(Move.parse("W+S"))
    (285, Move(kind='draw', places=()), 252)
    """

    def __init__(self, reserve: int, covered_pairs: bool, stock_playable: bool) -> None:
        outside = [WASTE_TOP]
        if stock_playable:
            outside.append(STOCK_TOP)
        outside += [Place(FIRST_RESERVE + i) for i in range(reserve)]
        slots = [Place(slot) for slot in range(N_SLOTS)]

        pairs = [
            (Place(a), Place(b))
            for a, b in combinations(map(Slot, range(N_SLOTS)), 2)
            if not lies_above(a, b) or (covered_pairs and b in covers_of(a))
        ]
        pairs += [(slot, place) for place in outside for slot in slots]
        pairs += combinations(outside, 2)
        self.moves: tuple[Move, ...] = (
            *(Move("pair", pair) for pair in pairs),
            *(Move("king", (place,)) for place in (*slots, *outside)),
            DRAW,
            RECYCLE,
        )
        self._action_of = {move: Action(i) for i, move in enumerate(self.moves)}

    def __len__(self) -> int:
        return len(self.moves)

    def __getitem__(self, action: int) -> Move:
        if not 0 <= action < len(self.moves):
            raise ValueError(f"no action has id {action}: 0 to {len(self.moves) - 1}")
        return self.moves[action]

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    def __contains__(self, move: object) -> bool:
        return move in self._action_of

    def action(self, move: Move) -> Action:
        """The id of a move; `ValueError` for one that these rules can never have."""
        if move not in self._action_of:
            raise ValueError(f"{move} can never be legal under these rules")
        return self._action_of[move]


def action_table(rules: Rules) -> ActionTable:
    """The table of some rules; rules with the same places share the same table."""
    return _table(rules.reserve, rules.covered_pairs, rules.stock_playable)


@cache
def _table(reserve: int, covered_pairs: bool, stock_playable: bool) -> ActionTable:
    return ActionTable(reserve, covered_pairs, stock_playable)


def sample_actions(
    action_masks: NDArray[np.int8], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one legal action a row, uniformly.

    `action_masks` is int8[n, n_actions]; returns int64[n]. Raises `ValueError` where a row has no
    legal action, or something else than 0 and 1.
    """
    if action_masks.ndim != 2 or action_masks.dtype != np.int8:
        raise ValueError(
            "action_masks must be int8 of shape (n, n_actions), not"
            f" {action_masks.dtype} of shape {action_masks.shape}"
        )
    actions = np.empty(len(action_masks), dtype=np.int64)
    too_few = max(0, 8 - action_masks.shape[1])
    masks = np.pad(action_masks, ((0, 0), (0, too_few))) if too_few else action_masks
    masks = np.require(masks, requirements=["C", "W"])  # the one kind that is compiled
    row, is_empty = _sample(masks, generator.random(len(masks)), actions)
    if row >= 0:
        fault = "no legal action" if is_empty else "something else than 0 and 1"
        raise ValueError(f"row {row} of action_masks has {fault}")
    return actions


@kernel
def _sample(masks: Any, uniforms: Any, actions: Any) -> Any:
    """Write the action at fraction `uniforms[i]` of row i's ones.

    The first row that is wrong, or -1, and whether it is empty. Eight actions are read at a time,
    which takes a fifth of reading them one by one.
    """
    n_actions = np.uint64(masks.shape[1])
    n_words = n_actions // _8
    n_rest = n_actions % _8
    legal = np.empty(n_actions, np.int64)
    for row in range(masks.shape[0]):
        start = np.uint64(row) * n_actions
        count, met = _0, _0
        for i in range(n_words):
            at = _8 * np.uint64(i)
            word = load_8(masks, start + at)
            met |= word
            count = _list_ones(word & _ONES, at, legal, count)
        if n_rest:  # read with those before, and these shifted out
            last = load_8(masks, start + n_actions - _8) >> (_8 * (_8 - n_rest))
            met |= last
            count = _list_ones(last & _ONES, _8 * n_words, legal, count)
        if count == _0 or met & ~_ONES != _0:
            return row, met == _0
        actions[row] = legal[np.uint64(uniforms[row] * count)]
    return -1, False


@inline_kernel
def _list_ones(ones: Any, at: Any, legal: Any, count: Any) -> Any:
    """Append the actions from `at` on whose byte is 1, and return how many there are then."""
    while ones:
        legal[count] = at + lowest(ones) // _8
        ones &= ones - _1
        count += _1
    return count
