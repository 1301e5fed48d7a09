"""The program `pyramid COMMAND ...`, or `python -m pyramid_env`; `--help` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from pyramid_env.commands import play, replay, solve, sweep
from pyramid_env.jit import announce_compiling
from pyramid_env.texts import one_line


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, one_line(f"{self.prog}: {message}") + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of a command line (default: the program's own); its exit code.

    0 is success, 2 wrong input, 130 Ctrl-C.
    """
    announce_compiling()
    program = "pyramid" if Path(sys.argv[0]).stem == "pyramid" else "pyramid_env"
    parser = _Parser(prog=program, description="Pyramid Solitaire with an exact solver.")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (solve, sweep, play, replay):
        command.add_parser(subparsers)
    arguments = parser.parse_args(argv)
    name = f"{program} {arguments.command}"
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who read the output has enough. Python would flush again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError) as error:
        print(one_line(f"{name}: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # ends the line of the progress and the ^C
        print(f"{name}: stopped", file=sys.stderr)
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
