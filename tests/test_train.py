"""Training: what a run writes, that it resumes, and that torch and NumPy agree."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import torch

from agents.baselines import RandomAgent
from agents.commands.train import TRAIN
from agents.learned import LearnedAgent
from agents.network import PolicyConfig
from agents.training.distill import (
    DistillConfig,
    _Distillation,
    _keep_the_win,
    train_distill,
)
from agents.training.expert import (
    ExpertIterationConfig,
    _ExpertIteration,
)
from agents.training.labelling import ILLEGAL
from agents.training.network import PolicyNet
from agents.training.ppo import PPOConfig, make_model, net_of
from agents.training.run import RunConfig, load_checkpoint
from pyramid_env import PRESETS, PyramidVectorEnv, Rules
from pyramid_env.integrations.sb3 import PyramidVecEnv
from pyramid_env.solver.judge import LOST, UNDECIDED, WON

TINY = PPOConfig(
    steps=1024,
    envs=16,
    rollout=32,
    batch=128,
    epochs=1,
    width=16,
    layers=1,
    precision="float32",
    eval_every=512,
    eval_deals=8,
    device="cpu",
)
TINY_DISTILL = DistillConfig(
    states=1024, games=64, width=16, layers=1, eval_every=512, eval_deals=8, device="cpu"
)


TINY_EXPERT = ExpertIterationConfig(
    states=1024,
    games=32,
    rollout=4,
    batch=64,
    width=16,
    layers=1,
    value_states=256,
    eval_every=512,
    eval_deals=8,
    device="cpu",
)
WAYS = {"ppo": TINY, "distill": TINY_DISTILL, "expert": TINY_EXPERT}


def train(config: RunConfig) -> Path:
    return TRAIN[type(config)](config)


def longer(config: RunConfig, length: int) -> RunConfig:
    field = "steps" if isinstance(config, PPOConfig) else "states"
    return replace(config, **{field: length})


all_ways = pytest.mark.parametrize("tiny", WAYS.values(), ids=WAYS)


@pytest.mark.parametrize("preset", ["kawu", "reserve"])
def test_the_numpy_policy_is_the_torch_policy(preset: str) -> None:
    torch.manual_seed(0)
    rules = PRESETS[preset]
    net = PolicyNet(PolicyConfig(rules, width=32, layers=2))
    agent = LearnedAgent(net.config, net.export())
    observations = mixed_observations(rules)
    with torch.no_grad():
        logits, wins = net(torch.as_tensor(observations))
    assert logits.std() > 0.01
    np.testing.assert_allclose(agent.logits(observations), logits.numpy(), rtol=1e-4, atol=1e-5)
    chances = torch.sigmoid(wins).numpy()
    np.testing.assert_allclose(agent.win_chances(observations), chances, rtol=1e-4, atol=1e-5)


def test_ppo_trains_the_network_that_is_saved() -> None:
    model = make_model(TINY)
    observations = mixed_observations(Rules())
    with torch.no_grad():
        spread = model.policy.get_distribution(torch.as_tensor(observations)).distribution
    agent = LearnedAgent(net_of(model).config, net_of(model).export())
    logits = agent.logits(observations)
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(spread.logits.numpy(), expected, rtol=1e-4, atol=1e-4)


def mixed_observations(rules: Rules) -> np.ndarray:
    """Observations from the whole course of games."""
    env = PyramidVectorEnv(16, rules)
    observations, infos = env.reset(seed=1)
    player, seen = RandomAgent(1), []
    for _ in range(60):
        seen.append(observations)
        actions = player.act_batch(observations, infos["action_mask"])
        observations, _, _, _, infos = env.step(actions)
    return np.concatenate(seen)


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "tiny"
    train(replace(request.param, out=out))
    return out


def steps_of(run: Path) -> list[int]:
    curve = (run / "evaluations.csv").read_text().splitlines()
    assert curve[0] == "steps,win_rate,mean_cards"
    return [int(line.split(",")[0]) for line in curve[1:]]


def test_a_run_writes_policies_configuration_and_curve(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["config"]["width"] == 16
    assert config["versions"]["torch"].startswith(torch.__version__.split("+")[0])
    is_ppo = config["kind"] == "PPOConfig"
    assert steps_of(run) == ([0, 512, 1024] if is_ppo else [512, 1024])
    assert bool(list(run.glob("tensorboard/events*"))) == is_ppo
    assert (run / "model.zip").is_file() == is_ppo
    for name in ("best.safetensors", "policy.safetensors"):
        assert LearnedAgent.load(run / name, Rules()).config.rules == Rules()
    assert not list(run.rglob("*.part"))


def test_a_run_goes_on_where_it_stopped(run: Path) -> None:
    kind = json.loads((run / "config.json").read_text())["kind"]
    config = next(config for config in WAYS.values() if type(config).__name__ == kind)
    train(longer(replace(config, out=run, resume=True), 2048))
    assert steps_of(run)[-2:] == [1536, 2048]
    with pytest.raises(ValueError, match=r"2048 st.* already: ask for more"):
        train(longer(replace(config, out=run, resume=True), 2048))
    other = TINY_DISTILL if config is TINY else TINY
    with pytest.raises(ValueError, match=f"holds a run of {kind}"):
        train(replace(other, out=run, resume=True))


@pytest.mark.parametrize(
    ("tiny", "stops"),
    [
        (replace(TINY, rollout=8, batch=32), [3, 33, 5]),
        (TINY_DISTILL, [3, 8]),
        (TINY_EXPERT, [1, 3]),
    ],
    ids=WAYS,
)
def test_a_run_stopped_and_resumed_ends_as_one_that_was_not(
    tiny: RunConfig, stops: list[int], tmp_path: Path
) -> None:
    """Stopped before its first evaluation, too; 200 is no multiple of what a step counts."""
    whole = replace(tiny, out=tmp_path / "whole", eval_every=200)
    train(whole)
    parts = replace(whole, out=tmp_path / "parts")
    for n_steps in stops:
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in (
                (_Distillation, "_step"),
                (_ExpertIteration, "_step"),
                (PyramidVecEnv, "step_wait"),
            ):
                patch.setattr(owner, name, stopping_after(n_steps, getattr(owner, name)))
            with pytest.raises(KeyboardInterrupt):
                train(parts)
        parts = replace(parts, resume=True)
    assert 0 < steps_of(parts.out)[-1] < 1024
    train(parts)
    for name in ("policy.safetensors", "best.safetensors", "evaluations.csv"):
        assert (parts.out / name).read_bytes() == (whole.out / name).read_bytes()


def stopping_after(n_steps: int, step: Any) -> Any:
    done: list[int] = []

    def stopping(self: Any) -> Any:
        if len(done) == n_steps:
            raise KeyboardInterrupt
        done.append(1)
        return step(self)

    return stopping


def test_undecided_moves_keep_the_win_where_none_is_known_to() -> None:
    words = torch.tensor(
        [
            [WON, LOST, UNDECIDED, ILLEGAL],
            [LOST, UNDECIDED, ILLEGAL, LOST],
            [LOST, LOST, LOST, LOST],
        ]
    )
    assert _keep_the_win(words).nonzero().tolist() == [[0, 0], [1, 1]]


def test_distillation_beats_what_it_began_with(tmp_path: Path) -> None:
    config = DistillConfig(
        states=40_000,
        games=256,
        width=32,
        layers=1,
        learning_rate=5e-3,
        eval_every=20_000,
        eval_deals=200,
        out=tmp_path / "run",
        device="cpu",
    )
    train_distill(config)
    rates = [
        float(line.split(",")[1])
        for line in (config.out / "evaluations.csv").read_text().splitlines()[1:]
    ]
    assert rates[-1] > 0.2  # random play wins 5 %


@all_ways
def test_a_folder_is_never_overwritten_and_nothing_is_resumed_from_nothing(
    tiny: RunConfig, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds notes\.txt and no training run"):
        train(replace(tiny, out=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ValueError, match="nothing to resume"):
        train(replace(tiny, out=tmp_path / "none", resume=True))


@all_ways
@pytest.mark.parametrize("more_layers", [0, 2])
def test_a_run_can_start_from_a_policy(
    more_layers: int, tiny: RunConfig, run: Path, tmp_path: Path
) -> None:
    first = run / "policy.safetensors"
    layers = tiny.layers + more_layers
    config = replace(tiny, out=tmp_path / "b", start_from=first, layers=layers, learning_rate=0.0)
    train(config)
    before, after = (
        LearnedAgent.load(p, Rules()) for p in (first, config.out / "best.safetensors")
    )
    observations, _ = PyramidVectorEnv(4).reset(seed=0)
    assert (before.logits(observations) == after.logits(observations)).all()
    longest = replace(config, out=tmp_path / "c", start_from=config.out / "best.safetensors")
    for wrong in ({"width": 32}, {"layers": layers - 1}):
        with pytest.raises(ValueError, match=r"another size|layers=0 is not allowed"):
            train(replace(longest, **wrong))  # type: ignore[arg-type]
        assert not (tmp_path / "c").exists()


@all_ways
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rules": "chess"}, "unknown rules 'chess'"),
        ({"eval_every": 0}, "eval_every=0 is not allowed: 1 or more"),
        ({"width": 0}, "width=0 is not allowed: 1 or more"),
        ({"seed": -1}, r"seed=-1 is not allowed: 0 to 2\*\*32 - 1"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0 is not allowed: 0 to 1"),
        ({"learning_rate": math.nan}, "learning_rate=nan is not allowed: 0 to 1"),
        ({"width": 18}, "width=18 is not allowed: a multiple of heads=4"),
        ({"device": "abacus"}, "device='abacus'"),
        ({"start_from": Path("nowhere.safetensors")}, r"nowhere\.safetensors"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_written(
    tiny: RunConfig, wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        train(replace(tiny, out=tmp_path / "run", **wrong))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("content", [b"", b"notes", b"\x80\x02.", b"PK\x03\x04" + b"0" * 50])
def test_a_damaged_checkpoint_is_named_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint\.pt is damaged: .") as raised:
        load_checkpoint(tmp_path, torch.device("cpu"), {"net"})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (replace(TINY_DISTILL, node_limit=4096), "node_limit=4096 is not allowed: 1 to 4095"),
        (replace(TINY_DISTILL, worth_of_others=0.0), "worth_of_others=0.0 is not allowed: above 0"),
        (replace(TINY_EXPERT, smoothing=1.5), "smoothing=1.5 is not allowed: 0 to 1"),
        (replace(TINY_EXPERT, sharpness=-1.0), "sharpness=-1.0 is not allowed: 0 or more"),
        (
            replace(TINY_EXPERT, batch=129),
            r"batch=129 .*: at most games \* rollout = 128",
        ),
        (replace(TINY_EXPERT, rollout=0), "rollout=0 is not allowed: 1 or more"),
        (replace(TINY, gamma=2.0), "gamma=2.0 is not allowed: above 0, at most 1"),
        (replace(TINY, gamma=0.0), "gamma=0.0 is not allowed"),
        (replace(TINY, gae_lambda=1.1), "gae_lambda=1.1 is not allowed: 0 to 1"),
        (replace(TINY, entropy=-0.1), "entropy=-0.1 is not allowed: 0 or more"),
    ],
)
def test_wrong_arguments_of_one_way_are_named_before_anything_is_written(
    wrong: RunConfig, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        train(replace(wrong, out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@all_ways
def test_the_same_seed_trains_the_same_policy(tiny: RunConfig, tmp_path: Path) -> None:
    for name in ("a", "b"):
        train(longer(replace(tiny, out=tmp_path / name, seed=3), 512))
    first, second = ((tmp_path / n / "policy.safetensors").read_bytes() for n in "ab")
    assert first == second
