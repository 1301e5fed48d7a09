"""`Session`: a game in a person's hands: undo and redo, cards picked one after the other."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from pyramid_env.actions import DRAW, RECYCLE, Move
from pyramid_env.cards import KING, Card, card_face, rank_of
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS, STOCK_TOP, Place
from pyramid_env.rules import PRESETS
from pyramid_env.solver import first_losing_move, solve

_NODE_LIMIT = 2_000_000
"""Positions that one question to the solver may meet: a second or two."""


class Session:
    """A game, the moves taken back from it, and the card picked first of two.

    What a person does returns a line to tell them; what cannot be done raises `ValueError` with
    the reason and changes nothing.

    >>> session = Session(Game(7))
    >>> session.draw_or_recycle()
    'Drawn: 3♥'
    >>> session.undo(), session.redo()
    ('Taken back: draw', 'Played again: draw')
    """

    game: Game
    """Where the game stands."""

    undone: list[Move]
    """The moves taken back, the last one taken back at the end."""

    picked: Place | None
    """The first of two cards."""

    def __init__(self, game: Game, undone: Iterable[Move] = ()) -> None:
        self.game = game
        self.undone = list(undone)
        self.picked = None

    @property
    def date(self) -> datetime.date | None:
        """The day whose daily deal this is, if it is one."""
        number = self.game.deal.number
        if number is None or self.game.rules != PRESETS["kawu"]:
            return None
        try:
            return datetime.date(number // 10_000, number // 100 % 100, number % 100)
        except (ValueError, OverflowError):
            return None

    def is_available(self, place: Place) -> bool:
        """Whether a card there may be picked: by itself, or by leave of a covered pair."""
        game = self.game
        if place == STOCK_TOP and not game.rules.stock_playable:
            return False
        if place >= N_SLOTS or game.is_exposed(place):
            return game.card_at(place) is not None
        return game.rules.covered_pairs and any(place in m.places for m in game.legal_moves)

    def pick(self, place: Place) -> str:
        """Pick a card: a king goes at once, others as soon as two that match are picked.

        A picked card is put back by picking it again, and takes the place of one that it does not
        match.
        """
        card = self.game.card_at(place)
        if card is None:
            raise ValueError("There is no card.")
        if place == STOCK_TOP and not self.game.rules.stock_playable:
            raise ValueError("The stock is face down under these rules.")
        if not self.is_available(place):
            raise ValueError(f"{card_face(card)} is covered.")
        if rank_of(card) == KING:
            return self.play(Move("king", (place,)))
        first, self.picked = self.picked, place
        if first is None:
            return f"Picked {card_face(card)}: now one worth {KING - rank_of(card)}."
        if first == place:
            self.picked = None
            return f"Put {card_face(card)} back."
        low, high = sorted((first, place))
        return self._play_pair(Move("pair", (low, high)))

    def _play_pair(self, move: Move) -> str:
        names = self.words(move)
        total = sum(rank_of(card) for card in self._cards_of(move))
        if total != KING:
            return f"{names} is {total}, not {KING}."
        reason = self.game.why_illegal(move)
        return f"{names}: {reason}." if reason else self.play(move)

    def play(self, move: Move) -> str:
        """Play a move; the moves taken back before are gone."""
        words = self.words(move)
        self.game.play(move)
        self.undone.clear()
        self.picked = None
        if move == DRAW:
            drawn = self.game.waste[-self.game.rules.draw :]
            return f"Drawn: {' '.join(map(card_face, drawn))}"
        return "The waste is the stock again." if move == RECYCLE else f"Removed {words}."

    def draw_or_recycle(self) -> str:
        """Draw, or turn the waste over where the stock is empty."""
        move = DRAW if self.game.stock else RECYCLE
        reason = self.game.why_illegal(move)
        if reason:
            raise ValueError(f"{reason[0].upper()}{reason[1:]}.")
        return self.play(move)

    def undo(self) -> str:
        """Take the last move back."""
        if not self.game.history:
            raise ValueError("Nothing to take back: this is the start.")
        self.picked = None
        self.undone.append(self.game.undo())
        return f"Taken back: {self.words(self.undone[-1])}"

    def redo(self) -> str:
        """Play the move again that was taken back last."""
        if not self.undone:
            raise ValueError("No move was taken back.")
        self.picked = None
        words = self.words(self.undone[-1])
        self.game.play(self.undone.pop())
        return f"Played again: {words}"

    def go_to(self, number: int) -> str:
        """Undo or redo until `number` moves are played."""
        while len(self.game.history) > number:
            self.undo()
        while len(self.game.history) < number:
            self.redo()
        return f"After move {number}." if number else "At the start."

    def words(self, move: Move) -> str:
        """A move that may be played now, in cards."""
        return " + ".join(map(card_face, self._cards_of(move))) or str(move)

    def _cards_of(self, move: Move) -> list[Card]:
        cards = (self.game.card_at(place) for place in move.places)
        return [card for card in cards if card is not None]


def verdict(game: Game) -> str:
    """The solver's word on a game: whether it can be won, and if not, since which move.

    Raises `Undecided` where the solver gives up.
    """
    if game.is_won:
        return "Won."
    number = last_winnable(game)
    if number == len(game.history):
        return "Still winnable."
    impossible = "from the start: this deal cannot be won"
    since = impossible if number is None else f"since move {number + 1}"
    most = solve(game, "cards", node_limit=_NODE_LIMIT).upper
    return f"Lost {since}. At most {most} of {N_SLOTS} pyramid cards can go."


def last_winnable(game: Game) -> int | None:
    """How many of a game's moves can be played with the win still in reach.

    None where the deal cannot be won at all. Raises `Undecided` where the solver gives up.
    """
    lost_at = first_losing_move(game.rules, game.deal, game.history, node_limit=_NODE_LIMIT)
    if lost_at is not None:
        return lost_at
    return len(game.history) if solve(game, "win", node_limit=_NODE_LIMIT).value else None
