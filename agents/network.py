"""The policy network: one definition, for NumPy arrays and torch tensors alike.

Suits never matter, and neither does which ranks make 13: a card is known by where it lies and by
which others are its partners. So each card on the table is a *token*, and no token says its rank.
In every block a card hears from those that matter to it; all go through the same weights::

    slots      reserve    waste and stock, in the order in which they are drawn
      |           |          |
      +-----------+----------+      features of each card, one linear layer
      |           |          |
      +-- blocks -+----------+      a card hears from the cards at other places (learned weights
      |           |          |      between places), from its partners, from the partners that lie
      |           |          |      above and below it, and from all cards together
      +-- moves --+----------+      a score of a move from the cards that it removes, and from all

The 6! * 2^6 = 46,080 ways to name the same game look the same. Messages along the edges of a graph
are those of Gilmer et al., "Neural Message Passing for Quantum Chemistry", ICML 2017, in residual
blocks with the norm first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import MoveKind, action_table
from pyramid_env.cards import KING, N_RANKS
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
    Slot,
    covers_of,
    lies_above,
)
from pyramid_env.rules import Rules

Array = Any
"""A NumPy array or a torch tensor."""

ALL_CARDS = -1
"""The row of the tokens that is of all cards together."""

NORM_EPSILON = 1e-5
_LARGEST = 4096  # a file that asks for more is damaged
_MANY = 8.0  # scales counts of cards above and below one to about 1
_SOME_CARDS = 16.0  # scales sums over all cards
_N_FEATURES = 15
_KINDS: tuple[MoveKind, ...] = ("pair", "king", "draw", "recycle")


@dataclasses.dataclass(frozen=True)
class PolicyConfig:
    """What a policy file says of itself."""

    rules: Rules
    """The rules it was trained on; it plays all rules with the same places."""

    width: int
    """Numbers in a token; a multiple of `heads`."""

    layers: int
    """Blocks."""

    heads: int = 4
    """Parts of a token, each with its own weights between places."""

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

    @property
    def n_face_up(self) -> int:
        """Places in the pyramid and the reserve."""
        return N_SLOTS + self.rules.reserve

    @property
    def n_cards(self) -> int:
        """Places where a card can lie, those of the waste and the stock counted one by one."""
        return self.n_face_up + self.rules.stock_size

    @property
    def n_tokens(self) -> int:
        """Places that a move can name, and one more for all cards together."""
        return FIRST_RESERVE + self.rules.reserve + 1

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The name and shape of every weight."""
        width, n_cards = self.width, self.n_cards
        shapes: dict[str, tuple[int, ...]] = {
            "features": (width, _N_FEATURES),
            "places": (self.n_face_up, width),
            "order": (2 * self.rules.stock_size, width),
            "passes": (MANY_PASSES + 1, width),
        }
        for i in range(self.layers):
            shapes |= {
                f"blocks/{i}/norm": (width,),
                f"blocks/{i}/places": (self.heads, n_cards, n_cards),
                f"blocks/{i}/inner": (2 * width, 4 * width),
                f"blocks/{i}/all": (2 * width, width),
                f"blocks/{i}/bias": (2 * width,),
                f"blocks/{i}/outer": (width, 2 * width),
            }
        half = width // 2 or 1
        return shapes | {
            "norm": (width,),
            "moves/card": (half, width),
            "moves/all": (half, width),
            "moves/kind": (len(_KINDS), half),
            "moves/scores": (2, half),
        }


class _Cards(NamedTuple):
    """What lies on the table, as all blocks need it."""

    there: Array
    """n, cards, 1: 1 where a card lies."""

    ranks: Array
    """n, ranks, cards: 1 where the card is of the rank."""

    partners: Array
    """n, cards, ranks: 1 where the card's partners are of the rank."""

    partners_below: Array
    """n, slots, slots: 1 where the second is a partner of the first, and lies below it."""


def relu(x: Array) -> Array:
    """The numbers above 0, and 0."""
    return np.maximum(x, 0)


