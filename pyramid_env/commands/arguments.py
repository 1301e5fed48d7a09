"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import get_args

from pyramid_env.rules import PRESETS, Goal, Rules, get_rules
from pyramid_env.solver import DEFAULT_NODE_LIMIT, Objective


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add `--rules` and an argument for each field of `Rules`; `rules_of` reads them."""
    group = parser.add_argument_group("rules", "a preset, and where the game differs from it")
    group.add_argument(
        "--rules",
        choices=PRESETS,
        default="kawu",
        metavar="PRESET",
        help=f"{', '.join(PRESETS)} (default: %(default)s)",
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
    given = {
        field.name: getattr(arguments, field.name)
        for field in fields(Rules)
        if hasattr(arguments, field.name)
    }
    return replace(get_rules(arguments.rules), **given)


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


def _passes(text: str) -> int | None:
    if text.lower() == "unlimited":
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor unlimited")
    return int(text)
