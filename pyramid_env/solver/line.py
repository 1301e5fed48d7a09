"""`Line`: the positions of a played game, and what the solver says about them.

It cannot use `Game`, which is above the solver and asks it for exact hints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pyramid_env import engine
from pyramid_env.actions import Action, Move, action_table
from pyramid_env.cards import Card, card_text, parse_card
from pyramid_env.deals import Deal, get_deal
from pyramid_env.engine import Position
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver.solution import Objective, Solution
from pyramid_env.solver.solving import solve_position

Value = TypeVar("Value", bool, int)


class Line:
    """The positions of a played game from its start, and what the solver has said about them.

    Raises `ValueError` naming the first illegal move.
    """

    positions: list[Position]
    """Where the game stood before each move, and after the last."""

    actions: list[Action]
    """The moves played."""

    def __init__(
        self,
        rules: str | Rules,
        deal: Deal | str | int,
        moves: Iterable[Move | str | int],
        node_limit: int,
    ) -> None:
        self.rules = get_rules(rules)
        self.deal = get_deal(deal)
        self.table = action_table(self.rules)
        self.actions = []
        self.positions = [Position(int(engine.start_position()))]
        self._compiled: Any = engine.compile_rules(self.rules)[0]
        self._rank_bits = np.empty(14, dtype=np.uint64)
        self._cards_array = self.deal.array
        engine.find_rank_bits(self._cards_array, self._rank_bits)
        self._node_limit = node_limit
        self._wins: dict[Position, bool | None] = {}
        self._cards: dict[Position, int | None] = {}
        for number, move in enumerate(moves, start=1):
            try:
                self._play(move)
            except ValueError as error:
                raise ValueError(f"move {number}: {error}") from None

    @cached_property
    def wins(self) -> list[bool | None]:
        """For each position whether the goal can be reached from it."""
        is_won = bool(engine.is_won(np.uint64(self.positions[-1]), self._compiled))
        wins = along(self.positions, True, is_won, self.winnable)
        self._wins.update(zip(self.positions, wins, strict=True))
        return wins

    @cached_property
    def cards(self) -> list[int | None]:
        """For each position the most pyramid cards that can be removed in all."""
        if self.wins[-1]:
            return [N_SLOTS] * len(self.positions)
        score = int(engine.pyramid_cards_removed(np.uint64(self.positions[-1])))
        cards = along(self.positions, N_SLOTS, score, self.most_cards)
        self._cards.update(zip(self.positions, cards, strict=True))
        return cards

    def winnable(self, position: Position) -> bool | None:
        """Whether the goal can be reached."""
        if position not in self._wins:
            solution = self._solve(position, "win")
            self._wins[position] = None if solution.value is None else bool(solution.value)
            self._wins.update(dict.fromkeys(self._positions_of(position, solution), True))
        return self._wins[position]

    def most_cards(self, position: Position) -> int | None:
        """The most pyramid cards that can be removed in all."""
        if self._wins.get(position):
            return N_SLOTS
        if position not in self._cards:
            solution = self._solve(position, "cards")
            self._cards[position] = solution.value
            if solution.is_proved:
                line = self._positions_of(position, solution)
                self._cards.update(dict.fromkeys(line, solution.value))
        return self._cards[position]

    def best_actions(
        self, position: Position, winnable: bool | None, cards: int | None
    ) -> list[Action] | None:
        """The legal actions that keep the win, or else the most cards; None where that is open."""
        if winnable is None or cards is None:
            return None
        actions = sorted(self._legal_actions(position))
        if not winnable and cards == engine.pyramid_cards_removed(np.uint64(position)):
            return actions
        children = [self._after(position, action) for action in actions]
        values = [self.winnable(p) if winnable else self.most_cards(p) for p in children]
        if None in values:
            return None
        wanted = True if winnable else cards
        return [action for action, value in zip(actions, values, strict=True) if value == wanted]

    def text(self, position: Position, action: Action) -> str:
        """The action in places and cards."""
        names = "+".join(card_text(card) for card in self._cards_of(position, action))
        return f"{self.table[action]} ({names})" if names else str(self.table[action])

    def _play(self, move: Move | str | int) -> None:
        position = self.positions[-1]
        legal = self._legal_actions(position)
        action = self._find(move, legal)
        if action not in legal:
            texts = ", ".join(self.text(position, action) for action in sorted(legal))
            allowed = f"legal is {texts}" if texts else "the game is over"
            raise ValueError(f"{move} is illegal: {allowed}")
        self.actions.append(action)
        self.positions.append(self._after(position, action))

    def _find(self, move: Move | str | int, legal: list[Action]) -> Action | None:
        """The action of a move, a text or an id, legal or not; None where the table has none."""
        if isinstance(move, bool) or not isinstance(move, (Move, str, int, np.integer)):
            raise ValueError(f"cannot play {move!r}: give a Move, its text or an action id")
        if isinstance(move, str):
            return self._parse(move, legal)
        if isinstance(move, Move):
            return self.table.action(move) if move in self.table else None
        return Action(int(move))

    def _parse(self, text: str, legal: list[Action]) -> Action | None:
        """The action of a text in places, or the legal one of a text in cards."""
        try:
            return self._find(Move.parse(text), legal)
        except ValueError as place_error:
            words = text.replace("+", " ").split()
            try:
                cards = sorted(map(parse_card, words))
            except ValueError:
                raise place_error from None
            if not words:
                raise
        at = self.positions[-1]
        return next((a for a in legal if sorted(self._cards_of(at, a)) == cards), None)

    def _cards_of(self, position: Position, action: Action) -> list[Card]:
        bits = (
            int(engine.card_at(np.int64(place), np.uint64(position), self._compiled))
            for place in self.table[action].places
        )
        return [self.deal.cards[bit] for bit in bits]

    def _legal_actions(self, position: Position) -> list[Action]:
        actions = np.empty(engine.MAX_LEGAL, dtype=np.int16)
        at = np.uint64(position)
        count = engine.legal_actions(at, self._rank_bits, self._compiled, actions)
        return actions[:count].tolist()  # type: ignore[no-any-return]

    def _after(self, position: Position, action: Action) -> Position:
        return Position(int(engine.apply(np.uint64(position), np.int64(action), self._compiled)))

    def _solve(self, position: Position, objective: Objective) -> Solution:
        return solve_position(
            position, self._cards_array, self.rules, objective, node_limit=self._node_limit
        )

    def _positions_of(self, position: Position, solution: Solution) -> list[Position]:
        """The positions that a solution's line leads to."""
        positions = [position]
        for move in solution.moves:
            positions.append(self._after(positions[-1], self.table.action(move)))
        return positions[1:]


def along(
    positions: list[Position], top: Value, floor: Value, ask: Callable[[Position], Value | None]
) -> list[Value | None]:
    """Values of the positions of a line: at most `top`, at least `floor`, None where left open.

    A value never rises along a line, as whatever can be reached after a move can be reached before
    it. So where it is the same at two positions it is the same in between, and halving what is open
    asks about few of them.
    """
    values: list[Value | None] = [top, *[None] * len(positions), floor]

    def settle(first: int, last: int) -> None:
        if values[first] is not None and values[first] == values[last]:
            values[first:last] = [values[first]] * (last - first)
        elif last - first > 1:
            middle = (first + last) // 2
            values[middle] = ask(positions[middle - 1])
            settle(first, middle)
            settle(middle, last)

    settle(0, len(values) - 1)
    for i in range(1, len(values) - 1):
        if values[i] is None:
            below = next(value for value in values[i:] if value is not None)
            values[i] = below if values[i - 1] == below else None
    return values[1:-1]
