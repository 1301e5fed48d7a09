"""`python -m pyramid_env play`: the game for a person at a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pyramid_env.commands.arguments import add_daily, add_rules, has_rules, rules_of
from pyramid_env.commands.deal_lists import deals_of_words
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.pyramid import WASTE_TOP
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.workers import extra


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `play`."""
    parser = subparsers.add_parser(
        "play",
        help="play in the terminal, with mouse and keyboard",
        description="Play in the terminal. Games are saved after every move; without a deal and"
        " rules the game played last goes on.",
    )
    add = parser.add_argument
    add("deal", nargs="*", help="number of a deal, or its 52 cards (default: any)")
    add_daily(parser)
    add("--new", action="store_true", help="start afresh even where the game was saved")
    add("--folder", type=Path, help="where games are saved (default: your data folder)")
    add_rules(parser, default=None)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play until the person leaves; the exit code."""
    deal, rules = _wanted(arguments)
    with extra("play"):
        from platformdirs import user_data_path

        from pyramid_env.play.app import PlayApp
        from pyramid_env.play.saves import Saves, open_or_begin
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise ValueError("this is no terminal: play needs one")
    saves = Saves(arguments.folder or user_data_path("pyramid-env", appauthor=False))
    session, message = open_or_begin(saves, deal, rules, afresh=arguments.new)
    _compile(session.game)
    PlayApp(saves, session, message).run()
    return 0


def _compile(game: Game) -> None:
    """Have the game's kernels compiled while a notice about that can be seen."""
    trial = game.copy()
    if not trial.is_over:
        trial.play(trial.hint())
    str(trial)
    trial.card_at(WASTE_TOP)


def _wanted(arguments: argparse.Namespace) -> tuple[Deal | None, Rules | None]:
    """The deal and the rules that were asked for."""
    rules = rules_of(arguments) if has_rules(arguments) else None
    if arguments.daily is not None:
        if arguments.deal or rules not in (None, PRESETS["kawu"]):
            raise ValueError("--daily is one deal by the kawu rules: give no deal and no rules")
        return Deal.daily(arguments.daily), PRESETS["kawu"]
    deals = deals_of_words(arguments.deal) if arguments.deal else []
    if len(deals) > 1:
        raise ValueError(f"one deal at a time, not {len(deals)}")
    return (deals[0].deal if deals else None), rules
