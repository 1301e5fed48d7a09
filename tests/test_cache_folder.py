"""Where compiled kernels are kept: not where others can write, and whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from stopping import PATIENCE, ROOT

from pyramid_env import jit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="each user has a temporary folder")

KERNEL = """
from pyramid_env.jit import kernel

@kernel
def twice(x):
    return x * 2
"""
ASK = "import mine; print(mine.twice(4), mine.twice.stats.cache_hits)"


def ask(folder: Path, cache: Path, **settings: Any) -> list[str]:
    """What a kernel returns in a process of its own, and its signatures found in the cache."""
    (folder / "mine.py").write_text(KERNEL)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT))),
        "NUMBA_CACHE_DIR": str(cache),
        "TMPDIR": str(folder),
    }
    child = subprocess.run(
        [sys.executable, "-c", ASK],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **settings,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.split(" ", 1)


def test_what_others_could_have_put_into_the_temporary_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    find = jit.cache_folder.__wrapped__
    folder = find()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o720, 0o702):
        folder.chmod(mode)
        assert find() == Path(os.devnull)
    folder.chmod(0o700)
    assert find() == folder
    user = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: user)
    assert find() == Path(os.devnull)  # made in time, but by another user


def test_without_a_folder_kernels_are_compiled_each_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, so no folder")
    (tmp_path / f"pyramid-env-{os.getuid()}").symlink_to(tmp_path)
    before = sorted(tmp_path.iterdir())
    for _ in range(2):
        answer, hits = ask(tmp_path, tmp_path / "cache")
        assert (answer, hits.strip()) == ("8", "Counter()")
    new = {path.name for path in tmp_path.iterdir()} - {path.name for path in before}
    assert new <= {"mine.py", "__pycache__"}


def test_code_that_could_not_be_written_whole_leaves_no_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))
    cache = tmp_path / "cache"
    assert ask(tmp_path, cache, preexec_fn=limit)[0] == "8"
    assert not list(cache.iterdir())
    assert ask(tmp_path, cache)[0] == "8"
    [file] = cache.iterdir()
    assert file.suffix == ".code"
