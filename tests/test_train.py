"""Training: what a run writes, that it resumes, and that torch and NumPy agree."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.learned import LearnedAgent, PolicyConfig
from agents.training.imitation import imitate_hint
from agents.training.network import ResidualTrunk, policy_weights
from agents.training.ppo import PPOConfig, make_model, train_ppo
from pyramid_env import PyramidVectorEnv, Rules
from pyramid_env.observation import observation_space

ROOT = Path(__file__).parents[1]
TINY = PPOConfig(
    steps=1024,
    envs=16,
    rollout=32,
    batch=128,
    epochs=1,
    width=16,
    blocks=1,
    eval_every=512,
    eval_deals=8,
    device="cpu",
)


def test_the_numpy_policy_is_the_torch_policy() -> None:
    torch.manual_seed(0)
    trunk = ResidualTrunk(observation_space(Rules()), features_dim=32, blocks=2)
    action = torch.nn.Linear(32, 285)
    agent = LearnedAgent(PolicyConfig(Rules(), 32, 2), policy_weights(trunk, action))
    observations, _ = PyramidVectorEnv(64).reset(seed=1)
    with torch.no_grad():
        expected = action(trunk(torch.as_tensor(observations))).numpy()
    np.testing.assert_allclose(agent.logits(observations), expected, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "tiny"
    train_ppo(dataclasses.replace(TINY, out=out))
    return out


def test_a_run_writes_policies_configuration_curve_and_logs(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["config"]["width"] == 16
    assert config["versions"]["torch"].startswith(torch.__version__.split("+")[0])
    curve = (run / "evaluations.csv").read_text().splitlines()
    assert curve[0] == "steps,win_rate,mean_cards"
    assert [int(line.split(",")[0]) for line in curve[1:]] == [0, 512, 1024]
    assert list((run / "tensorboard").glob("events*"))
    assert (run / "model.zip").is_file()
    for name in ("best.safetensors", "policy.safetensors"):
        assert LearnedAgent.load(run / name, Rules()).config.rules == Rules()
    assert not list(run.rglob("*.part"))


def test_a_run_goes_on_where_it_stopped(run: Path) -> None:
    train_ppo(PPOConfig(out=run, resume=True, steps=2048))
    curve = (run / "evaluations.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in curve[1:]] == [0, 512, 1024, 1536, 2048]


def test_a_folder_is_never_overwritten_and_nothing_is_resumed_from_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty"):
        train_ppo(dataclasses.replace(TINY, out=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ValueError, match="nothing to resume"):
        train_ppo(dataclasses.replace(TINY, out=tmp_path / "none", resume=True))


def test_a_policy_learns_to_play_as_the_hint_does(tmp_path: Path) -> None:
    config = dataclasses.replace(
        TINY, out=tmp_path / "run", imitate=100_000, learning_rate=3e-3, width=64, steps=512
    )
    model = make_model(config)
    shares: list[float] = []
    imitate_hint(
        model.policy,
        Rules(),
        decisions=config.imitate,
        learning_rate=config.learning_rate,
        seed=0,
        progress=lambda done, share: shares.append(share),
    )
    assert 0.5 < shares[0] < shares[-1] - 0.02, shares


def test_a_run_can_start_from_a_policy(run: Path, tmp_path: Path) -> None:
    first = run / "policy.safetensors"
    config = dataclasses.replace(TINY, out=tmp_path / "b", start_from=first, learning_rate=0.0)
    train_ppo(config)
    before, after = (
        LearnedAgent.load(p, Rules()) for p in (first, config.out / "best.safetensors")
    )
    observations, _ = PyramidVectorEnv(4).reset(seed=0)
    assert (before.logits(observations) == after.logits(observations)).all()
    with pytest.raises(ValueError, match="another size"):
        train_ppo(dataclasses.replace(config, out=tmp_path / "c", width=32))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rules": "chess"}, "unknown rules 'chess'"),
        ({"batch": 0}, "batch=0 is not allowed: 1 or more"),
        ({"start_from": Path("nowhere.safetensors")}, r"nowhere\.safetensors"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_written(
    wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        train_ppo(dataclasses.replace(TINY, out=tmp_path / "run", **wrong))
    assert not (tmp_path / "run").exists()


def test_ctrl_c_leaves_a_run_that_can_go_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, str(ROOT / "train.py"), "--out", str(out)]
    tiny = ["--envs", "16", "--batch", "64", "--width", "16", "--eval-deals", "4"]
    with subprocess.Popen(
        [*command, *tiny],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored here
    ) as training:
        while training.poll() is None and not (out / "checkpoint.pt").exists():
            time.sleep(0.1)
        time.sleep(1)
        training.send_signal(signal.SIGINT)
        assert training.wait(60) == 130
        assert training.stderr is not None
        assert "stopped; go on with --resume" in training.stderr.read()
    assert not list(out.rglob("*.part"))
    steps = int((out / "evaluations.csv").read_text().splitlines()[-1].split(",")[0])
    assert 0 < steps < PPOConfig.steps
    train_ppo(PPOConfig(out=out, resume=True, steps=steps + 1))


def test_the_same_seed_trains_the_same_policy(tmp_path: Path) -> None:
    for name in ("a", "b"):
        train_ppo(dataclasses.replace(TINY, out=tmp_path / name, seed=3, steps=512))
    first, second = (LearnedAgent.load(tmp_path / n / "policy.safetensors", Rules()) for n in "ab")
    observations, _ = PyramidVectorEnv(4).reset(seed=0)
    assert (first.logits(observations) == second.logits(observations)).all()
