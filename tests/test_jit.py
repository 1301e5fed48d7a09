"""Kernels: the cache never serves stale machine code, and bit operations agree with Python."""

import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_env
from pyramid_env import jit
from pyramid_env.jit import highest, kernel, lowest, popcount

PACKAGE = Path(pyramid_env.__file__).parent

INNER = """
from pyramid_env.jit import inline_kernel, kernel

@inline_kernel
def inlined(x):
    return x + 1

@kernel
def inner(x):
    return inlined(x)
"""

WITH_A_TYPE = """
from typing import NamedTuple
from pyramid_env.jit import kernel

class Pair(NamedTuple):
    x: int
    one: int

@kernel
def added(pair):
    return pair.x + pair.one

@kernel
def inner(x):
    return added(Pair(x, 1))

inlined = inner
"""
"""The same with a type of its own."""

CALLERS = {
    "direct": "from pyramid_env.inner import inner",
    "by_package": "from pyramid_env import inner as module; inner = module.inner",
    "by_import": "import pyramid_env.inner; inner = pyramid_env.inner.inner",
    "through_another": "from pyramid_env.direct import direct as inner",
    "nested": "if True:\n    from pyramid_env.inner import inner",
    "in_lines": "from pyramid_env import (  # )\n    inner as module,\n)\ninner = module.inner",
    "inlining": "from pyramid_env.inner import inlined as inner",
}
"""Ways in which a file of kernels can come by the kernel of another."""

CALLER = """
from pyramid_env.jit import kernel
{way}

@kernel
def {name}(x):
    return inner(x) * 2
"""

CHILD = f"""
import json, sys
from importlib import import_module
from pyramid_env.jit import cache_folder

answer = {{"folder": str(cache_folder())}}
for name in {[*CALLERS]}:
    function = getattr(import_module("pyramid_env." + name), name)
    result = function(json.loads(sys.argv[1]))
    answer[name] = [result, "loaded" if function.stats.cache_hits else "compiled"]
print(json.dumps(answer))
"""


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A copy of the package with a kernel, and others that call it."""
    package = tmp_path / "install" / "pyramid_env"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "inner.py").write_text(INNER)
    for name, way in CALLERS.items():
        (package / f"{name}.py").write_text(CALLER.format(name=name, way=way))
    return package


def start_child(
    install: Path, cache: Path, program: str = CHILD, value: float = 1, **settings: Any
) -> subprocess.Popen[str]:
    """A process with this install and cache folder."""
    environment = os.environ | {
        "PYTHONPATH": str(install.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
        "TMPDIR": str(install.parent.parent),
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
    return subprocess.Popen(
        [sys.executable, "-c", program, str(value)],
        env=environment,
        cwd=install.parent,
        text=True,
        **pipes,
    )


def answer_of(child: subprocess.Popen[str]) -> dict[str, Any]:
    """What the kernels return in a child, and whether they came from the cache."""
    out, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    answer: dict[str, Any] = json.loads(out)
    return answer


def run_child(install: Path, cache: Path, value: float = 1) -> dict[str, Any]:
    return answer_of(start_child(install, cache, value=value))


def all_callers(result: int, origin: str) -> dict[str, Any]:
    return {name: [result * 2 if "through" in name else result, origin] for name in CALLERS}


def rewrite(path: Path, old: str, new: str) -> None:
    """Change a file such that neither its size nor its time tells."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    changed = path.read_text().replace(old, new)
    assert len(old) == len(new)
    assert changed != path.read_text()
    path.write_text(changed)
    os.utime(path, ns=times)


