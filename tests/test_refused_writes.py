"""A full disk, a folder that cannot be written, one that another run works in: a clear error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stopping import no_file_longer_than

from agents.commands import evaluate, train
from agents.training.run import LOCK_FILE
from pyramid_env.__main__ import main
from pyramid_env.files import replacing
from pyramid_env.workers import locked

TINY = "--width=16 --layers=1 --eval-deals=4 --device=cpu"
PROGRAMS: dict[str, str] = {
    "sweep": "sweep --deals=0:1000 --chunk=500 --format=csv --jobs=1 --backend=threading",
    "evaluate": "--agents random --deals 200 --chunk 100 --jobs 1 --backend threading",
    "distill": f"distill {TINY} --states=256 --games=64",
    "ppo": f"ppo {TINY} --steps=256 --envs=16 --rollout=8 --batch=64",
}
every_program = pytest.mark.parametrize("name", PROGRAMS)


def run(name: str, out: Path, *more: str) -> int:
    """A program in this process; its exit code."""
    words = [*PROGRAMS[name].split(), *more, f"--out={out}"]
    if name == "sweep":
        return main(words)
    if name == "evaluate":
        return evaluate.main(words)
    return train.main(words)


def files_in(folder: Path) -> dict[str, bytes]:
    paths = [
        path for path in folder.rglob("*") if path.is_file() and "tensorboard" not in str(path)
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.skipif(os.name != "posix", reason="limits the length of files")
@pytest.mark.parametrize(
    ("name", "length", "file"),
    [
        ("sweep", 3000, "chunk-0000000000.csv"),
        ("evaluate", 3000, "0000000000.csv"),
        ("distill", 3000, "policy.safetensors"),
        ("ppo", 30_000, "checkpoint.pt"),
    ],
)
def test_a_full_disk_ends_a_program_with_the_file_and_goes_on_later(
    name: str, length: int, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(name, tmp_path / "warm")
    with no_file_longer_than(length):
        assert run(name, out) == 2
    assert f"File too large: '{out}" in (said := last_line(capsys))
    assert said.endswith(f"{file}'")
    assert not list(out.rglob("*.part"))
    kept = files_in(out)
    assert file not in kept
    assert run(name, out, *(["--resume"] if name in ("distill", "ppo") else [])) == 0
    assert {path: files_in(out)[path] for path in kept if path.endswith(".json")} == {
        path: kept[path] for path in kept if path.endswith(".json")
    }


@every_program
def test_an_out_that_cannot_be_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        assert run(name, out) == 2
        assert f"Not a directory: '{tmp_path / 'file'}" in last_line(capsys)
    assert files_in(tmp_path) == {"file": b"mine"}


@every_program
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write")
def test_a_folder_that_may_not_be_written_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o500)
    assert run(name, tmp_path / "out") == 2
    assert f"Permission denied: '{tmp_path / 'out'}" in last_line(capsys)


@every_program
def test_a_folder_in_which_another_is_at_work_is_left_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, what = {
        "sweep": ("sweep.lock", "sweep"),
        "evaluate": ("evaluation.lock", "evaluation"),
    }.get(name, (LOCK_FILE, "training run"))
    with locked(tmp_path / lock, what):
        assert run(name, tmp_path) == 2
        assert last_line(capsys).endswith(f": another {what} is at work in {tmp_path}")
        assert [path.name for path in tmp_path.iterdir()] == [lock]
    assert run(name, tmp_path) == 0


def write_and_fail(path: Path, error: OSError) -> None:
    with replacing(path) as draft:
        draft.write_text("half of it")
        raise error


def test_an_error_without_a_file_gets_its_name(tmp_path: Path) -> None:
    """As the system reports a full disk."""
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(OSError, match=r"No space left on device: .*kept\.txt'"):
        write_and_fail(path, OSError(28, os.strerror(28)))
    with pytest.raises(OSError, match=r"gone: 'other\.txt'"):
        write_and_fail(path, FileNotFoundError(2, "gone", "other.txt"))
    assert files_in(tmp_path) == {"kept.txt": b"old"}
