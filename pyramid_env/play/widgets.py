"""What lies on the table: the cards one by one, the pyramid, and the lines beside it."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Static

from pyramid_env.actions import RECYCLE
from pyramid_env.cards import N_CARDS, Card, card_face, is_red
from pyramid_env.play.session import Session
from pyramid_env.pyramid import (
    FIRST_RESERVE,
    MAX_RESERVE,
    N_ROWS,
    N_SLOTS,
    ROW_OF,
    ROW_START,
    STOCK_TOP,
    Place,
    place_name,
)

PICKED, HINTED = "▸", "*"
"""Marks on cards, so that nothing is told by colour alone."""

_BACK = "\n".join(["░" * 8] * 3)


class CardView(Static, can_focus=True):
    """One place that a card can be played from; id and order are those of the places."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "pick", "Pick", show=False)]

    class Picked(Message):
        """The person has clicked a place, or pressed enter on it."""

        def __init__(self, place: Place) -> None:
            super().__init__()
            self.place = place

    def __init__(self, place: Place) -> None:
        super().__init__(id=place_name(place), classes="card")
        self.place = place

    def show(self, session: Session, hinted: bool) -> None:
        """Show the place as the game stands."""
        card, is_available = session.game.card_at(self.place), session.is_available(self.place)
        is_picked = session.picked == self.place
        in_pyramid = self.place < N_SLOTS or self.place >= FIRST_RESERVE
        is_back = self.place == STOCK_TOP and not session.game.rules.stock_playable
        self.visible = card is not None or not in_pyramid
        self.can_focus = is_available
        self.set_class(is_available, "available")
        self.set_class(is_picked, "picked")
        self.set_class(hinted, "hinted")
        self.set_class(card is not None and is_red(card) and not is_back, "red")
        self.set_class(card is None, "empty")
        if card is None:
            self.update("")
        elif is_back:
            self.update(_BACK)
        else:
            self.update(_card_text(card, PICKED if is_picked else HINTED if hinted else " "))

    def action_pick(self) -> None:
        """Pick the card."""
        self.post_message(self.Picked(self.place))

    on_click = action_pick


def _card_text(card: Card, mark: str) -> Text:
    return Text(f"{mark}{card_face(card):<3}")


class Pyramid(Container):
    """The pyramid and the reserve below it, each card at its own spot."""

    def compose(self) -> ComposeResult:
        """All slots from the apex down, so that each row lies over the one above, and reserve."""
        yield from (CardView(Place(slot)) for slot in range(N_SLOTS))
        yield from (CardView(Place(FIRST_RESERVE + i)) for i in range(MAX_RESERVE))

    def lay_out(self, width: int, height: int, row_step: int) -> None:
        """Give each card its spot, for cards of a size in columns and lines."""
        for view in self.query(CardView):
            if view.place < N_SLOTS:
                row = ROW_OF[view.place]
                column = view.place - ROW_START[row]
                view.styles.offset = (
                    column * width + (N_ROWS - 1 - row) * width // 2,
                    row * row_step,
                )
            else:
                view.styles.offset = (
                    (view.place - FIRST_RESERVE) * width,
                    (N_ROWS - 1) * row_step + height,
                )


class Lines(Static):
    """How the game stands in words, and the seen cards of stock and waste below their tops."""

    def show(self, session: Session, best: int | None) -> None:
        """Show how the game stands."""
        game = session.game
        seen = [card for card in game.stock if card not in game.unseen]
        coming = seen[1:] if game.rules.stock_playable else seen
        lines = [_passes(session), f"Pyramid cards removed: {game.score} of {N_SLOTS}"]
        if game.rules.goal_size != N_SLOTS:
            there = [*game.pyramid, *game.reserve, *game.stock, *game.waste]
            gone = N_CARDS - sum(card is not None for card in there)
            lines.append(f"Cards removed: {gone} of {game.rules.goal_size}")
        lines.append(f"Moves: {len(game.history)}" + _redoable(session))
        if session.date is not None:
            lines.append(f"Best score of this day: {'none yet' if best is None else best}")
        if coming:
            lines.append(f"Next: {' '.join(map(card_face, coming))}")
        if game.waste[:-1]:
            lines.append(f"Under the waste's top: {' '.join(map(card_face, game.waste[-2::-1]))}")
        if game.is_over:
            lines.append("Won." if game.is_won else "Lost: no move is left.")
        self.update("\n".join(lines))


def _redoable(session: Session) -> str:
    return f" ({len(session.undone)} taken back)" if session.undone else ""


def _passes(session: Session) -> str:
    passes, left = session.game.rules.passes, session.game.passes_left
    if passes is None or left is None:
        return "Passes without limit"
    return f"Pass {passes - left} of {passes}"


def draw_label(session: Session) -> str:
    """What the draw button does now."""
    return "Recycle" if not session.game.stock and RECYCLE in session.game.legal_moves else "Draw"
