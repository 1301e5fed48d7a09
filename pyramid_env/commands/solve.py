"""`python -m pyramid_env solve`: what can be reached in given deals, and how."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyramid_env.cards import card_text
from pyramid_env.commands.arguments import (
    add_daily,
    add_node_limit,
    add_objective,
    add_rules,
    check_output,
    rules_of,
)
from pyramid_env.commands.deal_lists import STDIN, ListedDeal, deals_of_words, read_deals
from pyramid_env.deals import Deal
from pyramid_env.files import write_text
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Solution, solve_batch

_COLUMNS = ("deal", "status", "value", "lower", "upper", "moves", "nodes")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `solve`."""
    parser = subparsers.add_parser(
        "solve",
        help="solve deals exactly, and show how",
        description="Solve deals exactly, all cards known. One deal is shown with its line of"
        " moves, several as a table.",
    )
    add = parser.add_argument
    add("deal", nargs="*", help="numbers of deals, or the 52 cards of one (pyramid first)")
    add_daily(parser)
    add(
        "--file",
        metavar="PATH",
        help=f"deals from a file, {STDIN} for standard input: numbers or 52 cards a line, or"
        " pyramids with the rest below, blank lines between",
    )
    add_objective(parser)
    add("--format", choices=("text", "csv", "json"), default="text")
    add("--output", type=Path, metavar="PATH", help="write to a file instead of standard output")
    add("--jobs", type=int, metavar="N", help="deals solved at once (default: one a core)")
    add_node_limit(parser)
    add("--time-limit", type=float, metavar="SECONDS", help="for a deal (default: none)")
    add_rules(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Solve, then print or write; the exit code."""
    rules = rules_of(arguments)
    deals = _deals_of(arguments)
    check_output(arguments.output)
    solutions = solve_batch(
        [listed.deal for listed in deals],
        rules,
        arguments.objective,
        jobs=arguments.jobs,
        node_limit=arguments.node_limit,
        time_limit=arguments.time_limit,
        progress=len(deals) > 1 and sys.stderr.isatty(),
    )
    if arguments.format == "csv":
        text = _csv(deals, solutions)
    elif arguments.format == "json":
        text = _json(deals, solutions)
    elif len(deals) == 1:
        text = _story(deals[0], rules, solutions[0])
    else:
        text = _table(deals, solutions)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.output, text)
    return 0


def _deals_of(arguments: argparse.Namespace) -> list[ListedDeal]:
    given = [bool(arguments.deal), arguments.daily is not None, arguments.file is not None]
    if sum(given) != 1:
        raise ValueError("give either deals (numbers, or 52 cards), or --daily, or --file")
    if arguments.file is not None:
        return read_deals(arguments.file)
    if arguments.daily is not None:
        return [ListedDeal(f"of {arguments.daily}", Deal.daily(arguments.daily))]
    return deals_of_words(arguments.deal)


def _records(deals: Sequence[ListedDeal], solutions: Sequence[Solution]) -> list[dict[str, Any]]:
    """A row a deal, with `_COLUMNS`."""
    return [
        {
            "deal": str(listed.deal) if listed.deal.number is None else listed.deal.number,
            "status": solution.status.name,
            "value": solution.value,
            "lower": solution.lower,
            "upper": solution.upper,
            "moves": [str(move) for move in solution.moves],
            "nodes": solution.nodes,
        }
        for listed, solution in zip(deals, solutions, strict=True)
    ]


def _json(deals: Sequence[ListedDeal], solutions: Sequence[Solution]) -> str:
    lines = ",\n".join(json.dumps(record) for record in _records(deals, solutions))
    return f"[\n{lines}\n]\n"


def _csv(deals: Sequence[ListedDeal], solutions: Sequence[Solution]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in _records(deals, solutions):
        value = int(record["value"]) if record["value"] is not None else None
        writer.writerow(record | {"value": value, "moves": " ".join(record["moves"])})
    return text.getvalue()


def _table(deals: Sequence[ListedDeal], solutions: Sequence[Solution]) -> str:
    """A line a deal, and one that sums up."""
    width = max(len("deal"), *(len(listed.name) for listed in deals))
    lines = [f"{'deal':>{width}}  {'answer':>10}  status  {'moves':>5}  {'nodes':>10}"]
    for listed, solution in zip(deals, solutions, strict=True):
        line = len(solution.moves) if solution.moves else "-"
        lines.append(
            f"{listed.name:>{width}}  {_short_answer(solution):>10}  {solution.status.name:<6}"
            f"  {line:>5}  {solution.nodes:>10,}"
        )
    return "\n".join([*lines, _summary(solutions)]) + "\n"


def _summary(solutions: Sequence[Solution]) -> str:
    proved = [solution for solution in solutions if solution.is_proved]
    n_open = len(solutions) - len(proved)
    if solutions[0].objective == "cards":
        mean = sum(int(solution.value or 0) for solution in proved) / max(len(proved), 1)
        text = f"{len(solutions)} deals: {mean:.2f} cards can be removed on average"
    else:
        n_won = sum(1 for solution in solutions if solution.lower and solution.moves)
        text = f"{len(solutions)} deals: {n_won} can be won"
    return text + (f", {n_open} not decided: a limit came first" if n_open else "")


def _short_answer(solution: Solution) -> str:
    if not solution.is_proved and solution.objective == "win":
        return "?"
    if not solution.is_proved:
        return f"{solution.lower} to {'?' if solution.upper is None else solution.upper}"
    if solution.objective == "win" or solution.value is None:
        return "won" if solution.value else "lost"
    return str(solution.value)


def _story(listed: ListedDeal, rules: Rules, solution: Solution) -> str:
    """One deal: its picture, the answer, and the line in words."""
    names = [name for name, preset in PRESETS.items() if preset == rules]
    game = Game(listed.deal, rules)
    stock = " ".join(map(card_text, game.stock))
    lines = [f"Deal {listed.name}, rules {names[0] if names else rules}", "", str(game), ""]
    lines += [f"Stock, next card first: {stock}", "", f"{_answer(solution)} {_status(solution)}"]
    width = len(str(len(solution.moves)))
    for number, move in enumerate(solution.moves, start=1):
        lines.append(f"{number:>{width}}. {game.describe(move)}")
        game.play(move)
    return "\n".join(lines) + "\n"


def _answer(solution: Solution) -> str:
    value, lower, upper, n_moves = (
        solution.value,
        solution.lower,
        solution.upper,
        len(solution.moves),
    )
    if solution.objective == "cards":
        if value is not None:
            return f"At most {value} of the {N_SLOTS} pyramid cards can be removed."
        return f"At least {lower} and at most {upper} pyramid cards can be removed."
    if not solution.is_proved and not solution.moves:
        return "Not decided whether it can be won."
    if not solution.moves:
        return "It cannot be won."
    if solution.objective == "win":
        return f"It can be won, for example in {n_moves} moves."
    if value is not None:
        return f"It can be won in {value} moves, and not in fewer."
    return f"It can be won in {upper} moves, and not in fewer than {lower}."


def _status(solution: Solution) -> str:
    work = f"{solution.nodes:,} positions, {solution.seconds:.3g} s"
    if solution.is_proved:
        return f"PROVED ({work})."
    return (
        f"LIMIT ({work}): the search was stopped by --node-limit or --time-limit, so only these"
        " bounds are known."
    )
