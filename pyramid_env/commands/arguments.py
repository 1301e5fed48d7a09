"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import dataclasses
from typing import get_args

from pyramid_env.rules import PRESETS, Goal, Rules, get_rules
from pyramid_env.solver import Objective


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add `--rules` and one argument a field of `Rules`."""
    group = parser.add_argument_group("rules", "a preset, and fields that differ from it")
    group.add_argument("--rules", default="kawu", metavar="PRESET", help=", ".join(PRESETS))
    group.add_argument("--goal", help=" or ".join(get_args(Goal)))
    group.add_argument("--passes", type=_passes, metavar="N", help="a number, or unlimited")
    group.add_argument("--draw", type=int, metavar="N", help="cards that one draw moves")
    for field in ("stock-playable", "covered-pairs"):
        group.add_argument(f"--{field}", action=argparse.BooleanOptionalAction)
    group.add_argument("--reserve", type=int, metavar="N", help="cards beside the pyramid")


def rules_of(arguments: argparse.Namespace) -> Rules:
    """The rules that the arguments name; `ValueError` where they make no sense."""
    given = {field.name: getattr(arguments, field.name) for field in dataclasses.fields(Rules)}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes.get("passes") == "unlimited":
        changes["passes"] = None
    return dataclasses.replace(get_rules(arguments.rules), **changes)


def add_objective(parser: argparse.ArgumentParser) -> None:
    """Add `--objective`."""
    parser.add_argument("--objective", default="win", choices=get_args(Objective))


def _passes(text: str) -> int | str:
    return text if text == "unlimited" else int(text)
