"""Run the code blocks of a page in order: `python tests/run_page.py PAGE [--full]`.

They share one folder, the current one, and one namespace, as for a reader who follows the page:

- where the first line is a comment that begins with a file's name, the block is saved as that;
- ``python`` runs;
- ``sh``: each command is read by the program's own parser as it stands, and those in `REDUCED` then
  run, on fewer deals or states unless `--full` is given. `PARSED` tells why others do not;
- ``text`` right after one of these is what it prints, and ``...`` in it stands for anything. Where
  a command that can be reduced has run before, the words must be the same, not the numbers, which
  hang on the machine. `PICTURES` has other texts.

Any other language, command or text is an error.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import importlib
import io
import os
import re
import runpy
import subprocess
import sys
import traceback
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import tyro
from documents import ROOT, Block, blocks_of, commands_of
from packaging.requirements import Requirement

from pyramid_env.pyramid import N_SLOTS, Place, place_name

SHORTER = {
    'PyramidVecEnv(64, "kawu")': 'PyramidVecEnv(2, "kawu")',
    "model.learn(200_000": "model.learn(200",
}
"""What Python blocks run with instead, unless in full."""

REDUCED = {
    "python evaluate.py report": "",
    "python evaluate.py": "--deals 20 --jobs 1",
    "python train.py distill": "--states 512 --games 128 --width 16 --layers 1 --eval-every 256"
    " --eval-deals 8",
    "python -m pyramid_env solve": "",
    "python -m pyramid_env replay": "",
    "python -m pyramid_env sweep --rules kawu --objective win": "--deals 0:20 --format csv --jobs 1"
    " --backend threading",
}
"""How commands begin that are run, and what is added to make them short."""

PUBLISHED = "a published figure; others of the kind run"

PARSED = {
    "python -m pyramid_env play": "needs a terminal; tests/test_play_*.py",
    "python -m pyramid_env sweep": "hours, or a cluster; the first of them stands in REDUCED",
    "python evaluate.py --agents random greedy search solver": PUBLISHED,
    "python evaluate.py --rules kawu-1": PUBLISHED,
    "python evaluate.py --rules kawu --agents greedy ppo": "plays what hours of training left",
    "python evaluate.py report results/curves": "reports on that",
    "python evaluate.py report results/seeds": "one of its seeds was hours of training",
    "python train.py distill --seed 2": PUBLISHED,
    "python train.py expert-iteration": "an hour; tests/test_train.py runs it",
    "python train.py ppo": "an hour; tests/test_train.py runs it",
    "python -m tests.": "hours; a sample of each is among the tests",
    "python examples/": "tests/test_examples.py runs each",
    "python benchmarks/": "minutes; rewrites benchmarks/RESULTS.md",
    "python docs/odds.py": "needs the sweeps; tests/test_odds.py runs it",
}
"""How commands begin that are only read, and why."""


WITHOUT_ARGUMENTS = {
    "python docs/tables.py": "tests/test_docs.py checks what it makes",
}
"""Scripts that read none, and what stands for a run of them."""


class Read(Exception):  # noqa: N818 - no error
    """A program has read its command line."""


def main(argv: list[str] | None = None) -> int:
    """Run a page; 1 and a message with page and line where a block is not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args(argv)
    # The repository comes first: kernels of a module that is found elsewhere are compiled anew.
    folders = [ROOT, ROOT / "benchmarks", ROOT / "examples", Path.cwd()]
    sys.path[:0] = list(map(str, folders))
    for name in ("agents", "benchmarks", "docs", "examples", "evaluate.py", "train.py"):
        (Path.cwd() / name).symlink_to(ROOT / name)
    page = Page(arguments.full)
    for block in blocks_of(arguments.page.read_text("utf-8")):
        try:
            page.run(block)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            print(f"{arguments.page}:{block.line}: {error!r}", file=sys.stderr)
            return 1
    return 0


