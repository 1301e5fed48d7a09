"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import datetime
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

from pyramid_env.rules import PRESETS, Goal, Rules, get_rules
from pyramid_env.solver import DEFAULT_NODE_LIMIT, Objective

DEFAULT_RULES = "kawu"
_MOST_DIGITS = 9


def add_rules(parser: argparse.ArgumentParser, default: str | None = DEFAULT_RULES) -> None:
    """Add `--rules` and an argument for each field of `Rules`; `rules_of` reads them.

    Without a default, `has_rules` tells whether any was given.
    """
    group = parser.add_argument_group("rules", "a preset, and where the game differs from it")
    group.add_argument(
        "--rules",
        choices=PRESETS,
        default=default,
        metavar="PRESET",
        help=f"{', '.join(PRESETS)} (default: {default or DEFAULT_RULES})",
    )

    def add(name: str, help: str, **settings: object) -> None:
        # What is not given is left out of the namespace: None stands for unlimited passes.
        group.add_argument(name, default=argparse.SUPPRESS, help=help, **settings)  # type: ignore[arg-type]

    add("--goal", "what must be removed to win", choices=get_args(Goal))
    add("--passes", "trips through the stock, or unlimited", type=_passes, metavar="N")
    add("--draw", "cards moved by one draw", type=int, metavar="N")
    switch = argparse.BooleanOptionalAction
    add("--stock-playable", "whether the stock's top card can be played", action=switch)
    add("--covered-pairs", "whether a card may pair with one it alone covers", action=switch)
    add("--reserve", "cards dealt face up beside the pyramid", type=int, metavar="N")


def rules_of(arguments: argparse.Namespace) -> Rules:
    """The rules that were given; `ValueError` naming the field that makes no sense."""
    return replace(get_rules(arguments.rules or DEFAULT_RULES), **_changes(arguments))


def has_rules(arguments: argparse.Namespace) -> bool:
    """Whether a preset or a field of the rules was given, where `--rules` has no default."""
    return arguments.rules is not None or bool(_changes(arguments))


def add_daily(parser: argparse.ArgumentParser) -> None:
    """Add `--daily`."""
    parser.add_argument(
        "--daily",
        nargs="?",
        type=_date,
        const=datetime.date.today(),
        metavar="DATE",
        help="the deal of a day such as 2026-07-04 (default: today)",
    )


def add_objective(parser: argparse.ArgumentParser) -> None:
    """Add `--objective`."""
    parser.add_argument(
        "--objective",
        choices=get_args(Objective),
        default="win",
        help="can the goal be reached, the most pyramid cards that can go, or the fewest moves to"
        " the goal (default: %(default)s)",
    )


def add_node_limit(parser: argparse.ArgumentParser) -> None:
    """Add `--node-limit`."""
    parser.add_argument(
        "--node-limit",
        type=int,
        default=DEFAULT_NODE_LIMIT,
        metavar="N",
        help="positions that the search of a deal may meet (default: %(default)s)",
    )


def check_output(path: Path | None) -> None:
    """Complain about an `--output` before the work rather than after it."""
    if path is not None and path.is_dir():
        raise ValueError(f"--output {path} is a folder: name a file")
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"--output {path}: there is no folder {path.parent}")


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    names = [field.name for field in fields(Rules) if hasattr(arguments, field.name)]
    return {name: getattr(arguments, name) for name in names}


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-07-04") from None


def _passes(text: str) -> int | None:
    if text.lower() == "unlimited":
        return None
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor unlimited")
    return int(text)
