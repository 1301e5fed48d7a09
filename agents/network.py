"""The policy network: one definition, for NumPy arrays and torch tensors alike.

Suits never matter, and neither does which six pairs of ranks make 13. So the network looks at the
pairs of ranks as a set. Each is a *token*, and all six go through the same weights::

    A+Q   2+J   3+T   4+9   5+8   6+7    kings    table
     |     |     |     |     |     |       |        |     features, one linear layer or two
     +-----+-----+-- attention blocks -----+--------+
     |     |     |     |     |     |       |        |
    scores of all actions from each token; an action's own is that of the cards it removes

Within a pair, the two ranks can be exchanged as well: both are read with both sets of first
weights, and added up. That makes 6! * 2^6 = 46,080 games look the same that are the same. The table
token stands for draw and recycle, and sees which places are taken, whatever lies there.

The blocks are those of Vaswani et al., "Attention Is All You Need", NIPS 2017, with the norm first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.cards import KING
from pyramid_env.observation import (
    FACE_DOWN,
    MANY_PASSES,
    MAX_UNSEEN,
    Information,
    is_thoughtful,
    observation_fields,
)
from pyramid_env.pyramid import (
    FIRST_RESERVE,
    N_SLOTS,
    STOCK_TOP,
    WASTE_TOP,
    Place,
    Slot,
    covers_of,
    lies_above,
)
from pyramid_env.rules import Rules

Array = Any
"""A NumPy array or a torch tensor."""

N_PAIRS = KING // 2
KING_TOKEN = N_PAIRS
TABLE_TOKEN = N_PAIRS + 1
N_TOKENS = N_PAIRS + 2

NORM_EPSILON = 1e-5
_LARGEST = 4096  # a file that asks for more is damaged
_MOST_BELOW = 8  # scales how many cards lie below one to about 1


@dataclasses.dataclass(frozen=True)
class PolicyConfig:
    """What a policy file says of itself."""

    rules: Rules
    """The rules it was trained on; it plays all rules with the same places."""

    width: int
    """Numbers in a token; a multiple of `heads`."""

    layers: int
    """Attention blocks."""

    heads: int = 4
    """Attention heads of a block."""

    information: Information = "fair"
    """The view it was trained on."""

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= _LARGEST:
                raise ValueError(f"{name}={value!r} is not allowed: 1 to {_LARGEST}")
        is_thoughtful(self.information)
        if self.width % self.heads:
            raise ValueError(f"width={self.width} is not allowed: a multiple of heads={self.heads}")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The name and shape of every weight."""
        width, n_actions = self.width, len(action_table(self.rules))
        n_places = observation_fields(self.rules).passes_left.start
        n_stock = self.rules.stock_size
        shapes: dict[str, tuple[int, ...]] = {"partner/weight": (width, n_places + 4 * N_SLOTS + 1)}
        for name, n_out, n_in in (
            ("own", width, n_places + 4 * N_SLOTS + 1),
            ("pair", width, width),
            ("king", width, n_places + 2 * N_SLOTS + 1),
            ("table", 2 * width, n_places + 2 * N_SLOTS + n_stock + MANY_PASSES + 1),
            ("table_to_all", width, 2 * width),
            ("table_to_own", width, 2 * width),
            *(
                (f"blocks/{i}/{name}", n_out * width, n_in * width)
                for i in range(self.layers)
                for name, n_out, n_in in (
                    ("query_key_value", 3, 1),
                    ("attended", 1, 1),
                    ("inner", 2, 1),
                    ("outer", 1, 2),
                )
            ),
            ("action", n_actions, width),
            ("win", n_actions, width),
        ):
            shapes |= {f"{name}/weight": (n_out, n_in), f"{name}/bias": (n_out,)}
        norms = [f"blocks/{i}/norm_{j}" for i in range(self.layers) for j in (1, 2)]
        for name in (*norms, "norm"):
            shapes |= {f"{name}/weight": (width,), f"{name}/bias": (width,)}
        return shapes


