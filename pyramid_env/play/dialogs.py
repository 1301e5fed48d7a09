"""The windows over the table: a new deal, the end of a game, the keys."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Button, Input, Label, Select, Static

from pyramid_env.deals import Deal, random_deal
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import PRESETS, UNLIMITED, Rules, rules_words

Choice = tuple[Deal, Rules]
AfterTheEnd = Literal["undo", "back", "new"]

_AS_PRESET = "as the preset"
_MOST_PASSES_OFFERED = 9

HELP = """\
Remove two cards that sum to 13: ace 1, jack 11, queen 12. A king
goes alone. Cards with a bright border can be played.

[b]Mouse[/b]      click a card, then its partner; click the keys below
[b]Type[/b]       rank and suit: [b]qs ah[/b] for the queen of spades and the
           ace of hearts
[b]Arrows[/b]     from card to card; [b]enter[/b] picks, [b]escape[/b] puts back
[b]space[/b]      draw, or turn the waste over when the stock is empty
[b]u y[/b]        undo, redo; [b]home end[/b] all the way
[b]?[/b]          hint of the greedy player
[b]![/b]          hint of the solver, which sees the hidden cards
[b]w[/b]          the solver's word: can it still be won?
[b]b[/b]          back to where it could be won
[b]n[/b]          new deal, rules, passes

Every move is saved: the next start carries on here."""


class Dialog(ModalScreen[ScreenResultType]):
    """A window that escape closes without a choice."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close")]

    def action_leave(self) -> None:
        """Close it."""
        self.dismiss(None)


class HelpDialog(Dialog[None]):
    """The rules and the keys."""

    def compose(self) -> ComposeResult:
        """The text and a button."""
        with Vertical():
            yield Static(HELP)
            yield Button("Close", id="close")

    on_button_pressed = Dialog.action_leave


class EndDialog(Dialog[AfterTheEnd]):
    """Won or lost, and what now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "choose('undo')", "Undo"),
        Binding("b", "choose('back')", "Back"),
        Binding("n", "choose('new')", "New deal"),
    ]

    def __init__(self, game: Game) -> None:
        super().__init__()
        self._text = f"{game.score} of {N_SLOTS} pyramid cards removed, {len(game.history)} moves."
        self._is_won = game.is_won

    def compose(self) -> ComposeResult:
        """The result and the choices."""
        with Vertical():
            yield Label("[b]You won![/b]" if self._is_won else "[b]Lost: no move is left.[/b]")
            yield Label(self._text)
            with Horizontal():
                if not self._is_won:
                    yield Button("Undo (u)", id="undo", variant="primary")
                    yield Button("Back to where it was winnable (b)", id="back")
                yield Button("New deal (n)", id="new")
            yield Label("Escape: look at the table.")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.action_choose(event.button.id)  # type: ignore[arg-type]

    def action_choose(self, choice: AfterTheEnd) -> None:
        """Close with a choice."""
        self.dismiss(choice)


class NewDealDialog(Dialog[Choice]):
    """Which deal next, and by which rules."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._rules = rules

    def compose(self) -> ComposeResult:
        """The number, the preset, the passes, and what can be done with them."""
        preset, passes = rules_words(self._rules)
        passes = passes or _AS_PRESET
        presets = [*PRESETS, *([] if preset in PRESETS else [preset])]
        offered = [_AS_PRESET, *map(str, range(1, _MOST_PASSES_OFFERED + 1)), UNLIMITED]
        offered += [] if passes in offered else [passes]
        with Vertical():
            yield Label("[b]New deal[/b]")
            yield Input(placeholder="number of the deal; empty: any", id="number")
            yield Label("Rules")
            yield Select(_options(presets), value=preset, allow_blank=False, id="preset")
            yield Label("Passes through the stock")
            yield Select(_options(offered), value=passes, allow_blank=False, id="passes")
            yield Label("", id="trouble")
            with Horizontal():
                yield Button("Deal", id="deal", variant="primary")
                yield Button("Today's deal (kawu)", id="daily")
                yield Button("Cancel", id="cancel")

    @on(Button.Pressed, "#deal")
    @on(Input.Submitted)
    def _deal(self) -> None:
        text = self.query_one(Input).value.strip()
        try:
            deal = Deal.from_number(int(text)) if text else random_deal()
        except ValueError:
            trouble = f"No deal has number {text!r}: a whole number from 0 to 2^64 - 1"
            self.query_one("#trouble", Label).update(Text(trouble))
            self.query_one(Input).focus()
        else:
            self.dismiss((deal, self._chosen_rules()))

    @on(Button.Pressed, "#daily")
    def _daily(self) -> None:
        self.dismiss((Deal.daily(), PRESETS["kawu"]))

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    def _chosen_rules(self) -> Rules:
        preset = str(self.query_one("#preset", Select).value)
        rules = PRESETS.get(preset, self._rules)
        passes = str(self.query_one("#passes", Select).value)
        if passes == _AS_PRESET:
            return rules
        return replace(rules, passes=None if passes == UNLIMITED else int(passes))


def _options(texts: list[str]) -> list[tuple[str, str]]:
    return [(text, text) for text in texts]
