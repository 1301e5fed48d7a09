"""`python -m pyramid_env solve`: what it prints and writes, and what it says to wrong arguments."""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pyramid_env.__main__ import main
from pyramid_env.commands import solve as solve_command
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Objective, Solution, Status, solve, solve_batch

ROOT = Path(__file__).parents[1]
LOST = "8"
"""A deal that cannot be won."""


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["solve", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def records(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return json.loads(output(capsys, *arguments, "--format", "json"))  # type: ignore[no-any-return]


# One deal


def test_one_deal_is_shown_with_its_answer_and_a_line_that_replays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = output(capsys, "7")
    assert text.startswith("Deal 7, rules kawu\n")
    assert str(Game(7)) in text
    assert "Stock, next card first: 3H " in text
    assert "It can be won, for example in " in text
    assert "PROVED (" in text
    game = Game(7)
    for number, line in enumerate(text[text.index("PROVED") :].splitlines()[1:], start=1):
        start, _, words = line.strip().partition(". ")
        assert int(start) == number
        place_text = words.split(" (")[0]
        assert words == game.describe(game.find_move(place_text))
        game.play(place_text)
    assert game.is_won


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([LOST], "It cannot be won. PROVED ("),
        (["0", "--objective", "moves"], "It can be won in 39 moves, and not in fewer. PROVED ("),
        ([LOST, "--objective", "moves"], "It cannot be won. PROVED ("),
        ([LOST, "--objective", "cards"], "of the 28 pyramid cards can be removed. PROVED ("),
    ],
)
def test_answers_are_told_in_words(
    arguments: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer in output(capsys, *arguments)


def given_up(objective: Objective, lower: int, upper: int | None, moves: Any = ()) -> Solution:
    return Solution(objective, Status.LIMIT, None, lower, upper, tuple(moves), 1234, 0.5)


@pytest.mark.parametrize(
    ("solution", "answer", "short"),
    [
        (given_up("win", 0, 1), "Not decided whether it can be won.", "?"),
        (
            given_up("cards", 0, 27),
            "At least 0 and at most 27 pyramid cards can be removed.",
            "0 to 27",
        ),
        (given_up("moves", 30, None), "Not decided whether it can be won.", "30 to ?"),
        (
            given_up("moves", 30, 39, solve(Game(0), "moves").moves),
            "It can be won in 39 moves, and not in fewer than 30.",
            "30 to 39",
        ),
    ],
)
def test_what_a_limit_left_open_is_said(
    solution: Solution,
    answer: str,
    short: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        solve_command, "solve_batch", lambda deals, *_, **__: [solution] * len(deals)
    )
    text = output(capsys, "0", "--objective", solution.objective)
    assert (
        f"{answer} LIMIT (1,234 positions, 0.5 s): the search was stopped by --node-limit" in text
    )
    lines = output(capsys, "0", "0", "--objective", solution.objective).splitlines()
    assert [short in line and "LIMIT" in line for line in lines[1:-1]] == [True, True]
    assert lines[-1].endswith(", 2 not decided: a limit came first")


def test_limits_reach_the_solver(capsys: pytest.CaptureFixture[str]) -> None:
    for limit in (["--node-limit", "1"], ["--time-limit", "1e-9"]):
        assert records(capsys, "0", *limit, "--objective", "moves")[0]["status"] == "LIMIT"


def test_a_deal_can_be_a_day_or_cards(capsys: pytest.CaptureFixture[str]) -> None:
    day = datetime.date(2026, 7, 4)
    assert output(capsys, "--daily", "2026-07-04").startswith("Deal of 2026-07-04, rules kawu\n")
    assert records(capsys, "--daily", "2026-07-04")[0]["deal"] == 20260704
    before = datetime.date.today()
    number = records(capsys, "--daily")[0]["deal"]
    assert number in (Deal.daily(before).number, Deal.daily().number)
    cards = str(Deal.daily(day))
    for words in ([cards], cards.split(), [cards.lower()]):
        assert records(capsys, *words)[0]["deal"] == cards
    assert output(capsys, cards).startswith("Deal as given, rules kawu\n")


# Many deals


def test_many_deals_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, *map(str, range(8, 12))).splitlines()
    assert lines[0].split() == ["deal", "answer", "status", "moves", "nodes"]
    assert [line.split()[0] for line in lines[1:-1]] == ["8", "9", "10", "11"]
    answers = [line.split()[1] for line in lines[1:-1]]
    assert answers == ["won" if solve(Game(n)).value else "lost" for n in range(8, 12)]
    assert lines[-1] == f"4 deals: {answers.count('won')} can be won"
    lines = output(capsys, "8", "9", "--objective", "cards").splitlines()
    values = [solve(Game(n), "cards").value for n in (8, 9)]
    assert [int(line.split()[1]) for line in lines[1:-1]] == values
    assert lines[-1].startswith("2 deals: ")


