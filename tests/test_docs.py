"""The documents: generated tables are up to date, commands are real, code blocks run."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_generated_tables_are_what_the_code_says(path: Path) -> None:
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))
    text = path.read_text(encoding="utf-8")
    assert tables["updated"](text) == text, "run: python docs/tables.py"


def test_every_table_is_shown_somewhere() -> None:
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))["TABLES"]
    shown = re.findall(r"<!-- table: ([a-z-]+) -->", "".join(p.read_text() for p in DOCUMENTS))
    assert sorted(shown) == sorted(tables)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_readme_commands_name_what_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for script in re.findall(r"python (\w+\.py)", readme):
        assert (ROOT / script).is_file()
    extras = set(re.findall(r"'\.\[(\w+)\]'", readme))
    declared = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extras
    assert extras <= set(declared)


def test_ci_runs_exactly_the_readme_test_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"<!-- test command -->\n```sh\n(.*?)```", readme, re.DOTALL)
    script = (ROOT / ".ci" / "run").read_text()
    extract = next(line for line in script.splitlines() if line.startswith("test_command="))
    shown = subprocess.run(
        ["bash", "-c", f'{extract}\necho "$test_command"'],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == command
    assert "-m pytest" in command
