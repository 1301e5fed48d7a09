"""`PlayApp`: the table on the screen, and all that a person can do at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Button, Footer, Label, Static
from textual.worker import get_current_worker

from pyramid_env.actions import Move
from pyramid_env.cards import RANK_LETTERS, SUIT_LETTERS, parse_card
from pyramid_env.game import Game
from pyramid_env.play.dialogs import AfterTheEnd, Choice, EndDialog, HelpDialog, NewDealDialog
from pyramid_env.play.saves import Damaged, Saves, open_or_begin
from pyramid_env.play.session import Session, last_winnable, verdict
from pyramid_env.play.widgets import CardView, Lines, Pyramid, draw_label
from pyramid_env.pyramid import STOCK_TOP, WASTE_TOP
from pyramid_env.rules import rules_text
from pyramid_env.solver import Undecided

_SMALL, _LARGE = (6, 3, 2), (10, 5, 4)
"""Width and height of a card, and lines from row to row."""

_LARGE_FROM = (120, 36)
"""Columns and lines of a terminal with room for large cards."""

Answer = TypeVar("Answer")


class Table(Screen[None]):
    """The table: a game, shown and played."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "draw", "Draw"),
        Binding("u", "undo", "Undo"),
        Binding("y", "redo", "Redo"),
        Binding("question_mark", "hint", "Hint", key_display="?"),
        Binding("exclamation_mark", "exact_hint", "Exact", key_display="!"),
        Binding("w", "verdict", "Win?"),
        Binding("n", "new", "New"),
        Binding("f1", "help", "Help"),
        Binding("b", "back", "Back to winnable", show=False),
        Binding("home", "rewind", "To the start", show=False),
        Binding("end", "forward", "To the last move", show=False),
        Binding("escape", "put_back", "Put back", show=False),
        *(Binding(key, f"go('{key}')", show=False) for key in ("left", "right", "up", "down")),
    ]

    def __init__(self, saves: Saves, session: Session, message: str) -> None:
        super().__init__()
        self._saves, self._session, self._message = saves, session, message
        self._typed = ""
        self._hint: Move | None = None
        self._best: int | None = None

    def compose(self) -> ComposeResult:
        """The pyramid to the left, piles and words to the right, keys below."""
        yield Static(id="title")
        with Horizontal(id="table"):
            yield Pyramid()
            with Vertical(id="side"):
                with Horizontal(id="piles"):
                    for place, name in ((STOCK_TOP, "stock"), (WASTE_TOP, "waste")):
                        with Vertical():
                            yield CardView(place)
                            yield Label(id=name)
                    yield Button("Draw", id="draw")
                yield Lines()
                yield Static(id="message")
        yield Footer()

    def on_mount(self) -> None:
        """Show the game that was begun."""
        self._begin(self._session, self._message)

    def on_resize(self, event: events.Resize) -> None:
        """Take large cards where there is room."""
        wide, high = _LARGE_FROM
        is_large = event.size.width >= wide and event.size.height >= high
        self.set_class(is_large, "large")
        self.query_one(Pyramid).lay_out(*(_LARGE if is_large else _SMALL))

    def _begin(self, session: Session, message: str) -> None:
        self._session = session
        self._keep(message)

    def _do(self, deed: Callable[[], str]) -> None:
        """Do something with the game, show it and save it; the end of a game opens a window."""
        n_moves = len(self._session.game.history)
        try:
            message = deed()
        except ValueError as error:
            message = str(error)
        self._keep(message)
        game = self._session.game
        if game.is_over and len(game.history) > n_moves:
            self.app.push_screen(EndDialog(game), self._after_the_end)

    def _keep(self, message: str) -> None:
        """Save the game and show it with a message."""
        session = self._session
        self._typed, self._hint = "", None
        try:
            self._saves.save(session)
            if session.date is not None:
                self._saves.record(session.date, session.game.score)
                self._best = self._saves.best(session.date)
        except (Damaged, OSError) as error:
            message = f"{message}\nNot saved: {error}"
        self._show(message)

    def _show(self, message: str) -> None:
        session = self._session
        places = self._hint.places if self._hint else ()
        for view in self.query(CardView):
            view.show(session, view.place in places)
        button = self.query_one("#draw", Button)
        button.label = draw_label(session)
        self.query_one("#stock", Label).update(f"stock {len(session.game.stock)}")
        self.query_one("#waste", Label).update(f"waste {len(session.game.waste)}")
        self.query_one(Lines).show(session, self._best)
        self.query_one("#title", Static).update(Text(_title(session)))
        self.query_one("#message", Static).update(Text(message))

    # What a person does

    @on(CardView.Picked)
    def _pick(self, event: CardView.Picked) -> None:
        game = self._session.game
        if event.place == STOCK_TOP and (not game.stock or not game.rules.stock_playable):
            self.action_draw()
        else:
            self._do(lambda: self._session.pick(event.place))

    def on_key(self, event: events.Key) -> None:
        """Read typed cards, a rank and a suit."""
        key = (event.character or "").upper()
        typed = self._typed + key
        if len(key) != 1:
            return
        if not self._typed and key in f"{RANK_LETTERS}1":
            self._typed = key
            self._show(f"{key}_")
        elif typed == "10":
            self._typed = "T"
            self._show("10_")
        elif self._typed and self._typed in RANK_LETTERS and key in SUIT_LETTERS:
            self._do(lambda: self._session.pick(self._session.game.place_of(parse_card(typed))))
        elif self._typed:
            self._typed = ""
            self._show(f"{typed} is no card: type a rank and a suit, such as qs.")

    @on(Button.Pressed, "#draw")
    def action_draw(self) -> None:
        """Draw or recycle."""
        self._do(self._session.draw_or_recycle)

    def action_undo(self) -> None:
        """Take the last move back."""
        self._do(self._session.undo)

    def action_redo(self) -> None:
        """Play the move taken back last."""
        self._do(self._session.redo)

    def action_rewind(self) -> None:
        """Undo everything."""
        self._do(lambda: self._session.go_to(0))

    def action_forward(self) -> None:
        """Redo everything."""
        n_moves = len(self._session.game.history) + len(self._session.undone)
        self._do(lambda: self._session.go_to(n_moves))

    def action_put_back(self) -> None:
        """Forget what was picked or typed."""
        self._session.picked = None
        self._typed = ""
        self._show("")

    def action_go(self, direction: str) -> None:
        """Move the focus to the next available card in a direction."""
        views = [view for view in self.query(CardView) if view.can_focus]
        here = self.focused
        if isinstance(here, CardView) and here.can_focus:
            view = _nearest(here, views, direction)
        else:
            view = next(iter(views), None)
        if view is not None:
            view.focus()

    def action_hint(self) -> None:
        """Show the greedy player's move."""
        game = self._session.game
        self._show_hint("Hint", None if game.is_over else game.hint())

    def _show_hint(self, name: str, move: Move | None) -> None:
        self._hint = move
        self._show("The game is over." if move is None else f"{name}: {self._session.words(move)}")

    def action_new(self) -> None:
        """Choose a new deal and rules."""
        self.app.push_screen(NewDealDialog(self._session.game.rules), self._deal)

    def _deal(self, choice: Choice | None) -> None:
        if choice is not None:
            self._begin(*open_or_begin(self._saves, *choice))

    def action_help(self) -> None:
        """Show rules and keys."""
        self.app.push_screen(HelpDialog())

    def _after_the_end(self, choice: AfterTheEnd | None) -> None:
        if choice == "undo":
            self.action_undo()
        elif choice == "back":
            self.action_back()
        elif choice == "new":
            self.action_new()

    # What the solver says: in a thread, since it may take seconds

    def action_exact_hint(self) -> None:
        """Show a move that keeps the most within reach."""
        self._ask(
            lambda game: game.hint(exact=True), lambda move: self._show_hint("Exact hint", move)
        )

    def action_verdict(self) -> None:
        """Say whether the game can still be won."""
        self._ask(verdict, self._show)

    def action_back(self) -> None:
        """Undo until the game can be won."""
        self._ask(last_winnable, self._go_back)

    def _go_back(self, number: int | None) -> None:
        if number is None:
            self._show("This deal cannot be won from the start.")
        else:
            self._do(lambda: f"{self._session.go_to(number)} From here it can be won.")

    def _ask(self, question: Callable[[Game], Answer], show: Callable[[Answer], None]) -> None:
        self._show("Asking the solver ...")
        self._find_out(self._session.game.copy(), question, show)

    @work(thread=True, exclusive=True)
    def _find_out(
        self, game: Game, question: Callable[[Game], Answer], show: Callable[[Answer], None]
    ) -> None:
        try:
            tell = partial(show, question(game))
        except Undecided:
            tell = partial(self._show, "Too hard to decide: the solver gave up.")
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._tell, game, tell)

    def _tell(self, game: Game, tell: Callable[[], None]) -> None:
        """Tell what was asked about a game, unless another one is on the table by now."""
        now = self._session.game
        if (now.deal, now.rules, now.history) == (game.deal, game.rules, game.history):
            tell()