class Page:
    """A page under way."""

    def __init__(self, full: bool) -> None:
        self.full = full
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.by_words = False

    def run(self, block: Block) -> None:
        """Run the next block, or compare it with what the last one printed."""
        named = re.match(r"# (\w+\.(?:py|txt))\b", block.text)
        if named:
            Path(named[1]).write_text(block.text, "utf-8")
            return
        if block.language == "text":
            self.compare(block)
            return
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if block.language == "python":
                self.run_python(block)
            elif block.language == "sh":
                for words in commands_of(block.text):
                    self.run_command(words)
            else:
                raise ValueError(f"unknown language {block.language!r}")
        self.printed = printed.getvalue()

    def run_python(self, block: Block) -> None:
        code = block.text
        for long, short in SHORTER.items():
            if long in code and not self.full:
                code = code.replace(long, short)
        padded = "\n" * block.line + code  # so that a traceback names the page's line
        exec(compile(padded, "page", "exec"), self.namespace)

    def run_command(self, words: list[str]) -> None:
        """Read a command's arguments with its own parser; run it if it is one that is run."""
        words = [words[0].removeprefix(".venv/bin/"), *words[1:]]
        line = " ".join(words)
        if words[0] in CHECKS:
            CHECKS[words[0]](words[1:])
            return
        if words[:3] in (["python", "-m", "pytest"], ["python3", "-m", "venv"]):
            CHECKS[words[2]](words[3:])
            return
        if line in WITHOUT_ARGUMENTS:
            assert (ROOT / words[1]).is_file()
            return
        with reading_only(), contextlib.suppress(Read):
            if line.startswith("python examples/"):
                read_declared(ROOT / words[1], words[2:])
            elif line.startswith("python -m tests.fuzz "):
                read_declared(ROOT / "tests" / "fuzz" / "__main__.py", words[3:])
            else:
                run_program(words)
            raise ValueError(f"has not read its arguments: {line}")
        known = [start for start in (*REDUCED, *PARSED) if line.startswith(start)]
        assert known, f"neither run nor excused: {line}"
        start = max(known, key=len)
        if start in REDUCED:
            added = [] if self.full else REDUCED[start].split()
            self.by_words |= bool(REDUCED[start])
            code = run_program([*words, *added])
            assert code in (0, None), f"exit code {code}: {line}"

    def compare(self, block: Block) -> None:
        """Check that a text is what the block before has printed, or a picture that is right."""
        if not block.follows:
            first = block.text.split("\n", 1)[0].strip()
            assert first in PICTURES, f"a text of its own: {first}"
            PICTURES[first](block.text)
        elif self.by_words:
            assert words_of(block.text) == words_of(self.printed), self.printed
        else:
            wanted, printed = (f"{text.rstrip()}\n" for text in (block.text, self.printed))
            lines = [f"{line.rstrip()}\n" for line in printed.splitlines()]
            same = doctest.OutputChecker().check_output(wanted, "".join(lines), doctest.ELLIPSIS)
            assert same, f"printed was\n{printed}"


def words_of(text: str) -> list[str]:
    """The words of an output, in no order, since tables break their heads as they need."""
    return sorted(set(re.findall(r"[A-Za-z_]+", text)))


def run_program(words: list[str]) -> Any:
    """Run `python SCRIPT`, `python -m MODULE` or a console command here; its exit code."""
    sys.argv = words[1:]
    try:
        if words[:2] == ["python", "-m"]:
            sys.argv = words[2:]
            run_anew(words[2])
        elif words[0] == "python":
            runpy.run_path(words[1], run_name="__main__")
        else:
            commands = list(entry_points(group="console_scripts", name=words[0]))
            if not commands:
                raise ValueError(f"no such program: {words[0]}")
            sys.argv = words
            return commands[0].load()()
    except SystemExit as error:
        return error.code
    return 0


def run_anew(module: str) -> None:
    """``python -m``, also where the module has been imported before."""
    imported = sys.modules.pop(f"{module}.__main__", None)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        if imported is not None:
            sys.modules[f"{module}.__main__"] = imported


