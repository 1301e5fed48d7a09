"""Judging a played game move by move: what could still be reached, and where it was given away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyramid_env.actions import Move
from pyramid_env.deals import Deal
from pyramid_env.engine import Position
from pyramid_env.rules import Rules
from pyramid_env.solver.line import Line
from pyramid_env.solver.solution import Undecided
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT


@dataclass(frozen=True)
class JudgedMove:
    """One move of a played game. Values are None where the solver's limit left them open."""

    move: Move

    text: str
    """The move in places and cards, such as ``B1+G7 (QS+AH)``."""

    position: Position
    """Where the game stood before it; `Game(deal, rules, position)` shows that."""

    winnable_before: bool | None
    """Whether the goal could be reached before the move."""

    winnable_after: bool | None
    """Whether it can be reached after it."""

    cards_before: int | None
    """The most pyramid cards that could be removed in all, 0 to 28, before the move."""

    cards_after: int | None
    """The same after it."""

    best_moves: tuple[Move, ...] | None
    """All legal moves that keep the win; in a lost position, that keep the most cards. The played
    one is among them when it is as good. None where one of them is open."""

    best_texts: tuple[str, ...]
    """The best moves in places and cards."""

    @property
    def loses_win(self) -> bool | None:
        """Whether this move threw the win away."""
        if self.winnable_before is False or self.winnable_after is True:
            return False
        if self.winnable_before is None or self.winnable_after is None:
            return None
        return True

    @property
    def cards_lost(self) -> int | None:
        """How many pyramid cards fewer can be removed in all than before the move."""
        if self.cards_before is None or self.cards_after is None:
            return None
        return self.cards_before - self.cards_after

    def __str__(self) -> str:
        verdict = self.verdict
        if self.best_moves and self.move not in self.best_moves:
            verdict += f"; better: {', '.join(self.best_texts)}"
        return f"{self.text:<18} {verdict}"

    @property
    def verdict(self) -> str:
        """What the move did, in words."""
        if self.loses_win:
            return f"throws the win away: {_at_most(self.cards_after)}"
        if self.cards_lost:
            return f"gives away {_count(self.cards_lost)}: {_at_most(self.cards_after)}"
        if self.winnable_after is None:
            return f"not decided whether it can be won: {_at_most(self.cards_after)}"
        return "can be won" if self.winnable_after else f"lost: {_at_most(self.cards_after)}"


@dataclass(frozen=True)
class Analysis:
    """A played game, judged move by move by someone who knows all its cards; see `analyse`."""

    rules: Rules
    deal: Deal

    moves: tuple[JudgedMove, ...]
    """All moves of the game."""

    @property
    def is_proved(self) -> bool:
        """Whether no value was left open by the solver's limit."""
        return all(
            None not in (move.winnable_before, move.winnable_after, move.cards_lost)
            and move.best_moves is not None
            for move in self.moves
        )

    @property
    def losing_move(self) -> int | None:
        """The index, from 0, of the move that threw the win away.

        None where no move did, or where a limit left open which (see `is_proved`).
        """
        return next((i for i, move in enumerate(self.moves) if move.loses_win), None)

    @property
    def cards_lost(self) -> int | None:
        """How many pyramid cards the moves gave away in all; None where that is open."""
        if not self.moves:
            return 0
        first, last = self.moves[0].cards_before, self.moves[-1].cards_after
        return None if first is None or last is None else first - last

    def __str__(self) -> str:
        width = len(str(len(self.moves)))
        lines = [f"{i:>{width}}. {move}" for i, move in enumerate(self.moves, start=1)]
        return "\n".join([*lines, self.summary])

    @property
    def summary(self) -> str:
        """The move that threw the win away, and the cards given away, in words."""
        lost = "how many is open" if self.cards_lost is None else _count(self.cards_lost)
        given_away = f"Given away in all: {lost}."
        if self.losing_move is not None:
            return f"Move {self.losing_move + 1} threw the win away. {given_away}"
        if any(move.loses_win is None for move in self.moves):
            return f"Not decided whether a move threw the win away. {given_away}"
        return f"No move threw a win away. {given_away}"


def analyse(
    rules: str | Rules,
    deal: Deal | str | int,
    moves: Iterable[Move | str | int],
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
) -> Analysis:
    """Judge a played game move by move, exactly, all its cards known.

    Takes what `Game.replay` takes; an illegal move raises `ValueError` naming the first. Every
    question to the solver has `node_limit`; values that it leaves open are None.

    >>> analysis = analyse("kawu", 20, ["G1+G7", "draw"])
    >>> print(analysis)
    1. G1+G7 (TS+3C)      throws the win away: at most 7 cards go; better: G1+G4 (TS+3S), draw
    2. draw               lost: at most 7 cards go
    Move 1 threw the win away. Given away in all: 21 cards.
    >>> analysis.losing_move, analysis.cards_lost
    (0, 21)
    """
    line = Line(rules, deal, moves, node_limit)
    wins, cards = line.wins, line.cards
    judged = []
    for i, action in enumerate(line.actions):
        position = line.positions[i]
        best = line.best_actions(position, wins[i], cards[i])
        judged.append(
            JudgedMove(
                move=line.table[action],
                text=line.text(position, action),
                position=position,
                winnable_before=wins[i],
                winnable_after=wins[i + 1],
                cards_before=cards[i],
                cards_after=cards[i + 1],
                best_moves=None if best is None else tuple(line.table[a] for a in best),
                best_texts=tuple(line.text(position, a) for a in best or ()),
            )
        )
    return Analysis(line.rules, line.deal, tuple(judged))


def first_losing_move(
    rules: str | Rules,
    deal: Deal | str | int,
    moves: Iterable[Move | str | int],
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
) -> int | None:
    """The index, from 0, of the move that threw the win away; None where no move did.

    A fraction of the work of `analyse`: as a lost game stays lost, it asks the solver about some
    six positions. Raises `Undecided` where `node_limit` leaves it open, and `ValueError` naming
    the first illegal move.

    >>> first_losing_move("kawu", 20, ["draw", "G1+G7"])
    1
    """
    wins = Line(rules, deal, moves, node_limit).wins
    if None in wins:
        raise Undecided(f"node_limit={node_limit} leaves open which move threw the win away")
    n_winnable = wins.count(True)
    return n_winnable - 1 if 0 < n_winnable < len(wins) else None


def _count(n_cards: int) -> str:
    return "1 card" if n_cards == 1 else f"{n_cards} cards"


def _at_most(cards: int | None) -> str:
    return "not decided how many cards can go" if cards is None else f"at most {_count(cards)} go"
