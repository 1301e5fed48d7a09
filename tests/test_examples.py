"""The examples: each runs as a program, for a short while."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def cards(output: str) -> float:
    """What an example says of how many cards its agent removes."""
    [mean] = re.findall(r"^removes (\d+\.\d+) pyramid cards a game", output, re.MULTILINE)
    return float(mean)


@pytest.mark.parametrize(
    ("example", "library", "arguments"),
    [
        ("sb3_maskable_ppo.py", "sb3_contrib", "--steps 2048 --envs 16 --eval-every 1024"),
        ("cleanrl_ppo.py", "torch", "--steps 1024 --envs 16 --eval-games 4"),
        ("open_spiel_mcts.py", "pyspiel", "--games 1 --simulations 2"),
        ("rllib_ppo.py", "ray.rllib", "--steps 300 --steps-per-update 300 --eval-games 4"),
        ("tianshou_dqn.py", "tianshou", "--steps 320 --steps-per-epoch 160 --eval-games 4"),
        ("torchrl_ppo.py", "torchrl", "--steps 1024 --envs 16 --eval-games 4"),
    ],
)
def test_an_example_runs_and_says_how_well_it_plays(
    example: str, library: str, arguments: str
) -> None:
    pytest.importorskip(library, exc_type=ImportError)
    done = run(example, *arguments.split())
    assert done.returncode == 0, done.stderr
    assert 0 < cards(done.stdout) <= 28


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--games 0", "--games 0 is not allowed: a whole number from 1"),
        ("--seed -1", "--seed -1 is not allowed: a whole number from 0"),
        ("--rules none", "unknown rules 'none': use Rules"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments: str, complaint: str) -> None:
    done = run("open_spiel_mcts.py", *arguments.split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"open_spiel_mcts.py: {complaint}")
    assert done.stderr.count("\n") == 1