def test_cached_code_is_used_until_a_file_behind_it_changes(install: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    where = {"folder": str(cache)}
    assert run_child(install, cache) == all_callers(4, "compiled") | where
    (install / "unrelated.py").write_text("")
    assert run_child(install, cache) == all_callers(4, "loaded") | where

    rewrite(install / "inner.py", "x + 1", "x + 2")
    assert run_child(install, cache) == all_callers(6, "compiled") | where

    rewrite(install / "direct.py", "* 2", "* 3")
    answer = run_child(install, cache)
    assert answer["direct"] == [9, "compiled"]
    assert answer["through_another"] == [18, "compiled"]
    assert answer["by_import"] == [6, "loaded"]

    rewrite(install / "jit.py", "numba.njit(nogil=True", "numba.njit(nogil=1   ")
    assert {origin for _, origin in list(run_child(install, cache).values())[1:]} == {"compiled"}


DIGESTS = """
import json
from pathlib import Path
from pyramid_env.jit import source_digest

files = sorted(Path("pyramid_env").resolve().rglob("*.py"))
print(json.dumps({str(file.relative_to(Path.cwd())): source_digest(file) for file in files}))
"""

BEHIND = {
    "pyramid.py": {"engine.py", "observation.py", "hint.py", "solver/moves.py"},
    "jit.py": {"engine.py", "episode.py", "observation.py", "hint.py", "solver/tally.py"},
    "engine.py": {"episode.py", "observation.py", "hint.py", "solver/search.py"},
    "solver/tally.py": {"solver/relaxation.py", "solver/search.py"},
    "files.py": set(),
}
"""Files, and some that inline what stands in them."""


def test_a_change_reaches_the_kernels_of_every_file_that_imports_it(
    install: Path, tmp_path: Path
) -> None:
    def digests() -> dict[str, str]:
        return answer_of(start_child(install, tmp_path / "cache", DIGESTS))

    before = digests()
    for name, dependent in BEHIND.items():
        path = install / name
        source = path.read_text()
        path.write_text(source + "\n")
        changed = {file for file, digest in digests().items() if digest != before[file]}
        assert changed >= {f"pyramid_env/{file}" for file in {name, *dependent}}
        if not dependent:
            assert "pyramid_env/engine.py" not in changed
        path.write_text(source)


def test_processes_that_start_at_once_do_not_disturb_each_other(
    install: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    children = [start_child(install, cache, value=value) for value in (1, 1.5, 1, 1.5)]
    results = [answer_of(child)["through_another"][0] for child in children]
    assert results == [8, 10, 8, 10]
    assert {path.suffix for path in cache.iterdir()} == {".code"}
    for value, result in ((1, 4), (1.5, 5)):
        again = run_child(install, cache, value)
        assert again == all_callers(result, "loaded") | {"folder": str(cache)}


def test_a_damaged_file_is_compiled_anew(install: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run_child(install, cache)
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert run_child(install, cache) == all_callers(4, "compiled") | {"folder": str(cache)}


def test_files_that_nobody_has_used_for_a_month_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path)
    old, young = (tmp_path / f"{__name__}.added.{name}.code" for name in ("old", "young"))
    others = tmp_path / f"{__name__}.other.old.code"
    for path, days in ((old, 31), (young, 29), (others, 31)):
        path.touch()
        os.utime(path, 2 * (time.time() - days * 24 * 3600,))

    def added(x: Any) -> Any:
        return x + 1

    assert kernel(added)(1) == 2
    assert not old.exists()
    assert young.exists()
    assert others.exists()
    [saved] = set(tmp_path.iterdir()) - {young, others}

    os.utime(saved, 2 * (time.time() - 31 * 24 * 3600,))
    again = kernel(added)
    assert again(1) == 2
    assert again.stats.cache_hits  # type: ignore[attr-defined]
    assert saved.stat().st_mtime > time.time() - 24 * 3600


WITH_A_NOTICE = """
from pyramid_env.direct import direct
from pyramid_env.jit import announce_compiling

announce_compiling()
direct(1), direct(1.5)
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals to be had")
def test_a_script_says_once_on_a_terminal_that_it_compiles(install: Path, tmp_path: Path) -> None:
    def said(program: str) -> str:
        terminal, end = os.openpty()
        child = start_child(install, tmp_path / "cache", program, stderr=end)
        os.close(end)
        child.communicate(timeout=300)
        assert child.returncode == 0
        try:
            return os.read(terminal, 1000).decode()
        except OSError:  # nothing was written, and nobody is left to write
            return ""
        finally:
            os.close(terminal)

    assert said(WITH_A_NOTICE.replace("announce_compiling()", "")) == ""
    shutil.rmtree(tmp_path / "cache")
    assert said(WITH_A_NOTICE).count("compiling the game's kernels") == 1
    assert said(WITH_A_NOTICE) == ""


def test_every_program_has_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    names = ["pyramid_env.__main__", "agents.commands.evaluate", "agents.commands.train"]
    for name in names:
        program = import_module(name)
        monkeypatch.setattr(program, "announce_compiling", partial(said.append, name))
        monkeypatch.setattr(sys, "argv", [name, "--no-such-argument"])
        with pytest.raises(SystemExit):
            program.main()
    assert said == names


@kernel
def last_of(array: Any, n: Any) -> Any:
    return array[np.uint64(n - 1)]


@kernel
def calls_in_many_ways(records: Any, array: Any, small: Any) -> Any:
    return (
        last_of(records[0]["short"], 2)
        + last_of(records[0]["long"], small[0])
        + last_of(array, array.size)
        + last_of(array, np.int32(1))
    )


def test_a_kernel_is_compiled_once_for_all_that_kernels_hand_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyramid_env.jit.cache_folder", lambda: tmp_path)
    kind = [("short", np.uint64, 2), ("long", np.uint64, 3)]
    records, array = np.array([((1, 2), (10, 20, 30))], kind), np.array([100, 200], np.uint64)
    assert calls_in_many_ways(records, array, np.array([3], np.int16)) == 2 + 30 + 200 + 100
    assert len(last_of.signatures) == 1  # type: ignore[attr-defined]


def test_a_cache_from_sources_with_other_types_is_left_alone(install: Path, tmp_path: Path) -> None:
    (install / "inner.py").write_text(WITH_A_TYPE)
    assert run_child(install, tmp_path / "cache")["direct"] == [4, "compiled"]
    rewrite(install / "inner.py", "Pair", "Both")
    assert run_child(install, tmp_path / "cache")["direct"] == [4, "compiled"]


def test_a_read_only_install_works_and_nothing_is_written_into_it(
    install: Path, tmp_path: Path
) -> None:
    before = sorted(install.rglob("*"))
    for path in [*before, install]:
        path.chmod(0o555)
    try:
        run_child(install, tmp_path / "cache")
        again = run_child(install, tmp_path / "cache")
    finally:
        for path in [*before, install]:
            path.chmod(0o755)
    assert again == all_callers(4, "loaded") | {"folder": str(tmp_path / "cache")}
    assert sorted(install.rglob("*")) == before


def test_where_the_cache_folder_cannot_be_written_the_temporary_folder_serves(
    install: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("a file, so no folder")
    answer = run_child(install, tmp_path / "file")
    folder = Path(answer.pop("folder"))
    assert folder.parent == tmp_path
    assert any(folder.rglob("*direct*"))
    assert answer == all_callers(4, "compiled")


@kernel
def compiled(bits: Any, results: Any) -> None:
    results[0] = popcount(bits)
    results[1] = lowest(bits)
    if bits:
        results[2] = highest(bits)


@pytest.mark.parametrize(
    "bits",
    [
        0,
        *(1 << i for i in range(64)),
        *((1 << i) - 1 for i in range(2, 65)),
        *(3 << i | 1 << 40 for i in range(62)),
        0xDEADBEEFCAFEF00D,
        2**64 - 2**52,
    ],
)
def test_bit_operations_agree_in_python_and_compiled(bits: int) -> None:
    results = np.full(3, 99, np.uint64)
    compiled(np.uint64(bits), results)
    text = f"{bits:064b}"[::-1]
    expected = [text.count("1"), text.find("1") if bits else 64, text.rfind("1") if bits else 99]
    assert results.tolist() == expected
    word = np.uint64(bits)
    in_python = [popcount(word), lowest(word), highest(word) if bits else np.uint64(99)]
    assert in_python == expected
    assert {type(value) for value in in_python} == {np.uint64}


def test_without_compiling_the_game_is_the_same() -> None:
    program = (
        "from pyramid_env.game import Game\n"
        "game = Game(3, 'tuts-tomb')\n"
        "while not game.is_over:\n"
        "    game.play(list(game.legal_moves)[0])\n"
        "print(game.deal, game.position)\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore::RuntimeWarning", "-c", program],  # wraps are meant
            env=os.environ | {"PYTHONPATH": str(PACKAGE.parent), "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert outputs[0] == outputs[1]
