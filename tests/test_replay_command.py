"""`python -m pyramid_env replay`: from a results folder to a page."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agents.commands import evaluate
from pyramid_env.__main__ import main
from pyramid_env.replay.results import find_game
from pyramid_env.rules import PRESETS


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    arguments = evaluate.Arguments(
        agents=("random", "greedy"), rules="kawu-2", deals=5, first=100, out=out
    )
    evaluate.run(arguments, Console(file=io.StringIO()))
    return out


def test_the_game_of_each_agent_and_deal_is_found(results: Path) -> None:
    for agent in ("random", "greedy"):
        with (results / "games" / f"{agent}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [int(row["deal"]) for row in rows] == [100, 101, 102, 103, 104]
        for row in rows:
            game = find_game(results, int(row["deal"]), agent)
            assert game.rules == PRESETS["kawu-2"]
            assert (game.agent, game.deal) == (agent, int(row["deal"]))
            assert game.moves == tuple(row["moves"].split())


def test_the_only_agent_with_finished_games_needs_no_name(results: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(results, tmp_path / "copy")
    (folder / "games" / "random.csv").unlink()
    assert find_game(folder, 102).agent == "greedy"
    (folder / "games" / "greedy.csv").unlink()
    with pytest.raises(ValueError, match="no agent has finished its games"):
        find_game(folder, 102)


def test_it_writes_the_page(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    arguments = [str(results), "--deal", "103", "--agent", "greedy", "-o", str(page)]
    assert main(["replay", *arguments]) == 0
    assert capsys.readouterr().out == f"written: {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "<title>greedy: deal 103, kawu-2</title>" in text
    assert list(tmp_path.iterdir()) == [page]


def test_the_page_is_game_html_by_default(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["replay", str(results), "--deal", "103", "--agent", "random"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["game.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--deal", "103"], "has the games of several agents: name one of random, greedy"),
        (["--deal", "99", "--agent", "greedy"], "greedy.csv has no deal 99"),
        (["--deal", "103", "--agent", "../x"], "has no games of agent ../x, but of random, greedy"),
        (["--deal", "x"], "argument --deal: invalid int value: 'x'"),
        ([], "the following arguments are required: --deal"),
        (
            ["--deal", "103", "--agent", "greedy", "-o", "nowhere/game.html"],
            "there is no folder nowhere",
        ),
        (["--deal", "103", "--agent", "greedy", "-o", "."], "--output . is a folder"),
        (["--deal", "103", "--agent", "greedy", "--node-limit", "0"], "node_limit=0"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(
    arguments: list[str],
    message: str,
    results: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    complains([str(results), *arguments], message, capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("evaluation.json", "{", "evaluation.json is not that of an evaluation"),
        ("evaluation.json", "[]", "evaluation.json is not that of an evaluation"),
        (
            "evaluation.json",
            json.dumps({"rules": {"passes": 0}, "agents": []}),
            "evaluation.json is not that of an evaluation: passes=0",
        ),
        ("games/greedy.csv", "", "greedy.csv has no deal 103"),
        ("games/greedy.csv", "deal,won\n103,1\n", "greedy.csv is damaged: line 2 has no moves"),
        ("games/greedy.csv", "deal,moves\n103\n", "greedy.csv is damaged: line 2 has no moves"),
        ("games/greedy.csv", "deal,moves\n103,A1\n", "move 1: illegal move A1"),
    ],
)
def test_damaged_results_are_named(
    name: str,
    content: str,
    message: str,
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(results, tmp_path / "copy")
    (folder / name).write_text(content)
    page = tmp_path / "game.html"
    arguments = [str(folder), "--deal", "103", "--agent", "greedy", "-o", str(page)]
    complains(arguments, message, capsys)
    assert not page.exists()


def test_a_folder_without_results_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    complains(
        [str(tmp_path), "--deal", "1", "-o", str(tmp_path / "x.html")], "evaluation.json", capsys
    )


def complains(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: Any = main(["replay", *arguments])
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("pyramid_env replay: ")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
