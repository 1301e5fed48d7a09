"""`python -m pyramid_env COMMAND ...`; `--help` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pyramid_env.commands import sweep


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    parser = argparse.ArgumentParser(prog="pyramid_env", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    sweep.add_parser(subparsers)
    arguments = parser.parse_args(argv)
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError) as error:
        print(f"pyramid_env {arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