def layer_norm(x: Array, weight: Array) -> Array:
    """Ba, Kiros and Hinton, "Layer Normalization", 2016; without a bias, so no card stays zero."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    normed: Array = centred / (variance + NORM_EPSILON) ** 0.5 * weight
    return normed


def pyramid_relations() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """float32[28, 28] each: 1 where the first slot lies above the second; where the second covers
    the first."""
    slots = [Slot(slot) for slot in range(N_SLOTS)]
    above = [[lies_above(a, b) for b in slots] for a in slots]
    covers = [[b in covers_of(a) for b in slots] for a in slots]
    return np.array(above, np.float32), np.array(covers, np.float32)


class Network:
    """The forward pass of policies of one configuration.

    `xp` is the module `numpy` or `torch`. `to_array` turns a NumPy array into one of its own, of
    the precision of the weights where it has floats; `norm` and `relu` stand in for those of this
    module, where `xp` has faster ones.
    """

    def __init__(
        self,
        config: PolicyConfig,
        xp: Any = np,
        to_array: Callable[[NDArray[Any]], Array] = np.asarray,
        norm: Callable[[Array, Array], Array] = layer_norm,
        relu: Callable[[Array], Array] = relu,
    ) -> None:
        self.config = config
        self._xp = xp
        self._norm = norm
        self._relu = relu
        self._fields = observation_fields(config.rules)
        self._zero, self._one = (to_array(np.array(mark, np.float32)) for mark in (0, 1))
        self._above, self._covers = map(to_array, pyramid_relations())
        self._ranks = to_array(np.arange(1, N_RANKS + 1)[None, :, None])
        self._counts = to_array(np.arange(MAX_UNSEEN + 1, dtype=np.float32) / MAX_UNSEEN)
        self._order = to_array(np.arange(config.rules.stock_size)[None])
        touched, kind = _of_actions(config.rules)
        self._touched, self._kind = to_array(touched), to_array(kind)

    def tokens(self, weights: Mapping[str, Array], observations: Array) -> Array:
        """What the blocks make of observations (int64[n, size]): float32[n, places + 1, width].

        A row for each place of the moves, by its number, and at `ALL_CARDS` one for all cards.
        """
        n_drawn = (observations[:, self._fields.waste] > 0).sum(axis=1)[:, None]
        stream, cards = self._read(weights, observations, n_drawn)
        for i in range(self.config.layers):
            stream = self._block(weights, f"blocks/{i}", stream, cards)
        stream = self._norm(stream, weights["norm"]) * cards.there
        waste = self._card_at(stream, n_drawn - 1)
        stock = self._card_at(stream, n_drawn)
        slots, reserve = stream[:, :N_SLOTS], stream[:, N_SLOTS : self.config.n_face_up]
        everything = self._of_all(stream)[:, None]
        return self._xp.concatenate([slots, waste, stock, reserve, everything], axis=1)

    def scores(self, weights: Mapping[str, Array], tokens: Array) -> tuple[Array, Array]:
        """Two numbers for each action, legal or not, float32[n, n_actions] each.

        The policy's logits, and the logits that the game can be won after the action.
        """
        cards = self._touched @ (tokens[:, :ALL_CARDS] @ weights["moves/card"].T)
        of_all = tokens[:, ALL_CARDS:] @ weights["moves/all"].T
        moves = self._relu(cards + of_all + weights["moves/kind"][self._kind])
        scores = moves @ weights["moves/scores"].T
        return scores[:, :, 0], scores[:, :, 1]

    def _read(
        self, weights: Mapping[str, Array], observations: Array, n_drawn: Array
    ) -> tuple[Array, _Cards]:
        """The tokens as they enter the blocks: what is known of each card by itself."""
        codes = self._codes(observations, n_drawn)
        there = self._mark(codes > 0)
        ranks = self._mark(codes[:, None] == self._ranks)
        partners = self._partner_ranks(ranks).swapaxes(1, 2)
        in_pyramid = there[:, :N_SLOTS]
        exposed = in_pyramid * self._mark(in_pyramid @ self._covers.T == 0)
        below = partners[:, :N_SLOTS] @ ranks[:, :, :N_SLOTS] * self._above
        of_slots = (
            exposed,
            in_pyramid @ self._above.T / _MANY,
            in_pyramid @ self._above / _MANY,
            below.sum(axis=1),
            below.sum(axis=2),
        )
        unseen = self._counts[observations[:, self._fields.unseen]]
        counts = self._columns(unseen, *self._seen(ranks, n_drawn))
        features = self._join(
            self._columns(self._mark(codes == FACE_DOWN), self._mark(codes == KING)),
            self._padded(self._columns(*of_slots)),
            partners @ counts,
            ranks.swapaxes(1, 2) @ counts,
        )
        passes = weights["passes"][observations[:, self._fields.passes_left]]
        places = self._places(weights, n_drawn)
        stream = features @ weights["features"].T + places + passes
        return stream * there[:, :, None], _Cards(there[:, :, None], ranks, partners, below)

    def _codes(self, observations: Array, n_drawn: Array) -> Array:
        """What lies at each place: a rank, 0 or `FACE_DOWN`; the waste from the bottom up."""
        fields, order = self._fields, self._order
        in_waste = fields.waste.start + n_drawn - 1 - order
        in_stock = fields.stock.start + order - n_drawn
        place = self._xp.where(order < n_drawn, in_waste, in_stock)
        return self._join(
            observations[:, : fields.waste.start], observations[self._rows(place), place]
        )

    def _seen(self, ranks: Array, n_drawn: Array) -> tuple[Array, Array, Array]:
        """How many cards of each rank lie in pyramid and reserve, waste and stock."""
        face_up, order = ranks[:, :, : self.config.n_face_up], ranks[:, :, self.config.n_face_up :]
        waste = (order * self._mark(self._order < n_drawn)[:, None]).sum(axis=2)
        stock = order.sum(axis=2) - waste
        return face_up.sum(axis=2) / MAX_UNSEEN, waste / MAX_UNSEEN, stock / MAX_UNSEEN

    def _partner_ranks(self, ranks: Array) -> Array:
        """The marks of each rank moved to the one that makes 13 with it; kings have none."""
        flipped = self._xp.flip(ranks[:, : KING - 1], (1,))
        return self._xp.concatenate([flipped, self._xp.zeros_like(ranks[:, :1])], axis=1)

    def _places(self, weights: Mapping[str, Array], n_drawn: Array) -> Array:
        """What is learned of each place; of waste and stock, by how far from the waste's top."""
        order = weights["order"][self._order - n_drawn + self.config.rules.stock_size]
        shape = (len(n_drawn), self.config.n_face_up, self.config.width)
        return self._xp.concatenate(
            [self._xp.broadcast_to(weights["places"], shape), order], axis=1
        )

    def _card_at(self, stream: Array, order: Array) -> Array:
        """The token of a card of waste and stock, in the order of drawing; zeros where none is."""
        is_one = self._mark((order >= 0) & (order < self.config.rules.stock_size))[:, :, None]
        index = self.config.n_face_up + order.clip(0, self.config.rules.stock_size - 1)
        return stream[self._rows(order), index] * is_one

    def _block(
        self, weights: Mapping[str, Array], name: str, stream: Array, cards: _Cards
    ) -> Array:
        """Every card hears from others, and makes something of it."""
        tokens = self._norm(stream, weights[f"{name}/norm"]) * cards.there
        n, n_cards, width = tokens.shape
        heads, half = self.config.heads, width // 2
        part = width // heads
        parts = tokens.reshape(n, n_cards, heads, part).swapaxes(0, 2)
        heard = weights[f"{name}/places"] @ parts.reshape(heads, n_cards, n * part)
        of_places = heard.reshape(parts.shape).swapaxes(0, 2).reshape(tokens.shape)
        of_partners = cards.partners @ (cards.ranks @ tokens)
        slots = tokens[:, :N_SLOTS]
        above = cards.partners_below.swapaxes(1, 2) @ slots[:, :, :half]
        below = cards.partners_below @ slots[:, :, half:]
        heard = self._join(tokens, of_places, of_partners, self._padded(self._join(above, below)))
        of_all = self._of_all(tokens) @ weights[f"{name}/all"].T + weights[f"{name}/bias"]
        inner = self._relu(heard @ weights[f"{name}/inner"].T + of_all[:, None])
        return stream + inner @ weights[f"{name}/outer"].T

    def _rows(self, index: Array) -> Array:
        """The number of each row, to go with an index into it."""
        return self._xp.arange(len(index), device=index.device)[:, None]

    def _of_all(self, tokens: Array) -> Array:
        return tokens.sum(axis=1) / _SOME_CARDS

    def _mark(self, condition: Array) -> Array:
        """1 where a condition holds, else 0."""
        return self._xp.where(condition, self._one, self._zero)

    def _padded(self, of_slots: Array) -> Array:
        """With zeros for all cards that do not lie in the pyramid."""
        shape = (len(of_slots), self.config.n_cards - N_SLOTS, of_slots.shape[2])
        rest = self._xp.zeros(shape, dtype=of_slots.dtype, device=of_slots.device)
        return self._xp.concatenate([of_slots, rest], axis=1)

    def _columns(self, *parts: Array) -> Array:
        return self._join(*(part[:, :, None] for part in parts))

    def _join(self, *parts: Array) -> Array:
        return self._xp.concatenate(parts, axis=-1)


def _of_actions(rules: Rules) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """float32[n_actions, places]: 1 where an action takes a card, or looks; and its kind."""
    table = action_table(rules)
    touched = np.zeros((len(table), FIRST_RESERVE + rules.reserve), np.float32)
    for action, move in enumerate(table):
        touched[action, list(move.places or (WASTE_TOP, STOCK_TOP))] = 1
    return touched, np.array([_KINDS.index(move.kind) for move in table])
