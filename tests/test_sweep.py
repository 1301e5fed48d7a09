"""Sweeps: the answers of `solve` in files, whole after any stop, one sweep a folder."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyramid_env.__main__ import main
from pyramid_env.commands import sweep as command
from pyramid_env.rules import Rules
from pyramid_env.solver import Objective, solve_batch
from pyramid_env.solver.sweep import solve_chunk, sweep
from pyramid_env.solver.sweep_files import COLUMNS, NONE, Answers, Settings, read_sweep
from pyramid_env.workers import WorkerDied

BY_THREAD: dict[str, Any] = {"backend": "threading", "jobs": 1}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_answers_are_those_of_solve_batch(folder: Path) -> None:
    found = read_sweep(folder)
    settings, answers = found.settings, found.answers
    solutions = solve_batch(
        settings.deals, settings.rules, settings.objective, node_limit=settings.node_limit
    )
    assert answers.deal.tolist() == list(settings.deals)
    for i, solution in enumerate(solutions):
        given = [solution.value, solution.lower, solution.upper]
        numbers = [NONE if number is None else int(number) for number in given]
        assert answers.status[i] == solution.status.value
        assert [answers.value[i], answers.lower[i], answers.upper[i]] == numbers
        assert (answers.n_moves[i], answers.nodes[i]) == (len(solution.moves), solution.nodes)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("objective", "rules", "node_limit"),
    [
        ("win", "kawu", 20_000_000),
        ("cards", "kawu-1", 20_000_000),
        ("moves", "kawu", 20_000_000),  # with deals that have no value
        ("moves", "par", 40),  # with deals that stay open, and have no upper bound
        ("win", Rules(passes=None, draw=2, reserve=1), 40),
    ],
)
def test_a_sweep_gives_the_answers_of_solve_batch(
    objective: Objective, rules: str | Rules, node_limit: int, file_format: Any, tmp_path: Path
) -> None:
    sweep(
        tmp_path,
        rules,
        objective,
        range(7, 32),
        chunk=10,
        node_limit=node_limit,
        file_format=file_format,
        **BY_THREAD,
    )
    assert_answers_are_those_of_solve_batch(tmp_path)
    names = [f"chunk-00000000{first}.{file_format}" for first in ("07", "17", "27")]
    assert sorted(path.name for path in tmp_path.glob("chunk-*")) == names
    is_limited = "LIMIT" in read_sweep(tmp_path).answers.status
    assert is_limited == (node_limit == 40)


def test_the_columns_are_the_documented_ones_in_both_formats(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for file_format in ("parquet", "csv"):
        folder = tmp_path / file_format
        sweep(folder, "kawu", "moves", range(12), file_format=file_format, **BY_THREAD)  # type: ignore[arg-type]
    text = (tmp_path / "csv" / "chunk-0000000000.csv").read_text().splitlines()
    table = parquet.ParquetFile(tmp_path / "parquet" / "chunk-0000000000.parquet").read()
    names = ["deal", "status", "value", "lower", "upper", "n_moves", "nodes"]
    assert text[0].split(",") == table.column_names == names
    assert [str(kind) for kind in table.schema.types] == ["int64", "string", *["int64"] * 5]
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert text[1:] == [",".join("" if v is None else str(v) for v in row) for row in rows]
    assert table["value"].null_count > 0


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_all_backends_write_the_same_files(backend: Any, tmp_path: Path) -> None:
    sweep(tmp_path / "one", "kawu", deals=range(45), chunk=10, **BY_THREAD)
    sweep(tmp_path / "two", "kawu", deals=range(45), chunk=10, backend=backend, jobs=2)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_a_chunk_under_way_in_a_thread_can_be_stopped() -> None:
    settings = Settings(Rules(), "win", range(10**9), 10**9, 1000, "csv")
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedError):
        solve_chunk(settings, range(5000), stop)


def test_a_stopped_sweep_carries_on_and_its_files_are_the_same(tmp_path: Path) -> None:
    sweep(tmp_path / "whole", "kawu-2", deals=range(50), chunk=10, **BY_THREAD)
    stopped = tmp_path / "stopped"
    for n_done in (1, 2):
        told: list[bool] = []

        def stop_at_new(answers: Answers, is_new: bool, told: list[bool] = told) -> None:
            told.append(is_new)
            if is_new:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep(stopped, "kawu-2", deals=range(50), chunk=10, progress=stop_at_new, **BY_THREAD)
        assert told == [False] * (n_done - 1) + [True]
        assert len(list(stopped.glob("chunk-*"))) == n_done
    (stopped / "chunk-0000000000.parquet.part").write_bytes(b"what a kill leaves")
    ages = {path: path.stat().st_mtime_ns for path in stopped.glob("chunk-*.parquet")}
    sweep(stopped, "kawu-2", deals=range(50), chunk=10, **BY_THREAD)
    assert {path: path.stat().st_mtime_ns for path in ages} == ages
    assert files_in(stopped) == files_in(tmp_path / "whole")


def test_a_sweep_may_be_made_longer(tmp_path: Path) -> None:
    sweep(tmp_path / "whole", "kawu", deals=range(3, 48), chunk=10, **BY_THREAD)
    grown = tmp_path / "grown"
    sweep(grown, "kawu", deals=range(3, 28), chunk=10, **BY_THREAD)
    first = grown / "chunk-0000000003.parquet"
    age = first.stat().st_mtime_ns
    sweep(grown, "kawu", deals=range(3, 48), chunk=10, **BY_THREAD)
    assert first.stat().st_mtime_ns == age
    assert files_in(grown) == files_in(tmp_path / "whole")


def test_two_sweeps_never_mix(tmp_path: Path) -> None:
    tried = []

    def start_another(answers: Answers, is_new: bool) -> None:
        with pytest.raises(ValueError, match="another sweep is at work in"):
            sweep(tmp_path, "kawu", deals=range(20), chunk=10, **BY_THREAD)
        tried.append(is_new)

    sweep(tmp_path, "kawu", deals=range(20), chunk=10, progress=start_another, **BY_THREAD)
    assert tried == [True, True]
    sweep(tmp_path, "kawu", deals=range(20), chunk=10, **BY_THREAD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": "par"}, "'goal': 'pyramid'.* and not .*'goal': 'all'"),
        ({"objective": "cards"}, "objective win and not cards"),
        ({"deals": range(1, 30)}, r"deals \[0, 20\] and not \[1, 30\]"),
        ({"deals": range(10)}, r"deals \[0, 20\] and not \[0, 10\]"),
        ({"chunk": 5}, "chunk 10 and not 5"),
        ({"chunk": 5, "deals": range(30)}, "chunk 10 and not 5"),
        ({"node_limit": 7}, "node_limit 20000000 and not 7"),
        ({"file_format": "csv"}, "file_format parquet and not csv"),
    ],
)
def test_other_settings_are_refused_and_nothing_changes(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {"rules": "kawu", "deals": range(20), "chunk": 10, **BY_THREAD}
    sweep(tmp_path, **arguments)
    before = files_in(tmp_path)
    with pytest.raises(ValueError, match=f"holds another sweep: .*{message}"):
        sweep(tmp_path, **{**arguments, **change})
    assert files_in(tmp_path) == before


def test_a_sweep_of_another_version_is_refused(tmp_path: Path) -> None:
    sweep(tmp_path, deals=range(2), **BY_THREAD)
    settings = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**settings, "version": "0.0.1"}))
    with pytest.raises(ValueError, match=r"version 0.0.1 and not"):
        sweep(tmp_path, deals=range(2), **BY_THREAD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": "chess"}, "unknown rules 'chess'"),
        ({"objective": "all"}, "objective='all' is not allowed"),
        ({"deals": range(5, 5)}, "deals=.* is not allowed"),
        ({"deals": range(0, 9, 2)}, "deals=.* is not allowed"),
        ({"deals": range(-1, 9)}, "deals=.* is not allowed"),
        ({"deals": range(1, 2**63 + 1)}, "deals=.* is not allowed"),
        ({"chunk": 0}, "chunk=0 is not allowed"),
        ({"node_limit": 0}, "node_limit=0 is not allowed"),
        ({"file_format": "xml"}, "file_format='xml' is not allowed"),
        ({"backend": "dask"}, "backend='dask' is not allowed"),
        ({"jobs": 0}, "jobs=0 is not allowed"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        sweep(tmp_path / "new", **{"deals": range(5), **BY_THREAD, **change})
    assert not (tmp_path / "new").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.part").write_text("chapter one")
    with pytest.raises(ValueError, match=r"holds thesis\.part and no sweep"):
        sweep(tmp_path, deals=range(5), **BY_THREAD)
    assert files_in(tmp_path) == {"thesis.part": b"chapter one"}


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_chunk_that_is_damaged_is_named(file_format: Any, tmp_path: Path) -> None:
    sweep(tmp_path, deals=range(20), chunk=10, file_format=file_format, **BY_THREAD)
    first, second = sorted(tmp_path.glob("chunk-*"))
    whole = second.read_bytes()
    for content in (first.read_bytes(), whole[:-40], b""):
        second.write_bytes(content)
        with pytest.raises(ValueError, match=f"{second.name} .*delete it to have it done again"):
            read_sweep(tmp_path)
    second.unlink()
    with pytest.raises(ValueError, match="1 of 2 chunks are missing"):
        read_sweep(tmp_path)
    sweep(tmp_path, deals=range(20), chunk=10, file_format=file_format, **BY_THREAD)
    assert second.read_bytes() == whole


def test_a_folder_without_a_sweep_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no sweep: it has no sweep\.json"):
        read_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text('{"rules": {"goal": "pyramid"}}')
    with pytest.raises(ValueError, match="cannot be read as the settings of a sweep"):
        read_sweep(tmp_path)


def test_csv_needs_no_pyarrow_and_parquet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"PyArrow: pip install 'pyramid-env\[sweep\]'"):
        sweep(tmp_path / "parquet", deals=range(5), **BY_THREAD)
    assert not (tmp_path / "parquet").exists()
    sweep(tmp_path / "csv", deals=range(5), file_format="csv", **BY_THREAD)
    assert_answers_are_those_of_solve_batch(tmp_path / "csv")


def test_an_extra_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(
        ValueError, match=r"joblib is not installed: pip install 'pyramid-env\[sweep\]'"
    ):
        sweep(tmp_path / "new", deals=range(5), **BY_THREAD)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds workers through /proc")
def test_a_dead_worker_ends_the_sweep_and_finished_chunks_are_kept(tmp_path: Path) -> None:
    def kill_workers(answers: Answers, is_new: bool) -> None:
        for children in Path("/proc/self/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                if b"LokyProcess" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)

    arguments: dict[str, Any] = {"deals": range(4000), "chunk": 40, "jobs": 2}
    with pytest.raises(WorkerDied):
        sweep(tmp_path, "kawu", progress=kill_workers, **arguments)
    done = files_in(tmp_path)
    assert 1 <= len([name for name in done if name.startswith("chunk")]) < 100
    assert not [name for name in done if name.endswith(".part")]


# The command


def test_the_command_sweeps_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--deals", "0:40", "--chunk", "20", "--jobs", "1", "--format", "csv"]
    rules = ["--rules", "classic", "--passes", "3", "--objective", "cards"]
    for _ in range(2):
        assert main(["sweep", *rules, *arguments, "--out", str(tmp_path)]) == 0
        answers = read_sweep(tmp_path).answers
        share = f"{np.mean(answers.value == 28):.2%} cleared"
        printed = capsys.readouterr()
        assert printed.out == f"{tmp_path}: 40 deals, {share}, 0 not decided\n"
    assert read_sweep(tmp_path).settings.rules == Rules(goal="all", passes=3)
    assert_answers_are_those_of_solve_batch(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--draw", "0"], "draw=0 is not allowed"),
        (["--chunk", "0"], "chunk=0 is not allowed"),
        (["--jobs", "0"], "jobs=0 is not allowed"),
        (["--node-limit", "-1"], "node_limit=-1 is not allowed"),
        (["--deals", "0:9223372036854775809"], "deals=.*is not allowed"),
    ],
)
def test_wrong_arguments_end_the_command_with_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["sweep", "--deals", "0:9", "--out", str(out), *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("pyramid_env sweep: ")
    assert message.split(".*")[0] in line
    assert not out.exists()


@pytest.mark.parametrize("deals", ["9:9", "5", "a:b", "-1:4", "0:"])
def test_a_range_of_deals_that_is_none_is_refused(
    deals: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", f"--deals={deals}", "--out", str(tmp_path / "out")])
    assert "give FIRST:END, such as 0:1000" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_reports_a_dead_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: object, **kwargs: object) -> None:
        raise WorkerDied("out of memory")

    monkeypatch.setattr(command, "sweep", die)
    assert main(["sweep", "--deals", "0:9", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "pyramid_env sweep: a worker has died: out of memory\n"


def test_every_column_is_a_field() -> None:
    assert COLUMNS == ("deal", "status", "value", "lower", "upper", "n_moves", "nodes")
