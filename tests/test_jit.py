"""Kernels: the cache never serves stale machine code, and bit operations agree with Python."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_env
from pyramid_env.jit import highest, kernel, lowest, popcount

PACKAGE = Path(pyramid_env.__file__).parent

INNER = """
from pyramid_env.jit import kernel

@kernel
def inner(x):
    return x + 1
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
"""
"""The same with a type of its own."""

CALLERS = {
    "direct": "from pyramid_env.inner import inner",
    "by_package": "from pyramid_env import inner as module; inner = module.inner",
    "by_import": "import pyramid_env.inner; inner = pyramid_env.inner.inner",
    "through_another": "from pyramid_env.direct import direct as inner",
    "nested": "if True:\n    from pyramid_env.inner import inner",
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
import json
from importlib import import_module
from pyramid_env.jit import cache_folder

answer = {{"folder": str(cache_folder())}}
for name in {[*CALLERS]}:
    function = getattr(import_module("pyramid_env." + name), name)
    result = function(1)
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


def run_child(install: Path, cache: Path) -> dict[str, Any]:
    """What the kernels return in a process of its own, and whether they came from the cache."""
    environment = os.environ | {
        "PYTHONPATH": str(install.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
        "TMPDIR": str(install.parent.parent),
    }
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=environment,
        cwd=install.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    answer: dict[str, Any] = json.loads(child.stdout)
    return answer


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
