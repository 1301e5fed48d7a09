"""Runs a little of all that the package does, and prints a checksum of each result as JSON.

`python run_everything.py FOLDER` writes into that folder.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np

from agents.commands import evaluate
from agents.training.distill import DistillConfig, train_distill
from agents.training.ppo import PPOConfig, train_ppo
from pyramid_env import PyramidVectorEnv, sample_actions
from pyramid_env.__main__ import main
from pyramid_env.replay import write_replay


def environments() -> Iterator[bytes]:
    envs = PyramidVectorEnv(64, "reserve", num_threads=2)
    generator = np.random.default_rng(1)
    observations, infos = envs.reset(seed=1)
    for _ in range(100):
        actions = sample_actions(infos["action_mask"], generator)
        observations, rewards, _, _, infos = envs.step(actions)
        yield observations.tobytes() + rewards.tobytes() + infos["deal_number"].tobytes()
    env = gymnasium.make("pyramid_env/Pyramid-v0")
    _, info = env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(30):
        observation, _, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
        yield observation.tobytes()


def sweep(out: Path) -> Iterator[bytes]:
    assert main(["sweep", "--deals=0:200", "--chunk=50", "--jobs=2", f"--out={out}"]) == 0
    yield from (path.read_bytes() for path in sorted(out.glob("chunk-*")))


def evaluation(out: Path) -> Iterator[bytes]:
    words = "--agents random greedy search learned --deals 8 --chunk 4 --jobs 2 --replays 1"
    assert evaluate.main([*words.split(), f"--out={out}"]) == 0
    for path in sorted(out.rglob("*.csv")):
        for row in csv.DictReader(path.read_text().splitlines()):
            yield repr({**row, "seconds": ""}).encode()
    yield from (path.read_bytes() for path in sorted(out.rglob("*.html")))


def training(out: Path) -> Iterator[bytes]:
    tiny = {"width": 16, "layers": 1, "eval_deals": 8, "eval_every": 256, "device": "cpu"}
    train_distill(DistillConfig(out / "distill", states=512, games=64, **tiny))  # type: ignore[arg-type]
    train_ppo(PPOConfig(out / "ppo", steps=512, envs=16, rollout=8, batch=64, **tiny))  # type: ignore[arg-type]
    for name in ("policy.safetensors", "best.safetensors", "evaluations.csv"):
        yield (out / "distill" / name).read_bytes()
        yield (out / "ppo" / name).read_bytes()


def replay(out: Path) -> Iterator[bytes]:
    write_replay(out, "kawu", 20, ["G1+G7", "draw"], agent="me")
    yield out.read_bytes()


def run_all(folder: Path) -> dict[str, str]:
    results = {
        "environments": environments(),
        "sweep": sweep(folder / "sweep"),
        "evaluation": evaluation(folder / "evaluation"),
        "training": training(folder / "training"),
        "replay": replay(folder / "game.html"),
    }
    return {
        name: hashlib.sha256(b"".join(contents)).hexdigest() for name, contents in results.items()
    }


if __name__ == "__main__":
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        checksums = run_all(Path(sys.argv[1]))
    print(json.dumps(checksums))
