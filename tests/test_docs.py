"""The documents: generated parts are up to date, links lead somewhere, every code block runs."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import run_page
from documents import PAGES, ROOT, blocks_of

import pyramid_env

WITH_CODE = [page for page in PAGES if blocks_of(page.read_text("utf-8"))]
NEEDED = ("matplotlib", "mkdocs", "pyspiel", "ray", "sb3_contrib", "torchrl", "tyro")
MISSING = [library for library in NEEDED if find_spec(library) is None]

needs_all = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
"""The pages use what the extra `test` installs."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# Code blocks


def run(page: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, run_page.__file__, str(page), *arguments],
        cwd=folder,
        env={**os.environ, "SDL_VIDEODRIVER": "dummy", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_all
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    done = run(page, tmp_path)
    assert done.returncode == 0, done.stderr


@needs_all
@pytest.mark.slow
def test_the_tutorial_runs_as_it_stands(tmp_path: Path) -> None:
    done = run(ROOT / "docs" / "tutorial.md", tmp_path, "--full")
    assert done.returncode == 0, done.stderr


@needs_all
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n1 / 0\n```\n", "page.md:1: ZeroDivisionError"),
        ("```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```text\n2\n```\n", "page.md:9: "),
        ("```text\nnobody printed this\n```\n", "a text of its own: nobody printed this"),
        ("```rust\nfn main() {}\n```\n", "unknown language 'rust'"),
        ("```\n?\n```\n", "unknown language ''"),
        ("```sh\npython evaluate.py --deal 3\n```\n", "has not read its arguments"),
        ("```sh\npython -m pyramid_env solve --rules x\n```\n", "has not read its arguments"),
        ("```sh\npython -m pyramid_env solve 1 && python none.py\n```\n", "none.py"),
        ("```sh\npip install -e '.[nothing]'\n```\n", "nothing"),
        ("```sh\nmkdocs build --strictly\n```\n", "strictly"),
        ("```sh\nsudo make me\n```\n", "no such program: sudo"),
        ("1. Item\n\n    ```python\n    1 / 0\n    ```\n", "page.md:3: ZeroDivisionError"),
    ],
)
def test_a_page_that_is_wrong_is_refused(
    text: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)
    (tmp_path / "page.md").write_text(text)
    assert run_page.main(["page.md"]) == 1
    assert complaint in capfd.readouterr().err


def test_nothing_is_excused_that_no_page_has() -> None:
    everything = "\n".join(page.read_text("utf-8") for page in PAGES)
    tables = (run_page.SHORTER, run_page.REDUCED, run_page.PARSED, run_page.WITHOUT_ARGUMENTS)
    for excused in (start for table in (*tables, run_page.PICTURES) for start in table):
        assert excused.removeprefix("python ") in everything, excused


# The pages themselves


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_generated_tables_are_what_the_code_says(path: Path) -> None:
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))
    text = path.read_text(encoding="utf-8")
    assert tables["updated"](text) == text, "run: python docs/tables.py"


def test_every_table_is_shown_somewhere() -> None:
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))["TABLES"]
    shown = re.findall(r"<!-- table: ([a-z-]+) -->", "".join(p.read_text() for p in PAGES))
    assert sorted(shown) == sorted(tables)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


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


def test_the_citation_names_this_version_and_who_holds_the_licence() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    [declared] = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert str(citation["version"]) == declared == pyramid_env.__version__
    [author] = citation["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text("utf-8")
    assert {"cff-version", "message", "title", "type", "license"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