@pytest.mark.parametrize("objective", ["win", "cards", "moves"])
def test_json_and_csv_hold_what_the_solver_says(
    objective: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    deals = ["3", "10", "12"]
    solutions = solve_batch(map(int, deals), "classic", objective)
    arguments = [*deals, "--rules", "classic", "--objective", objective, "--jobs", "1"]
    rows = list(csv.DictReader(io.StringIO(output(capsys, *arguments, "--format", "csv"))))
    for number, solution, record, row in zip(
        deals, solutions, records(capsys, *arguments), rows, strict=True
    ):
        moves = [str(move) for move in solution.moves]
        assert record == {
            "deal": int(number),
            "status": "PROVED",
            "value": solution.value,
            "lower": solution.lower,
            "upper": solution.upper,
            "moves": moves,
            "nodes": solution.nodes,
        }
        assert row["moves"].split() == moves
        as_text = "" if solution.value is None else str(int(solution.value))
        assert (row["deal"], row["status"], row["value"]) == (number, "PROVED", as_text)
        assert (row["lower"], row["upper"]) == tuple(
            "" if bound is None else str(bound) for bound in (solution.lower, solution.upper)
        )


def test_a_line_from_json_replays(capsys: pytest.CaptureFixture[str]) -> None:
    cards = str(Deal.from_number(4))
    for words in (["4", "5"], [cards]):
        for record in records(capsys, *words, "--rules", "kawu-2"):
            game = Game.replay("kawu-2", record["deal"], record["moves"])
            assert game.is_won == record["value"]


def test_a_file_of_deals_is_solved_and_cards_are_named_by_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deals.txt"
    path.write_text(f"# two deals\n7\n{Deal.from_number(8)}\n")
    lines = output(capsys, "--file", str(path)).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["7", "deals.txt:3"]
    assert [r["deal"] for r in records(capsys, "--file", str(path))] == [
        7,
        str(Deal.from_number(8)),
    ]


# Rules


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        ([], Rules()),
        (["--rules", "covered"], PRESETS["covered"]),
        (["--passes", "unlimited"], Rules(passes=None)),
        (["--rules", "tuts-tomb", "--passes", "2"], Rules(passes=2, draw=3, stock_playable=False)),
        (
            ["--goal", "all", "--draw", "2", "--reserve", "3", "--covered-pairs"],
            Rules(goal="all", draw=2, reserve=3, covered_pairs=True),
        ),
        (["--rules", "covered", "--no-covered-pairs"], Rules(goal="all", passes=1)),
        (["--no-stock-playable"], Rules(stock_playable=False)),
    ],
)
def test_rules_are_a_preset_with_changes(
    arguments: list[str], rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Rules] = []

    def spy(deals: list[Deal], rules: Rules, *_: object, **settings: object) -> Any:
        asked.append(rules)
        return solve_batch(deals, node_limit=1)

    monkeypatch.setattr(solve_command, "solve_batch", spy)
    assert main(["solve", "1", "2", *arguments]) == 0
    assert asked == [rules]


# Files, interruptions, bad input


def test_a_file_is_written_whole_and_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("old")
    assert output(capsys, "1", "2", "--format", "csv", "--output", str(path)) == ""
    assert path.read_text() == output(capsys, "1", "2", "--format", "csv")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    assert main(["solve", "1", "--output", str(tmp_path / "answers.txt")]) == 2
    assert capsys.readouterr().err == "pyramid_env solve: no space left\n"
    assert not list(tmp_path.iterdir())


def program(*arguments: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pyramid_env", "solve", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def test_ctrl_c_ends_it_with_130_and_no_file(tmp_path: Path) -> None:
    rules = ["--passes=4", "--draw=2", "--covered-pairs", "--reserve=1"]
    slow = "215640997"
    main(["solve", slow, *rules, "--node-limit=1000"])  # kernels are compiled now
    with program(
        *("--file=-", f"--output={tmp_path / 'answers.txt'}", *rules),
        # A shell that runs in the background has Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:
        assert child.stdin is not None
        child.stdin.write(f"{slow}\n" * 20_000)  # more than a pipe holds, so it is being read
        child.stdin.close()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        # Python ends by the signal itself where that came while numba ran code from a text; a shell
        # shows 130 for both.
        assert child.wait(timeout=60) in (130, -signal.SIGINT)
        assert child.stderr is not None
        assert child.stderr.read() == "pyramid_env solve: stopped\n"
    assert not list(tmp_path.iterdir())


def test_a_reader_that_has_enough_is_no_error() -> None:
    with program("1", "2", "3", "--format=json") as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        errors = child.stderr.read()
    assert (child.wait(), errors) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either deals (numbers, or 52 cards), or --daily, or --file"),
        (["1", "--daily"], "give either deals"),
        (["1", "--file", "deals.txt"], "give either deals"),
        (["-5"], "no deal has number -5"),
        (
            ["18446744073709551616"],
            "no deal has number 18446744073709551616: a whole number from 0",
        ),
        (["KC", "KC"], "KC is there twice"),
        (["--daily", "yesterday"], "'yesterday' is no date such as 2026-07-04"),
        (["--file", "nowhere.txt"], "nowhere.txt"),
        (["1", "--rules", "chess"], "argument --rules: invalid choice: 'chess'"),
        (["1", "--goal", "none"], "argument --goal: invalid choice"),
        (["1", "--passes", "many"], "'many' is neither a number nor unlimited"),
        (["1", "--passes", "0"], "passes=0 is not allowed: a whole number from 1 to 127"),
        (["1", "--draw", "0"], "draw=0 is not allowed"),
        (["1", "--reserve", "8"], "reserve=8 is not allowed"),
        (["1", "--objective", "score"], "argument --objective: invalid choice"),
        (["1", "--format", "xml"], "argument --format: invalid choice"),
        (["1", "--jobs", "0"], "jobs=0 is not allowed"),
        (["1", "--node-limit", "0"], "node_limit=0 is not allowed"),
        (["1", "--time-limit", "nan"], "time_limit=nan is not allowed"),
        (["1", "--time-limit", "-1"], "time_limit=-1.0 is not allowed"),
        (["1", "--output", "."], "--output . is a folder"),
        (["1", "--output", "nowhere/x.csv"], "--output nowhere/x.csv: there is no folder nowhere"),
        (["1", "--what"], "unrecognized arguments: --what"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: Any = main(["solve", *arguments])
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert printed.err.startswith("pyramid_env")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


def test_without_a_command_it_says_so_and_help_lists_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "solve deals exactly" in capsys.readouterr().out
