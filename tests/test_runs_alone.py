"""The same seed gives the same results in every process, and nothing asks for a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_everything import run_all
from stopping import PATIENCE, ROOT

GUARD = """
import os, sys

def refuse(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        target = arguments[0]
    elif event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        target = arguments[1]
        if isinstance(target, (str, bytes)):
            return  # a socket in the file system
    else:
        return
    with open(os.environ["ASKED_FOR"], "a") as file:
        print(event, target, sys.argv, file=file)
    raise PermissionError(f"{event} {target}")

sys.addaudithook(refuse)
with open(os.environ["GUARDED"], "a") as file:
    print(os.getpid(), file=file)
"""
"""As `sitecustomize` Python imports it at the start of a program and of every worker."""


def start(folder: Path, words: list[str], hash_seed: int) -> subprocess.Popen[str]:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(GUARD)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT, ROOT / "tests"))),
        "PYTHONHASHSEED": str(hash_seed),
        "ASKED_FOR": str(folder / "asked"),
        "GUARDED": str(folder / "guarded"),
    }
    return subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_same_seed_gives_the_same_bits_in_every_process_and_no_network_is_asked_for(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "child"
    child = start(folder, [str(ROOT / "tests" / "run_everything.py"), str(folder)], hash_seed=1)
    said, errors = child.communicate(timeout=2 * PATIENCE)
    assert child.returncode == 0, errors
    assert not (folder / "asked").exists(), (folder / "asked").read_text()
    n_guarded = len((folder / "guarded").read_text().splitlines())
    assert n_guarded >= 3  # the program, and workers
    assert json.loads(said) == run_all(tmp_path)


@pytest.mark.parametrize(
    "attempt",
    [
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1/')",
        "import socket; socket.socket().connect(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('example.org', 80)",
    ],
)
def test_the_guard_refuses_and_writes_down(attempt: str, tmp_path: Path) -> None:
    folder = tmp_path / "guard"
    child = start(folder, ["-c", attempt], hash_seed=0)
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1
    assert "PermissionError" in errors
    assert (folder / "asked").read_text()
