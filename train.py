"""Train an agent: `python train.py --rules kawu --out runs/mine`; `--help` lists all arguments."""

from __future__ import annotations

import sys

import tyro

from agents.training.ppo import PPOConfig, train_ppo
from pyramid_env.jit import announce_compiling


def main() -> int:
    """Train as the command line says; the exit code."""
    announce_compiling()
    config = tyro.cli(PPOConfig)
    try:
        best = train_ppo(config)
    except (ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"train.py: stopped; go on with --resume --out {config.out}", file=sys.stderr)
        return 130
    print(f"best policy: {best}; compare it with")
    print(f"  python evaluate.py --rules {config.rules} --agents random greedy ppo={best} solver")
    return 0


if __name__ == "__main__":
    sys.exit(main())
