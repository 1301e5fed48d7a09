"""How each example reads its arguments and ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import tyro

from pyramid_env.jit import announce_compiling

Arguments = TypeVar("Arguments")

FROM_0 = ("seed", "first", "num_env_runners")
"""Arguments that may be 0."""


def run(example: Callable[[Arguments], None], kind: type[Arguments]) -> int:
    """Run an example with the command line read as a dataclass; its exit code.

    0 is success, 2 wrong input (whole numbers are 1 or more, some 0 or more), 130 Ctrl-C.
    """
    name = Path(sys.argv[0]).name
    arguments = tyro.cli(kind, description=sys.modules[example.__module__].__doc__)
    announce_compiling()
    try:
        for field, value in vars(arguments).items():
            least = 0 if field in FROM_0 else 1
            if type(value) is int and value < least:
                option = field.replace("_", "-")
                raise ValueError(f"--{option} {value} is not allowed: a whole number from {least}")
        example(arguments)
    except (ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return 130
    return 0
