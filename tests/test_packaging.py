"""What is installed: versions, commands, and that kernels look at our own files only."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points, metadata, version
from pathlib import Path

import pytest

import agents
import pyramid_env
from agents import commands
from pyramid_env import jit
from pyramid_env.__main__ import main

ROOT = Path(__file__).parents[1]


def test_the_version_is_one_and_the_changelog_has_an_entry_for_it() -> None:
    [expected] = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert pyramid_env.__version__ == version("pyramid-env") == expected
    entries = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert entries[0] == expected
    assert all(re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", entry) for entry in entries)


def test_the_classifiers_name_the_pythons_that_are_tested() -> None:
    """The oldest is also what pip is told, and what linters and type checkers check against."""
    package = metadata("pyramid-env")
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(package.get_all("Classifier") or []))
    [tested] = re.findall(r"^PYTHONS = \[(.*)\]", (ROOT / "noxfile.py").read_text(), re.M)
    assert named == re.findall(r"[\d.]+", tested)
    assert package["Requires-Python"] == f">={named[0]}"


@pytest.mark.parametrize("package", [pyramid_env, agents])
def test_types_are_shipped(package: object) -> None:
    assert (Path(package.__file__).parent / "py.typed").is_file()  # type: ignore[attr-defined]


def test_each_command_is_what_it_is_called() -> None:
    installed = entry_points(group="console_scripts")
    assert {point.name: point.load() for point in installed if "pyramid" in point.name} == {
        "pyramid": main,
        "pyramid-train": commands.pyramid_train,
        "pyramid-evaluate": commands.pyramid_evaluate,
    }


@pytest.mark.parametrize("name", ["train", "evaluate"])
@pytest.mark.parametrize("program", ["pyramid-{}", "{}.py"])
def test_a_command_whose_extra_is_missing_says_so_in_one_line(
    name: str, program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, f"agents.commands.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "tyro", None)
    run = {"train": commands.pyramid_train, "evaluate": commands.pyramid_evaluate}[name]
    prog = program.format(name)
    assert run(prog) == 2
    message = f"{prog}: tyro is not installed: pip install 'pyramid-env[{name}]'\n"
    assert capsys.readouterr().err == message


def test_the_shipped_networks_need_an_extra_and_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agents.registry", raising=False)
    monkeypatch.delitem(sys.modules, "agents.learned", raising=False)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ValueError, match=r"safetensors is not .*pip install 'pyramid-env\[eval"):
        agents.load("kawu")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["pyramid-evaluate", "--first", "-1"], "pyramid-evaluate: "),
        (["pyramid-train", "distill", "--states", "0"], "pyramid-train: states=0"),
        (["pyramid", "solve", "7", "--node-limit", "0"], "pyramid solve: "),
    ],
)
def test_an_installed_command_names_itself_and_what_is_wrong(
    command: list[str], said: str, tmp_path: Path
) -> None:
    if command[0] == "pyramid-train":
        pytest.importorskip("torch")
    program = Path(sys.executable).with_name(command[0])
    if not program.exists():
        pytest.skip("the package is not installed beside this Python")
    done = subprocess.run(
        [program, *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("changed", "matters"),
    [("numpy/__init__.py", False), ("pyramid_env/engine.py", True), ("mine/rules.py", True)],
)
def test_kernels_depend_on_their_package_and_this_one_and_on_none_installed_beside(
    changed: str, matters: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for place in (tmp_path / "before", tmp_path / "after"):
        for name in ("numpy/__init__", "pyramid_env/engine", "mine/rules"):
            file = place / f"{name}.py"
            file.parent.mkdir(parents=True)
            file.write_text("CHANGED" if f"{name}.py" == changed and digests else "")
        kernels = place / "mine" / "kernels.py"
        kernels.write_text("import numpy\nfrom pyramid_env import engine\nimport mine.rules\n")
        monkeypatch.setattr(jit, "_PACKAGES", place)
        digests.append(jit.source_digest(kernels))
    assert (digests[0] != digests[1]) is matters
