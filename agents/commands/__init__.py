"""The commands `pyramid-train` and `pyramid-evaluate`, and so `train.py` and `evaluate.py`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Literal

from pyramid_env.workers import extra


def pyramid_train(prog: str = "pyramid-train") -> int:
    """Train an agent as the command line says; the exit code. `prog` is the program's name."""
    return _run("train", prog)


def pyramid_evaluate(prog: str = "pyramid-evaluate") -> int:
    """Compare agents as the command line says; the exit code. `prog` is the program's name."""
    return _run("evaluate", prog)


def _run(name: Literal["train", "evaluate"], prog: str) -> int:
    """Run the module of a command; the extra that it needs has the same name."""
    try:
        with extra(name):
            command = import_module(f"agents.commands.{name}")
    except ValueError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    code: int = command.main(prog=prog)
    return code
