"""The document on the odds: made from sweeps alone, and up to date with its figures."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from agents.statistics import wilson_interval
from pyramid_env.rules import PRESETS
from pyramid_env.solver import Objective, solve_batch
from pyramid_env.solver.sweep import sweep

DOCS = Path(__file__).parents[1] / "docs"
N_DEALS = 30


@pytest.fixture(scope="module")
def odds() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "odds.py"))


def make(folder: Path, preset: str, objective: Objective, n_deals: int = N_DEALS) -> None:
    sweep(
        folder / f"{preset}-{objective}",
        preset,
        objective,
        range(n_deals),
        backend="threading",
        jobs=1,
        file_format="csv",
    )


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps")
    for objective in ("win", "cards", "moves"):
        make(folder, "kawu", objective)  # type: ignore[arg-type]
    make(folder, "pyramid-only", "win")
    return folder


@pytest.fixture(scope="module")
def made(odds: dict[str, Any], sweeps: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    assert odds["main"]([str(sweeps), "--out", str(out)]) == 0
    return out


def row_of(text: str, head: str, name: str) -> list[str]:
    """The cells of a row, in the section under a heading."""
    section = text.split(f"## {head}\n")[1].split("\n## ")[0]
    [row] = [line for line in section.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_published_document_is_made_from_the_published_figures(odds: dict[str, Any]) -> None:
    if not (DOCS / "odds.md").exists():
        pytest.skip("no figures are published yet")
    figures = json.loads((DOCS / "odds.json").read_text(encoding="utf-8"))
    text = (DOCS / "odds.md").read_text(encoding="utf-8")
    assert odds["markdown"](figures) == text, "run: python docs/odds.py SWEEPS_FOLDER"


def test_the_document_follows_from_its_figures(odds: dict[str, Any], made: Path) -> None:
    figures = json.loads((made / "odds.json").read_text())
    assert odds["markdown"](figures) == (made / "odds.md").read_text()


def test_the_tables_say_what_the_solver_says(made: Path) -> None:
    text = (made / "odds.md").read_text()
    won = sum(solution.value is True for solution in solve_batch(range(N_DEALS)))
    low, high = wilson_interval(won, N_DEALS)
    share = f"{won / N_DEALS:.2%} ({100 * low:.2f}-{high:.2%})"
    row = ["`kawu`", "0 to 29", str(won), share]
    assert row_of(text, "Deals that can be won", "`kawu`") == row

    cards = sorted(int(s.value or 0) for s in solve_batch(range(N_DEALS), objective="cards"))
    row = row_of(text, "Pyramid cards that can be removed", "`kawu`, `par`")
    assert row[2].startswith(f"{sum(cards) / N_DEALS:.2f} ± ")
    assert row[3:8] == [str(cards[i]) for i in (1, 7, 14, 22, 28)]  # ranks 1.5, 7.5, ... upwards
    assert row[8] == share

    solutions = solve_batch(range(N_DEALS), objective="moves")
    moves = sorted(int(s.value) for s in solutions if s.value is not None)
    row = row_of(text, "Fewest moves to win", "`kawu`")
    assert row[1:3] == [str(N_DEALS), str(len(moves))]
    assert row[3].startswith(f"{sum(moves) / len(moves):.2f} ± ")
    assert min(moves) <= int(row[4]) <= int(row[8]) <= max(moves)


def test_presets_with_equal_rules_share_a_sweep(made: Path) -> None:
    text = (made / "odds.md").read_text()
    assert PRESETS["kawu-1"] == PRESETS["pyramid-only"]
    row_of(text, "Deals that can be won", "`kawu-1`, `pyramid-only`")
    assert "--rules pyramid-only --objective win --deals 0:30 --out sweeps/pyramid-only-win" in text
    here = row_of(text, "What others have found", "`kawu-1`")[1]
    assert here == row_of(text, "Deals that can be won", "`kawu-1`, `pyramid-only`")[3]
    assert row_of(text, "What others have found", "`covered`")[1] == "-"


def test_the_pictures_shown_are_there(made: Path) -> None:
    text = (made / "odds.md").read_text()
    for objective in ("win", "cards", "moves"):
        assert f"(images/odds-{objective}.png)" in text
        assert (made / "images" / f"odds-{objective}.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(made.rglob("*.part"))


def test_an_objective_without_a_sweep_has_no_table(odds: dict[str, Any], tmp_path: Path) -> None:
    make(tmp_path, "classic", "win", 5)
    text = odds["markdown"](odds["summarise"](tmp_path))
    assert text.count("Not swept.") == 2
    assert "odds-moves.png" not in text


def test_sweeps_that_cannot_be_trusted_are_refused(
    odds: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def complaint(folder: Path) -> str:
        assert odds["main"]([str(folder), "--out", str(tmp_path / "out")]) == 2
        assert not (tmp_path / "out").exists()
        [line] = capsys.readouterr().err.splitlines()
        return line

    assert "holds no folder named PRESET-OBJECTIVE" in complaint(tmp_path)
    sweep(tmp_path / "a" / "par-win", "kawu", deals=range(5), file_format="csv", jobs=1)
    assert "par-win holds a sweep of Rules(goal='pyramid'" in complaint(tmp_path / "a")
    sweep(tmp_path / "b" / "par-win", "par", deals=range(9), node_limit=5, jobs=1)
    assert "deals are not proved" in complaint(tmp_path / "b")
    for objective in ("win", "cards"):
        make(tmp_path / "c", "kawu", objective, 8)  # type: ignore[arg-type]
    chunk = tmp_path / "c" / "kawu-win" / "chunk-0000000000.csv"
    chunk.write_text(chunk.read_text().replace("PROVED,1,", "PROVED,0,", 1))
    assert "kawu: the sweeps disagree on how many deals are won" in complaint(tmp_path / "c")