class PlayApp(App[None]):
    """The game at a terminal; begins with a session and a message about it."""

    CSS_PATH = "play.tcss"
    TITLE = "Pyramid Solitaire"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", "Quit", priority=True)]

    def __init__(self, saves: Saves, session: Session, message: str = "") -> None:
        super().__init__()
        self._table = Table(saves, session, message)

    def get_default_screen(self) -> Screen[None]:
        """The table."""
        return self._table


def _nearest(here: CardView, views: Iterable[CardView], direction: str) -> CardView | None:
    """The card next to one in a direction; those straight ahead come before those aside."""
    to_x, to_y = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}[direction]
    found: list[tuple[float, CardView]] = []
    for view in views:
        x, y = (
            view.region.center[0] - here.region.center[0],
            view.region.center[1] - here.region.center[1],
        )
        y *= 2  # a line is as high as two columns are wide
        ahead, aside = x * to_x + y * to_y, abs(x * to_y) + abs(y * to_x)
        if ahead > 0:
            found.append((ahead + 2 * aside, view))
    return min(found, key=itemgetter(0))[1] if found else None


def _title(session: Session) -> str:
    deal, day = session.game.deal, session.date
    name = "your cards" if deal.number is None else f"deal {deal.number}"
    name = name if day is None else f"daily deal of {day}"
    return f"Pyramid Solitaire: {name}, {rules_text(session.game.rules)}"
