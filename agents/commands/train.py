"""`pyramid-train distill --rules kawu --out runs/mine`: train an agent; see `--help`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from agents.training.distill import DistillConfig, train_distill
from agents.training.expert import ExpertIterationConfig, train_expert_iteration
from agents.training.ppo import PPOConfig, train_ppo
from pyramid_env.jit import announce_compiling
from pyramid_env.texts import one_line
from pyramid_env.workers import ended_by_sigterm

Way = (
    Annotated[DistillConfig, tyro.conf.subcommand("distill")]
    | Annotated[ExpertIterationConfig, tyro.conf.subcommand("expert-iteration")]
    | Annotated[PPOConfig, tyro.conf.subcommand("ppo")]
)

TRAIN: dict[type, Callable[[Any], Path]] = {
    DistillConfig: train_distill,
    ExpertIterationConfig: train_expert_iteration,
    PPOConfig: train_ppo,
}


def main(words: Sequence[str] | None = None, prog: str = "pyramid-train") -> int:
    """Train as the command line says; the exit code. `prog` is the program's name."""
    announce_compiling()
    config = tyro.cli(Way, prog=prog, description="Train an agent.", args=words)  # type: ignore[arg-type]
    try:
        with ended_by_sigterm():
            best = TRAIN[type(config)](config)
    except (ValueError, OSError) as error:
        print(one_line(f"{prog}: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{prog}: stopped; go on with --resume --out {config.out}", file=sys.stderr)
        return 130
    comparison = "python evaluate.py" if prog == "train.py" else "pyramid-evaluate"
    print(f"best policy: {best}; compare it with")
    print(
        f"  {comparison} --rules {config.rules} --out results/{config.out.name}"
        f" --agents random greedy {config.out.name}={best} solver"
    )
    return 0
