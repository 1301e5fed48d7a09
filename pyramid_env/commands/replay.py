"""`python -m pyramid_env replay`: a game of an agent as an HTML page to look at."""

from __future__ import annotations

import argparse
from pathlib import Path

from pyramid_env.commands.arguments import add_node_limit, check_output
from pyramid_env.replay import write_replay
from pyramid_env.replay.results import find_game


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `replay`."""
    parser = subparsers.add_parser(
        "replay",
        help="show a game of an agent in one HTML page, judged by the solver",
        description="Write one HTML page that plays a game from the results of evaluate.py move by"
        " move, with what the solver says about each.",
    )
    add = parser.add_argument
    add("results", type=Path, help="the folder that evaluate.py wrote (its --out)")
    add("--deal", type=int, required=True, metavar="NUMBER", help="number of the deal")
    add("--agent", metavar="NAME", help="whose game, where several agents played the deal")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("game.html"),
        metavar="PATH",
        help="the page to write (default: %(default)s)",
    )
    add_node_limit(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page; the exit code."""
    check_output(arguments.output)
    game = find_game(arguments.results, arguments.deal, arguments.agent)
    write_replay(
        arguments.output,
        game.rules,
        game.deal,
        game.moves,
        agent=game.agent,
        node_limit=arguments.node_limit,
    )
    print(f"written: {arguments.output}")
    return 0