class Network:
    """The forward pass of policies of one configuration.

    `xp` is the module `numpy` or `torch`, and `to_array` turns a NumPy array into one of its own.
    """

    def __init__(
        self,
        config: PolicyConfig,
        xp: Any = np,
        to_array: Callable[[NDArray[Any]], Array] = np.asarray,
    ) -> None:
        self.config = config
        self._xp = xp
        self._fields = observation_fields(config.rules)
        self._zero, self._one = (to_array(np.array(mark, np.float32)) for mark in (0, 1))
        above = [[lies_above(Slot(a), Slot(b)) for b in range(N_SLOTS)] for a in range(N_SLOTS)]
        covers = [[b in covers_of(Slot(a)) for b in range(N_SLOTS)] for a in range(N_SLOTS)]
        self._above = to_array(np.array(above, np.float32))
        self._covers = to_array(np.array(covers, np.float32))
        self._ranks = to_array(np.arange(1, KING)[None, :, None])
        self._counts = to_array(np.arange(MAX_UNSEEN + 1, dtype=np.float32))
        self._passes = to_array(np.arange(MANY_PASSES + 1)[None])
        self._first_place = to_array(_first_places(config.rules))
        self._is_turn = to_array(_first_places(config.rules) < 0)
        self._token_of = to_array(_tokens_of_ranks())
        self._actions = to_array(np.arange(len(action_table(config.rules)))[None])

    def tokens(self, weights: Mapping[str, Array], observations: Array) -> Array:
        """What the blocks make of observations (int64[n, size]): float32[n, `N_TOKENS`, width]."""
        stream = self._read(weights, observations)
        for i in range(self.config.layers):
            stream = self._block(weights, f"blocks/{i}", stream)
        return self._norm(weights, "norm", stream)

    def scores(
        self, weights: Mapping[str, Array], head: str, tokens: Array, observations: Array
    ) -> Array:
        """One number an action, float32[n, n_actions], legal or not.

        `head` is ``"action"``, the policy's logits, or ``"win"``, the logits that the game can be
        won after the action.
        """
        of_tokens = _linear(weights, head, tokens)
        lies_there = self._token_of[observations[:, self._first_place]]
        token = self._xp.where(self._is_turn, TABLE_TOKEN, lies_there)
        rows = self._xp.arange(len(tokens), device=tokens.device)[:, None]
        return of_tokens[rows, token, self._actions]

    def _read(self, weights: Mapping[str, Array], observations: Array) -> Array:
        """The tokens as they enter the blocks."""
        places = observations[:, : self._fields.passes_left.start]
        unseen = self._counts[observations[:, self._fields.unseen]]
        there = self._mark(places[:, :N_SLOTS] > 0)
        exposed = self._mark((there > 0) & (there @ self._covers.T == 0))
        n_below = there @ self._above.T / _MOST_BELOW
        pairs = self._pairs(weights, places, exposed, n_below, unseen[:, : KING - 1])
        kings = self._mark(places == KING)
        in_pyramid = kings[:, :N_SLOTS]
        seen = self._join(kings, unseen[:, KING - 1 :], in_pyramid * exposed, in_pyramid * n_below)
        king = _linear(weights, "king", seen)[:, None]
        taken = self._mark(places > 0)
        face_down = self._mark(places[:, self._fields.stock] == FACE_DOWN)
        passes = self._mark(observations[:, self._fields.passes_left] == self._passes)
        seen = self._join(taken, exposed, n_below, face_down, passes)
        table = _relu(_linear(weights, "table", seen))[:, None]
        own_part = _linear(weights, "table_to_own", table)
        tokens = self._xp.concatenate([pairs, king, own_part], axis=1)
        return tokens + _linear(weights, "table_to_all", table)

    def _pairs(
        self,
        weights: Mapping[str, Array],
        places: Array,
        exposed: Array,
        n_below: Array,
        unseen: Array,
    ) -> Array:
        """The tokens of the pairs of ranks.

        A rank is known by where its cards lie, which of them are exposed, how many cards lie below
        each, how many of those, and of the cards above, are partners, and how many are unseen.
        """
        lies = self._mark(places[:, None] == self._ranks)  # n, 12 ranks, places
        in_pyramid = lies[:, :, :N_SLOTS]
        partners = self._xp.flip(in_pyramid, (1,))
        ranks = self._join(
            lies,
            in_pyramid * exposed[:, None],
            in_pyramid * n_below[:, None],
            in_pyramid * (partners @ self._above.T),
            in_pyramid * (partners @ self._above),
            unseen[:, :, None],
        )
        of_partner = self._xp.flip(ranks @ weights["partner/weight"].T, (1,))
        mixed = _relu(_linear(weights, "own", ranks) + of_partner)
        both = mixed[:, :N_PAIRS] + self._xp.flip(mixed, (1,))[:, :N_PAIRS]
        return _linear(weights, "pair", both)

    def _block(self, weights: Mapping[str, Array], name: str, stream: Array) -> Array:
        n, n_tokens, width = stream.shape
        heads = self.config.heads
        split = _linear(
            weights, f"{name}/query_key_value", self._norm(weights, f"{name}/norm_1", stream)
        ).reshape(n, n_tokens, 3, heads, width // heads)
        query, key, value = (split[:, :, i].swapaxes(1, 2) for i in range(3))
        weight = query @ key.swapaxes(2, 3) / (width // heads) ** 0.5
        weight = self._xp.exp(weight - self._xp.amax(weight, axis=-1, keepdims=True))
        weight = weight / weight.sum(axis=-1, keepdims=True)
        attended = (weight @ value).swapaxes(1, 2).reshape(n, n_tokens, width)
        stream = stream + _linear(weights, f"{name}/attended", attended)
        inner = _relu(
            _linear(weights, f"{name}/inner", self._norm(weights, f"{name}/norm_2", stream))
        )
        return stream + _linear(weights, f"{name}/outer", inner)

    def _norm(self, weights: Mapping[str, Array], name: str, stream: Array) -> Array:
        centred = stream - stream.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        normed = centred / self._xp.sqrt(variance + NORM_EPSILON)
        return normed * weights[f"{name}/weight"] + weights[f"{name}/bias"]

    def _mark(self, condition: Array) -> Array:
        """1 where a condition holds, else 0."""
        return self._xp.where(condition, self._one, self._zero)

    def _join(self, *parts: Array) -> Array:
        return self._xp.concatenate(parts, axis=-1)


def _linear(weights: Mapping[str, Array], name: str, x: Array) -> Array:
    return x @ weights[f"{name}/weight"].T + weights[f"{name}/bias"]


def _relu(x: Array) -> Array:
    return x * (x > 0)


def _first_places(rules: Rules) -> NDArray[np.int64]:
    """int64[n_actions]: where in an observation the first card of an action lies; -1 without."""
    fields = observation_fields(rules)
    tops = {WASTE_TOP: fields.waste.start, STOCK_TOP: fields.stock.start}
    found = []
    for move in action_table(rules):
        place = move.places[0] if move.places else -1
        reserve = place - FIRST_RESERVE + N_SLOTS if place >= FIRST_RESERVE else place
        found.append(tops.get(Place(place), reserve))
    return np.array(found)


def _tokens_of_ranks() -> NDArray[np.int64]:
    """int64[15]: the token of each rank; no card and a face-down one have the table's."""
    tokens = np.full(FACE_DOWN + 1, TABLE_TOKEN)
    for rank in range(1, KING):
        tokens[rank] = min(rank, KING - rank) - 1
    tokens[KING] = KING_TOKEN
    return tokens
