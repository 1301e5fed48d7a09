"""`Game`: one game for people and scripts, in the spirit of python-chess's `Board`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, overload

import numpy as np

from pyramid_env import engine
from pyramid_env.actions import Action, Move, action_table
from pyramid_env.cards import Card, card_text, parse_card, rank_of
from pyramid_env.deals import Deal, get_deal
from pyramid_env.engine import Position
from pyramid_env.hint import hint
from pyramid_env.pyramid import FIRST_RESERVE, N_SLOTS, STOCK_TOP, WASTE_TOP, Place, place_name
from pyramid_env.rendering import render_text
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver import Objective, Undecided, solve_position
from pyramid_env.texts import as_number, shown

_EXACT_HINTS: tuple[Objective, ...] = ("win", "cards")
"""What an exact hint aims for, in this order."""


class LegalMoves:
    """The legal moves of a game as it stands: iterate, `in`, `len`, truth.

    A move, its text (places or cards) or its action id can be looked up.
    """

    def __init__(self, game: Game) -> None:
        self._game = game

    def __iter__(self) -> Iterator[Move]:
        table = action_table(self._game.rules)
        return (table[action] for action in self._game.legal_actions())

    def __len__(self) -> int:
        return len(self._game.legal_actions())

    def __contains__(self, move: object) -> bool:
        try:
            return self._game.find_move(move) in set(self)  # type: ignore[arg-type]
        except ValueError:
            return False

    def __repr__(self) -> str:
        return f"<LegalMoves: {', '.join(map(str, self)) or 'none'}>"


class Game:
    """One game: a deal, rules, and the moves played so far.

    A position is a value, so undo is keeping the old ones and `copy` is cheap.

    >>> game = Game(7)
    >>> game.play("draw")
    Move(kind='draw', places=())
    >>> game.score, game.is_lost, len(game.history)
    (0, False, 1)
    """

    deal: Deal
    """The 52 cards that the game started from."""

    rules: Rules
    """The rules it is played by."""

    def __init__(
        self,
        deal: Deal | str | int = 0,
        rules: str | Rules = "kawu",
        position: int | None = None,
    ) -> None:
        """Start a game of a `Deal`, a deal's number or its text, by a preset's name or `Rules`.

        With a `position` it starts there, with no moves to undo.
        """
        self.deal = get_deal(deal)
        self.rules = get_rules(rules)
        self._rules: Any = engine.compile_rules(self.rules)[0]
        self._rank_bits = np.empty(14, dtype=np.uint64)
        engine.find_rank_bits(self.deal.array, self._rank_bits)
        start = as_number(engine.start_position() if position is None else position)
        in_range = 0 <= start < 2**64
        if not (in_range and engine.is_position(np.uint64(start), self._rules)):
            raise ValueError(f"position={position!r} is none of a game by {self.rules}")
        self._positions = [np.uint64(start)]
        self._moves: list[Move] = []

    @classmethod
    def replay(
        cls, rules: str | Rules, deal: Deal | str | int, moves: Iterable[Move | str | int]
    ) -> Game:
        """The game after some moves; `ValueError` naming the first that is illegal."""
        game = cls(deal, rules)
        for number, move in enumerate(moves, start=1):
            try:
                game.play(move)
            except ValueError as error:
                raise ValueError(f"move {number}: {error}") from None
        return game

    @property
    def position(self) -> Position:
        """Where the game stands, as one unsigned 64-bit integer (see `pyramid_env.engine`)."""
        return Position(int(self._position))

    @property
    def history(self) -> tuple[Move, ...]:
        """The moves played, undone ones left out."""
        return tuple(self._moves)

    @property
    def legal_moves(self) -> LegalMoves:
        """A view of the moves that may be played now; empty when the game is over."""
        return LegalMoves(self)

    def legal_actions(self) -> list[Action]:
        """The ids of the legal moves, ascending."""
        actions = np.empty(engine.MAX_LEGAL, dtype=np.int16)
        count = engine.legal_actions(self._position, self._rank_bits, self._rules, actions)
        return sorted(Action(int(action)) for action in actions[:count])

    def play(self, move: Move | str | int) -> Move:
        """Play a move and return it.

        Takes a `Move`, a text of places (``B1+G7``, ``W``) or of cards (``QS AH``, ``KD``),
        ``draw``, ``recycle``, or an action id. An illegal one raises `ValueError` with the reason
        and changes nothing.
        """
        found = self.find_move(move)
        reason = self.why_illegal(found)
        if reason:
            raise ValueError(f"illegal move {self.describe(found)}: {reason}")
        action = action_table(self.rules).action(found)
        self._positions.append(np.uint64(engine.apply(self._position, action, self._rules)))
        self._moves.append(found)
        return found

    @overload
    def hint(self, exact: Literal[False] = False) -> Move: ...

    @overload
    def hint(self, exact: bool) -> Move | None: ...

    def hint(self, exact: bool = False) -> Move | None:
        """The legal move that the greedy hint names (see `pyramid_env.hint`); it is fair.

        Raises `ValueError` when the game is over.

        With `exact` it asks the solver, which sees all cards: a move of a line that reaches the
        goal, else of one that removes the most pyramid cards, else the greedy hint; None when the
        game is over. Raises `Undecided` where the solver gives up.

        >>> Game(0).hint(exact=True)
        Move(kind='king', places=(22,))
        """
        if exact:
            return self._exact_hint()
        action = int(hint(self._position, self._rank_bits, self._rules))
        if action < 0:
            raise ValueError(f"no hint: the game is {'won' if self.is_won else 'lost'}")
        return action_table(self.rules)[action]

    def undo(self) -> Move:
        """Take the last move back, whatever it was, and return it."""
        if not self._moves:
            raise ValueError("nothing to undo: the game is at its start")
        self._positions.pop()
        return self._moves.pop()

    def copy(self) -> Game:
        """A game of its own that stands where this one does, history included."""
        twin = type(self)(self.deal, self.rules)
        twin._positions = self._positions.copy()
        twin._moves = self._moves.copy()
        return twin

    @property
    def score(self) -> int:
        """Pyramid cards removed, 0 to 28."""
        return int(engine.pyramid_cards_removed(self._position))

    @property
    def is_won(self) -> bool:
        """Whether all cards of the goal are gone."""
        return bool(engine.is_won(self._position, self._rules))

    @property
    def is_lost(self) -> bool:
        """Whether the goal is missed and nothing is left to do.

        With unlimited passes also when a whole pass would allow no removal.
        """
        return not self.is_won and not self.legal_moves

    @property
    def is_over(self) -> bool:
        """Whether the game is won or lost."""
        return not self.legal_moves

    @property
    def passes_left(self) -> int | None:
        """Passes after the current one, that is recycles still allowed; None when unlimited."""
        left = int(engine.passes_left(self._position, self._rules))
        return None if left < 0 else left

    @property
    def pyramid(self) -> tuple[Card | None, ...]:
        """The card of each of the 28 slots, None where it is gone."""
        return tuple(self.deal.cards[slot] if self._has(slot) else None for slot in range(N_SLOTS))

    @property
    def reserve(self) -> tuple[Card | None, ...]:
        """The card of each reserve place, None where it is gone."""
        return tuple(
            self.deal.cards[bit] if self._has(bit) else None
            for bit in range(N_SLOTS, N_SLOTS + self.rules.reserve)
        )

    @property
    def waste(self) -> tuple[Card, ...]:
        """The waste's cards from the bottom to the top."""
        return self._cards(engine.waste_of(self._position, self._rules))

    @property
    def stock(self) -> tuple[Card, ...]:
        """The stock's cards from the next one on, face-down ones included."""
        return self._cards(engine.stock_of(self._position, self._rules))

    @property
    def unseen(self) -> tuple[Card, ...]:
        """The stock's cards that a person at the table has not seen."""
        return self._cards(engine.face_down_of(self._position, self._rules))

    def is_exposed(self, slot: int) -> bool:
        """Whether a slot's card is there and uncovered."""
        return bool((int(engine.exposed_of(self._position)) >> slot) & 1)

    def card_at(self, place: Place) -> Card | None:
        """The card of a slot or reserve place, or on top of waste or stock; None without one."""
        if place >= FIRST_RESERVE + self.rules.reserve:
            return None
        bit = int(engine.card_at(np.int64(place), self._position, self._rules))
        return None if bit >= len(self.deal.cards) else self.deal.cards[bit]

    def place_of(self, card: Card) -> Place:
        """The place that a card can be played from; `ValueError` where it is gone or buried."""
        bit = self.deal.cards.index(card)
        if not self._has(bit):
            raise ValueError(f"{card_text(card)} is gone")
        if bit < N_SLOTS:
            return Place(bit)
        if bit < N_SLOTS + self.rules.reserve:
            return Place(FIRST_RESERVE + bit - N_SLOTS)
        for place in (WASTE_TOP, STOCK_TOP):
            if self.card_at(place) == card:
                return place
        raise ValueError(f"{card_text(card)} lies under other cards of the waste or the stock")

    def find_move(self, move: Move | str | int) -> Move:
        """The move of a text or an action id; `ValueError` where there is none such."""
        if isinstance(move, Move):
            return move
        if isinstance(move, str):
            return self._parse(move)
        if isinstance(move, bool) or not isinstance(move, (int, np.integer)):
            raise ValueError(f"cannot play {move!r}: give a Move, its text or an action id")
        return action_table(self.rules)[int(move)]

    def describe(self, move: Move) -> str:
        """The move in places and cards, such as ``B1+G7 (QS+AH)``."""
        if not move.places:
            return str(move)
        return f"{move} ({'+'.join(self._card_name(place) for place in move.places)})"

    def why_illegal(self, move: Move) -> str | None:
        """Why a move may not be played now, in words; None when it is legal."""
        table = action_table(self.rules)
        if move in table and table.action(move) in self.legal_actions():
            return None
        if self.is_won:
            return "the game is won"
        if not self.legal_moves:
            return "the game is lost"
        if move.kind == "draw":
            return "the stock is empty: nothing to draw"
        if move.kind == "recycle":
            if self.stock:
                return "the stock still has cards to draw"
            return "no pass is left" if self.waste else "the waste is empty: nothing to recycle"
        return self._why_not_removable(move)

    def __str__(self) -> str:
        return render_text(self.position, self.deal, self.rules)

    def __repr__(self) -> str:
        if self._positions[0] != engine.start_position():
            return f"Game({self.deal!r}, {self.rules!r}, position={self.position})"
        moves = [str(move) for move in self._moves]
        return f"Game.replay({self.rules!r}, {self.deal!r}, {moves!r})"

    @property
    def _position(self) -> np.uint64:
        return self._positions[-1]

    def _card_name(self, place: Place) -> str:
        """What a person at the table would call the card of a place."""
        card = self.card_at(place)
        if card is None:
            return "gone"
        return "face down" if card in self.unseen else card_text(card)

    def _exact_hint(self) -> Move | None:
        if self.is_over:
            return None
        for objective in _EXACT_HINTS:
            solution = solve_position(self.position, self.deal.array, self.rules, objective)
            if not solution.is_proved:
                raise Undecided(f"no exact hint: gave up after {solution.nodes} positions")
            if solution.moves:
                return solution.moves[0]
        return self.hint()  # no line gains anything

    def _has(self, bit: int) -> bool:
        return bool((self.position >> bit) & 1)

    def _cards(self, bits: int) -> tuple[Card, ...]:
        return tuple(card for i, card in enumerate(self.deal.cards) if (int(bits) >> i) & 1)

    def _parse(self, text: str) -> Move:
        """A move of place names, or of cards, each on the place it can be played from."""
        try:
            return Move.parse(text)
        except ValueError as place_error:
            words = text.replace("+", " ").split()
            try:
                cards = [parse_card(word) for word in words]
            except ValueError:
                raise place_error from None
        if len(cards) not in (1, 2) or len(set(cards)) != len(cards):
            raise ValueError(f"cannot read {shown(text)} as a move: name one card or two")
        places = sorted(self.place_of(card) for card in cards)
        return Move("pair" if len(places) == 2 else "king", tuple(places))

    def _why_not_removable(self, move: Move) -> str:
        cards = []
        for place in move.places:
            card = self.card_at(place)
            if card is None:
                return f"no card is at {place_name(place)}"
            if place == STOCK_TOP and not self.rules.stock_playable:
                return "the stock is face down under these rules"
            cards.append(card)
        names = [card_text(card) for card in cards]
        total = sum(rank_of(card) for card in cards)
        if total != 13 and len(cards) == 1:
            return f"{names[0]} is no king, and only kings go alone"
        if total != 13:
            return f"{names[0]} and {names[1]} sum to {total}, not 13"
        covered = [
            name
            for place, name in zip(move.places, names, strict=True)
            if place < N_SLOTS and not self.is_exposed(place)
        ]
        return f"{' and '.join(covered)} covered by cards of the row below"
