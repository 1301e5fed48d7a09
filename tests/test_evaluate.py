"""The comparison script: what it prints and saves, and what it says to wrong arguments."""

from __future__ import annotations

import csv
import io
import json
import struct
import sys
from pathlib import Path
from statistics import median

import pytest
from rich.console import Console

import evaluate
from pyramid_env import Game, analyse, solve


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("results")
    console = Console(file=io.StringIO(), width=80)
    agents = ("random", "greedy", "learned", "solver")
    evaluate.run(evaluate.Arguments(agents=agents, deals=60, out=out), console)
    return out, console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_fits_a_terminal_and_sets_privileged_agents_apart(
    results: tuple[Path, str],
) -> None:
    table = results[1]
    assert "kawu rules, deals 0 to 59" in table
    lines = table.splitlines()
    rows = [i for i, line in enumerate(lines) if line.startswith("│")]
    assert [lines[i].split()[1] for i in rows] == ["random", "greedy", "learned", "solver"]
    assert "├" in lines[rows[3] - 1]
    assert "…" not in table


def test_every_agent_played_the_same_deals_and_every_game_replays(
    results: tuple[Path, str],
) -> None:
    with (results[0] / "games.csv").open() as file:
        rows = list(csv.DictReader(file))
    for agent in ("random", "greedy", "learned", "solver"):
        assert [int(row["deal"]) for row in rows if row["agent"] == agent] == list(range(60))
    for row in rows[::7]:
        game = Game.replay("kawu", int(row["deal"]), row["moves"].split())
        assert game.is_over
        assert (int(game.is_won), game.score) == (int(row["won"]), int(row["cards"]))
        assert int(row["most_cards"]) == solve(Game(int(row["deal"])), "cards").value
        assert int(row["regret"]) == int(row["most_cards"]) - game.score
        assert (row["losing_move"] != "") == (row["winnable"] == "1" and not game.is_won)
        if row["losing_move"]:
            moves, number = row["moves"].split(), int(row["losing_move"])
            analysis = analyse("kawu", int(row["deal"]), moves[:number])
            assert analysis.losing_move == number - 1


def test_the_figures_follow_from_the_games(results: tuple[Path, str]) -> None:
    summary = json.loads((results[0] / "comparison.json").read_text())
    with (results[0] / "games.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert summary["n_winnable"] == sum(int(row["winnable"]) for row in rows) / 4
    for agent in summary["agents"]:
        games = [row for row in rows if row["agent"] == agent["name"]]
        assert agent["n_won"] == sum(int(row["won"]) for row in games)
        assert agent["mean_cards"] == pytest.approx(sum(int(row["cards"]) for row in games) / 60)
        shortfall = sum(int(row["most_cards"]) - int(row["cards"]) for row in games) / 60
        assert agent["regret"] == pytest.approx(shortfall)
        losing = [int(row["losing_move"]) for row in games if row["losing_move"]]
        assert agent["lost_at"] == (median(losing) if losing else None)
        n_winnable = sum(int(row["winnable"]) for row in games)
        assert len(losing) == n_winnable - agent["n_won"]
        assert agent["win_low"] < agent["win_rate"] < agent["win_high"]
    assert [agent["privileged"] for agent in summary["agents"]] == [False, False, False, True]
    assert summary["agents"][3]["winnable_won"] == 1
    assert summary["agents"][3]["regret"] == 0


def test_the_chart_is_a_picture_and_the_markdown_names_all(results: tuple[Path, str]) -> None:
    picture = (results[0] / "comparison.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert width >= 800
    assert height >= 300
    text = (results[0] / "comparison.md").read_text()
    assert text.index("Fair agents") < text.index("| greedy |")
    assert text.index("Agents that see the hidden cards") < text.index("| solver |")
    assert not list(results[0].glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "chess"], "unknown rules 'chess'"),
        (["--agents", "genius"], "unknown agent 'genius'"),
        (["--agents", "random", "random"], "each name once"),
        (["--agents", "mine=nowhere.safetensors"], "nowhere.safetensors"),
        (["--deals", "0"], "no evaluation deals"),
        (["--first", "4294967295", "--deals", "2"], "no evaluation deals"),
        (["--batch", "0"], "--batch 0"),
        (["--agents", "learned", "--rules", "tuts-tomb"], "places"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate.py", "--out", str(tmp_path / "out"), *arguments])
    assert evaluate.main() == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("evaluate.py: ")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
