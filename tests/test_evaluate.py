"""The comparison script: what it plays, keeps, prints and reports, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import struct
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from rich.console import Console

from agents.commands import evaluate
from agents.registry import WEIGHTS
from pyramid_env import Game, Solution, analyse, solve, solve_batch
from pyramid_env.solver import Status, Undecided

AGENTS = ("random", "greedy", "learned", "solver")

BREAKS_OFF = """
from agents.baselines import GreedyAgent


class BreaksOff(GreedyAgent):
    def act_batch(self, observations, action_masks):
        if (observations[:, 0] == 1).any():
            raise KeyError("no aces, please")
        return super().act_batch(observations, action_masks)


def make_agent(rules):
    return BreaksOff(rules)
"""


def play(out: Path, *agents: str, **options: Any) -> str:
    """What a comparison prints."""
    console = Console(file=io.StringIO(), width=80)
    arguments = {"deals": 40, "chunk": 15, "jobs": 1, "rules": "kawu", **options}
    evaluate.run(evaluate.Arguments(agents=agents or AGENTS, out=out, **arguments), console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def rows_of(out: Path, agent: str) -> list[dict[str, str]]:
    with (out / "games" / f"{agent}.csv").open() as file:
        return list(csv.DictReader(file))


def games_of(out: Path) -> dict[str, list[dict[str, str]]]:
    """All games as they were kept, but for the times, which always differ."""
    found = {path.stem: rows_of(out, path.stem) for path in (out / "games").glob("*.csv")}
    for rows in found.values():
        for row in rows:
            del row["seconds"]
    return found


def report_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "report.json").read_text())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("results") / "kawu"
    return out, play(out, deals=60)


def test_the_table_fits_a_terminal_and_sets_privileged_agents_apart(
    results: tuple[Path, str],
) -> None:
    table = results[1]
    assert "kawu rules, deals 0 to 59" in table
    lines = table.splitlines()
    rows = [i for i, line in enumerate(lines) if line.startswith("│")]
    assert [lines[i].split()[1] for i in rows] == list(AGENTS)
    assert "├" in lines[rows[3] - 1]
    assert "…" not in table


def test_every_agent_played_the_same_deals_and_every_game_replays(
    results: tuple[Path, str],
) -> None:
    with (results[0] / "optima.csv").open() as file:
        optima = {row["deal"]: row for row in csv.DictReader(file)}
    assert list(map(int, optima)) == list(range(60))
    for agent in AGENTS:
        rows = rows_of(results[0], agent)
        assert [int(row["deal"]) for row in rows] == list(range(60))
        for row in rows[::7]:
            optimum = optima[row["deal"]]
            game = Game.replay("kawu", int(row["deal"]), row["moves"].split())
            assert game.is_over
            assert (int(game.is_won), game.score) == (int(row["won"]), int(row["cards"]))
            assert int(optimum["most_cards"]) == solve(Game(int(row["deal"])), "cards").value
            assert (row["losing_move"] != "") == (optimum["winnable"] == "1" and not game.is_won)
            if row["losing_move"]:
                moves, number = row["moves"].split(), int(row["losing_move"])
                analysis = analyse("kawu", int(row["deal"]), moves[:number])
                assert analysis.losing_move == number - 1


def test_the_figures_follow_from_the_games(results: tuple[Path, str]) -> None:
    summary = report_of(results[0])
    with (results[0] / "optima.csv").open() as file:
        optima = list(csv.DictReader(file))
    n_winnable = sum(int(row["winnable"]) for row in optima)
    assert summary["n_winnable"] == n_winnable
    for agent in summary["agents"]:
        games = rows_of(results[0], agent["name"])
        assert agent["n_won"] == sum(int(row["won"]) for row in games)
        assert agent["mean_cards"] == pytest.approx(sum(int(row["cards"]) for row in games) / 60)
        most = sum(int(row["most_cards"]) for row in optima) / 60
        assert agent["regret"] == pytest.approx(most - agent["mean_cards"])
        losing = [int(row["losing_move"]) for row in games if row["losing_move"]]
        assert agent["lost_at"] == (median(losing) if losing else None)
        assert len(losing) == n_winnable - agent["n_won"]
        assert agent["win_low"] < agent["win_rate"] < agent["win_high"]
        n_moves = sum(len(row["moves"].split()) for row in games)
        seconds = sum(float(row["seconds"]) for row in games)
        assert agent["decisions_per_second"] == pytest.approx(n_moves / seconds)
    assert [agent["privileged"] for agent in summary["agents"]] == [False, False, False, True]
    assert summary["agents"][3]["winnable_won"] == 1
    assert summary["agents"][3]["regret"] == 0
    assert summary["groups"][3]["still_winnable"] == [1]
    assert len(summary["pairs"]) == 6


def test_the_charts_are_pictures_and_the_markdown_shows_all(results: tuple[Path, str]) -> None:
    text = (results[0] / "report.md").read_text()
    for name in ("win-rates", "still-winnable", "cards-removed", "profiles"):
        picture = (results[0] / f"{name}.png").read_bytes()
        width, height = struct.unpack(">II", picture[16:24])
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        assert width >= 800
        assert height >= 300
        assert f"]({name}.png)" in text
    assert text.index("Fair agents") < text.index("| greedy |")
    assert text.index("Agents that see the hidden cards") < text.index("| solver |")
    assert not [*results[0].rglob("*.part"), *results[0].rglob("*.parts")]


def test_a_report_is_made_anew_from_the_kept_files_alone(
    results: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "moved"
    kept = shutil.ignore_patterns("report.*", "*.png", "*.lock")
    shutil.copytree(results[0], moved, ignore=kept)
    monkeypatch.setattr("agents.playing.play_deals", None)  # nobody plays
    monkeypatch.setattr("pyramid_env.solver.solve_batch", None)
    assert evaluate.main(["report", str(moved)]) == 0
    assert {path.name: path.read_bytes() for path in moved.iterdir() if path.is_file()} == {
        path.name: path.read_bytes()
        for path in results[0].iterdir()
        if path.is_file() and path.suffix != ".lock"
    }


def test_a_report_needs_an_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main(["report", str(tmp_path)]) == 2
    assert "holds no evaluation: it has no evaluation.json" in capsys.readouterr().err


def test_agents_that_have_not_finished_are_left_out_of_a_report(tmp_path: Path) -> None:
    play(tmp_path, "greedy", "random")
    (tmp_path / "games" / "greedy.csv").unlink()
    console = Console(file=io.StringIO())
    evaluate.report(evaluate.ReportArguments(tmp_path), console)
    assert "greedy has not finished and is left out" in (tmp_path / "report.md").read_text()
    assert [agent["name"] for agent in report_of(tmp_path)["agents"]] == ["random"]
    (tmp_path / "games" / "random.csv").unlink()
    with pytest.raises(ValueError, match="no agent has finished"):
        evaluate.report(evaluate.ReportArguments(tmp_path), console)


def test_what_the_solver_leaves_open_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*arguments: object) -> None:
        raise Undecided("too hard")

    monkeypatch.setattr("agents.evaluation.first_losing_move", give_up)
    play(tmp_path, "random")
    assert {row["losing_move"] for row in rows_of(tmp_path, "random")} == {""}
    assert report_of(tmp_path)["agents"][0]["lost_at"] is None

    def leave_open(deals: range, *arguments: Any, **options: Any) -> list[Solution]:
        some = [deal for deal in deals if deal % 2]
        found = dict(zip(some, solve_batch(some, *arguments), strict=True))
        nothing = Solution("cards", Status.LIMIT, None, 0, 28, (), 9, 0.1)
        return [found.get(deal, nothing) for deal in deals]

    monkeypatch.setattr("agents.evaluation.solve_batch", leave_open)
    printed = play(tmp_path / "open", "random")
    assert "20 not decided" in printed
    assert report_of(tmp_path / "open")["n_open"] == 20


def test_seeds_of_an_agent_with_chance_differ_and_each_is_the_same_again(tmp_path: Path) -> None:
    specs = ("random", "chance=random", "a@0=random", "b@0=random", "a@1=random")
    play(tmp_path, *specs)
    games = games_of(tmp_path)
    assert games["random"] == games["chance"]
    assert games["a@0"] == games["b@0"] != games["a@1"]
    assert [group["seeds"] for group in report_of(tmp_path)["groups"]] == [
        ["random"],
        ["chance"],
        ["a@0", "a@1"],
        ["b@0"],
    ]
    assert "**Several seeds**" in (tmp_path / "report.md").read_text()


def test_other_agents_can_be_added_and_what_is_kept_is_left_alone(tmp_path: Path) -> None:
    play(tmp_path, "random", "greedy")
    ages = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.csv")}
    play(tmp_path, "greedy", "hint=greedy")
    assert {path: path.stat().st_mtime_ns for path in ages} == ages
    assert [agent["name"] for agent in report_of(tmp_path)["agents"]] == [
        "random",
        "greedy",
        "hint",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": "kawu-2"}, "rules kawu and not kawu-2"),
        ({"deals": 41}, "deals 0 to 39 and not 0 to 40"),
        ({"first": 1}, "deals 0 to 39 and not 1 to 40"),
        ({"batch": 7}, "batch 250 and not 7"),
        ({"chunk": 7}, "chunk 15 and not 7"),
    ],
)
def test_another_evaluation_in_the_same_folder_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    play(tmp_path, "greedy")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(ValueError, match=f"holds another evaluation, of .*{message}"):
        play(tmp_path, "greedy", "random", **change)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_another_agent_of_the_same_name_is_refused(tmp_path: Path) -> None:
    out, run = tmp_path / "out", tmp_path / "run"
    run.mkdir()
    policy = run / "best.safetensors"
    shutil.copy(WEIGHTS / "kawu.safetensors", policy)
    play(out, f"mine={run}")
    with pytest.raises(ValueError, match=r"holds games of another mine .*another name"):
        play(out, "mine=greedy")
    # The tensors lie behind the header: one bit of a weight changes.
    policy.write_bytes(policy.read_bytes()[:-1] + bytes([policy.read_bytes()[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"another mine .*changed since"):
        play(out, f"mine={run}")
    (out / "games" / "mine.csv").unlink()
    play(out, f"mine={run}")
    assert len(rows_of(out, "mine")) == 40


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter one")
    with pytest.raises(ValueError, match=r"holds thesis\.txt and no evaluation"):
        play(tmp_path, "greedy")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_that_is_damaged_is_named(results: tuple[Path, str], tmp_path: Path) -> None:
    for name, change, message in (
        ("games/greedy.csv", lambda text: text[: len(text) // 2], r"greedy\.csv is .* rows, not"),
        ("games/greedy.csv", lambda text: text + text[-200:], r"greedy\.csv is .* rows, not"),
        ("games/greedy.csv", lambda text: text.replace("\n3,", "\n33,"), "where deal 3 must be"),
        ("games/greedy.csv", lambda text: "", r"damaged: its columns must be deal, won"),
        ("optima.csv", lambda text: text.replace("\n3,1", "\n3,x"), r"optima\.csv is damaged"),
        ("evaluation.json", lambda text: text[5:], r"evaluation\.json is not that of an"),
    ):
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(results[0], out)
        (out / name).write_text(change((out / name).read_text()))
        with pytest.raises(ValueError, match=message):
            evaluate.report(evaluate.ReportArguments(out), Console(file=io.StringIO()))


def test_an_agent_that_fails_is_reported_by_name_and_deal_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "breaks_off.py").write_text(BREAKS_OFF)
    arguments = ["--deals", "40", "--out", "out", "--jobs", "1"]
    agents = ["--agents", "mine=breaks_off:make_agent", "greedy"]
    assert evaluate.main([*arguments, *agents]) == 1
    broken = [int(row["deal"]) for row in rows_of(tmp_path / "out", "mine") if row["error"]]
    assert len(broken) >= 2
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    note = (
        f"mine broke off {len(broken)} of 40 games, which count as not won; the first: deal"
        f" {broken[0]}: raised KeyError: 'no aces, please'"
    )
    assert note in printed
    mine, greedy = (rows_of(tmp_path / "out", name) for name in ("mine", "greedy"))
    for own, hint in zip(mine, greedy, strict=True):
        if int(own["deal"]) in broken:
            assert (own["won"], own["moves"]) == ("0", "")
            assert own["losing_move"] in ("", "1")  # lost by the move that was not made
        else:
            assert own["moves"] == hint["moves"]
    assert "1" in {row["losing_move"] for row in mine if row["error"]}


def test_the_example_in_the_docs_can_be_plugged_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[1] / "docs" / "agents.md").read_text()
    [example] = [code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "make_" in code]
    assert len([line for line in example.splitlines() if line]) <= 15
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(example)
    [command] = re.findall(r"python evaluate.py (.* mine=mine.*)", text)
    assert evaluate.main([*command.split(), "--deals", "200", "--jobs", "1"]) == 0
    won = {agent["name"]: agent["n_won"] for agent in report_of(tmp_path / "results")["agents"]}
    assert list(won) == ["random", "mine", "greedy"]
    assert won["random"] < won["mine"] < won["greedy"]


def test_learning_curves_of_runs_are_kept_and_shown(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for seed in range(2):
        run = tmp_path / f"run{seed}"
        run.mkdir()
        shutil.copy(WEIGHTS / "kawu.safetensors", run / "best.safetensors")
        curve = f"steps,win_rate,mean_cards\n0,0.0{seed},14\n1000,0.3,21\n"
        (run / "evaluations.csv").write_text(curve)
    play(out, f"ppo@0={tmp_path / 'run0'}", "greedy", deals=10)
    shutil.rmtree(tmp_path / "run0")
    console = Console(file=io.StringIO())
    curves = (f"other={tmp_path / 'run1'}",)
    assert evaluate.report(evaluate.ReportArguments(out, curves), console)
    assert sorted(path.name for path in (out / "curves").iterdir()) == ["other.csv", "ppo@0.csv"]
    assert "](learning-curves.png)" in (out / "report.md").read_text()
    (tmp_path / "run1" / "evaluations.csv").write_text("steps,win_rate\n0,1\n")
    with pytest.raises(ValueError, match="is no learning curve with numbers in steps"):
        evaluate.report(evaluate.ReportArguments(out, curves), console)
    with pytest.raises(ValueError, match="give NAME=FOLDER"):
        evaluate.report(evaluate.ReportArguments(out, ("run1",)), console)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "chess"], "unknown rules 'chess'"),
        (["--agents", "genius"], "unknown agent 'genius'"),
        (["--agents", "random", "random"], "each name once"),
        (["--agents"], "give at least one"),
        (["--agents", "mine=nowhere.safetensors"], "nowhere.safetensors"),
        (["--agents", "mine=not_there:make"], "module not_there cannot be imported"),
        (["--deals", "0"], "no evaluation deals"),
        (["--first", "-1"], "no evaluation deals"),
        (["--first", "4294967295", "--deals", "2"], "no evaluation deals"),
        (["--batch", "0"], "batch=0"),
        (["--chunk", "0"], "chunk=0"),
        (["--jobs", "0"], "jobs=0"),
        (["--agents", "learned", "--rules", "tuts-tomb"], "places"),
        (["--backend", "ray", "--ray-address", "127.0.0.1:1"], "no Ray cluster answers"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main(["--out", str(tmp_path / "out"), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("pyramid-evaluate: ")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ValueError, match=r"joblib is not installed: .*pyramid-env\[evaluate\]"):
        play(tmp_path / "out", "greedy")
    assert not (tmp_path / "out").exists()