def read_declared(script: Path, words: list[str]) -> None:
    """Read a script's arguments without the library that it is for, which may not be there."""

    def is_needed(node: ast.stmt) -> bool:
        if isinstance(node, ast.ImportFrom):
            first, *rest = str(node.module).split(".")
            ours = first == "pyramid_env" and "integrations" not in rest
            return ours or first in ("dataclasses", "pathlib", "typing")
        return isinstance(node, ast.ClassDef) and node.name == "Arguments"

    tree = ast.parse(script.read_text("utf-8"))
    tree.body = list(filter(is_needed, tree.body))
    namespace: dict[str, Any] = {"__name__": script.stem, "tyro": tyro}
    exec(compile(tree, str(script), "exec", dont_inherit=True), namespace)
    tyro.cli(namespace["Arguments"], args=words)


@contextlib.contextmanager
def reading_only() -> Any:
    """Have every program end by `Read` as soon as its parser has accepted the arguments."""
    kept = tyro.cli, argparse.ArgumentParser.parse_args

    def cli(*args: Any, **settings: Any) -> Any:
        raise Read(kept[0](*args, **settings))

    def parse_args(*args: Any, **settings: Any) -> Any:
        raise Read(kept[1](*args, **settings))

    tyro.cli, argparse.ArgumentParser.parse_args = cli, parse_args  # type: ignore[assignment]
    try:
        yield
    finally:
        tyro.cli, argparse.ArgumentParser.parse_args = kept  # type: ignore[assignment]


# What is not a program of this project


def check_pip(words: list[str]) -> None:
    """`pip install` of extras and constraints that are there."""
    assert words.pop(0) == "install"
    declared = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    while words:
        word = words.pop(0)
        if word == "-c":
            assert (ROOT / words.pop(0)).is_file()
        elif word != "-e":
            named = Requirement(word.replace(".", "pyramid-env", 1) if word[0] == "." else word)
            if named.name == "pyramid-env":
                assert named.extras <= set(declared), word


def check_venv(words: list[str]) -> None:
    """`python3 -m venv .venv`."""
    assert words == [".venv"]


def check_pytest(words: list[str]) -> None:
    """Options that are pytest's, and files that are there."""
    for word in words:
        assert word in ("-m", "slow", "-n", "0") or (ROOT / word.split("::")[0]).exists(), word


def check_nox(words: list[str]) -> None:
    """Sessions that are there."""
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    sessions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not words or (words[0] == "-s" and set(words[1:]) <= sessions), words


def check_ray(words: list[str]) -> None:
    """What Ray's own command line takes."""
    cli = importlib.import_module("ray.scripts.scripts").cli
    cli.commands[words[0]].make_context(words[0], words[1:])


def check_mkdocs(words: list[str]) -> None:
    """What MkDocs' own command line takes."""
    cli = importlib.import_module("mkdocs.__main__").cli
    cli.commands[words[0]].make_context(words[0], words[1:])


def check_gate(*start: str) -> Any:
    """A check that CI runs the same."""

    def check(words: list[str]) -> None:
        command = " ".join([*start, *words])
        assert f".venv/bin/{command}\n" in (ROOT / ".ci" / "run").read_text(), command

    return check


def run_seq(words: list[str]) -> None:
    """Run it; the next command reads what it prints."""
    printed = subprocess.run(["seq", *words], check=True, capture_output=True)
    sys.stdin = io.TextIOWrapper(io.BytesIO(printed.stdout))


CHECKS = {
    "pip": check_pip,
    "venv": check_venv,
    "pytest": check_pytest,
    "nox": check_nox,
    "ray": check_ray,
    "seq": run_seq,
    "mkdocs": check_mkdocs,
    "ruff": check_gate("ruff"),
    "mypy": check_gate("mypy"),
}


def check_slots(text: str) -> None:
    """The 28 slots, row by row."""
    assert text.split() == [place_name(Place(slot)) for slot in range(N_SLOTS)]


PICTURES = {
    "A1": check_slots,
    "DIFFERENCE in environments: action masks: expected ..., found ...": lambda text: None,
    "0:": lambda text: None,  # the golden deals, which tests/test_deals.py reads
}
"""Texts that nothing has printed, by their first line, and how they are checked."""


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    sys.exit(main())
