"""Tests of what cannot be installed beside the pinned set, each in an environment of its own.

``nox`` runs all of them, ``nox -s rllib`` one.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
"""What the package's classifiers name; a session is skipped where its interpreter is missing."""

TORCH = "torch==2.13.0"
"""The version that the pinned set has."""


def run_tests(session: nox.Session, *arguments: str) -> None:
    """Run some tests with one process and none of the options of the main run."""
    session.install("hypothesis", "pytest")
    session.run(
        "python", "-m", "pytest", "--override-ini=addopts=", "-rs", *arguments, *session.posargs
    )


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests with each Python, but those of torch, whose wheels for some are gigabytes."""
    extras = "evaluate,human,open_spiel,play,sweep"
    session.install("-c", "constraints.txt", "-e", f".[{extras}]")
    session.install("-c", "constraints.txt", "hypothesis", "moviepy", "pytest", "pytest-xdist")
    session.run("python", "-m", "pytest", "-rs", *session.posargs)


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """What the wheel installs in an empty environment; the arguments are other extras to try."""
    session.install("-c", "constraints.txt", "build", "mypy")
    extras = session.posargs or ["evaluate", "play"]
    python = str(Path(session.bin) / "python")
    session.run(".ci/wheel", python, python, *extras, external=True)


@nox.session
def rllib(session: nox.Session) -> None:
    """RLlib pins another Gymnasium: its module, its runner, the example on a local Ray."""
    session.install("-e", ".[rllib]", TORCH)
    run_tests(session, "tests/test_rllib.py", "tests/test_masks.py")
    run_tests(session, "tests/test_examples.py", "-k", "rllib")


@nox.session
def tianshou(session: nox.Session) -> None:
    """Tianshou pins other packages: what it collects, the example."""
    session.install("-e", ".[tianshou]", TORCH)
    run_tests(session, "tests/test_tianshou.py")
    run_tests(session, "tests/test_examples.py", "-k", "tianshou")


@nox.session
def oldest_gymnasium(session: nox.Session) -> None:
    """The environments and the wrappers with the oldest Gymnasium that is allowed."""
    session.install("-e", ".[human]", "gymnasium==1.1.0", "moviepy")
    run_tests(session, "tests/test_masks.py", "tests/test_wrappers.py", "tests/test_autoreset.py")


@nox.session
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of the pinned set; asks the network for them."""
    session.install("pip-audit")
    session.run("pip-audit", "-r", "constraints.txt", "--no-deps", "--disable-pip")
