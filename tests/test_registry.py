"""How agents are named: ours, policy files, models of other libraries, and a user's own."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import agents
from agents.agent import FunctionAgent
from agents.learned import LearnedAgent
from agents.registry import (
    BUILT_IN,
    WEIGHTS,
    AgentSpec,
    default_agents,
    group_of,
    load_agent,
    shipped_policy,
)
from pyramid_env import PRESETS, PyramidVectorEnv, Rules

MODULE = """
import numpy as np
from agents.agent import Agent


class FirstLegal(Agent):
    name = "whatever"

    def __init__(self, rules=None):
        self.rules = rules

    def act_batch(self, observations, action_masks):
        return action_masks.argmax(axis=1)


def make_agent(rules):
    return FirstLegal(rules)


def make_with_defaults(depth=3, rules=None):
    assert depth == 3
    return FirstLegal(rules)


def make_function():
    return last_legal


def last_legal(observation, action_mask):
    return np.flatnonzero(action_mask)[-1]


an_agent = FirstLegal("none")
a_number = 3


def takes_three(a, b, c):
    pass


def makes_a_number():
    return 3


def fails(rules):
    raise RuntimeError("no\\nweights")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's module in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    path = tmp_path / "users_own.py"
    path.write_text(MODULE)
    importlib.invalidate_caches()
    yield path
    sys.modules.pop("users_own", None)


def first_answers(agent: agents.agent.Agent) -> tuple[Any, Any]:
    observations, infos = PyramidVectorEnv(20).reset(seed=3)
    masks = infos["action_mask"]
    return agent.act_batch(observations, masks), masks


@pytest.mark.parametrize(
    ("attribute", "rules"),
    [
        ("FirstLegal", None),
        ("make_agent", PRESETS["par"]),
        ("make_with_defaults", PRESETS["par"]),
        ("an_agent", "none"),
    ],
)
def test_a_users_agent_is_loaded_by_module_and_attribute(
    module: Path, attribute: str, rules: object
) -> None:
    agent: Any = load_agent(f"mine=users_own:{attribute}", "par")
    answers, masks = first_answers(agent)
    assert answers.tolist() == masks.argmax(axis=1).tolist()
    assert agent.name == "mine"
    assert agent.rules == (PRESETS["par"] if attribute == "FirstLegal" else rules)


@pytest.mark.parametrize("attribute", ["last_legal", "make_function"])
def test_a_function_is_enough(module: Path, attribute: str) -> None:
    agent = load_agent(f"mine=users_own:{attribute}")
    assert isinstance(agent, FunctionAgent)
    answers, masks = first_answers(agent)
    assert answers.tolist() == [np.flatnonzero(mask)[-1] for mask in masks]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("users_own:nothing", "module users_own has no nothing"),
        ("users_own:a_number", "users_own:a_number is no agent"),
        ("users_own:takes_three", "users_own:takes_three is no agent"),
        ("users_own:makes_a_number", "gives 3, which is neither an Agent nor a function"),
        ("users_own:fails", "users_own:fails failed: RuntimeError: no"),
        ("not_there.at_all:make", "module not_there.at_all cannot be imported: ModuleNotFound"),
    ],
)
def test_a_target_that_is_no_agent_is_named(module: Path, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(f"mine={target}")


@pytest.mark.parametrize("name", ["", "a/b", "../up", ".hidden", "a@b@c", "@0", "two words"])
def test_a_name_must_be_fit_for_a_file(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for an agent"):
        AgentSpec.parse(f"{name}=greedy")


@pytest.mark.parametrize("text", ["genius", "users_own:make_agent", "some/policy.safetensors"])
def test_what_is_not_known_needs_a_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"unknown agent '{text}': random, greedy.* NAME=TARGET"):
        load_agent(text)


def test_seeds_of_one_agent_share_a_group() -> None:
    assert AgentSpec.parse("ppo@0=greedy") == AgentSpec("ppo@0", "greedy")
    assert [group_of(name) for name in ("ppo@0", "ppo@17", "ppo")] == ["ppo"] * 3


def test_the_shipped_policy_is_the_one_for_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kawu", "kawu-1", "classic"):
        shutil.copy(WEIGHTS / "kawu.safetensors", tmp_path / f"{name}.safetensors")
    monkeypatch.setattr("agents.registry.WEIGHTS", tmp_path)
    files = {name: shipped_policy(rules).stem for name, rules in PRESETS.items()}
    assert files["kawu-1"] == files["pyramid-only"] == "kawu-1"
    assert files["classic"] == "classic"
    others = files.keys() - {"kawu-1", "pyramid-only", "classic"}
    assert {files[name] for name in others} == {"kawu"}
    assert load_agent("learned", "classic").name == "learned"
    with pytest.raises(ValueError, match="places"):
        load_agent("learned", "reserve")


def test_the_network_is_left_out_by_default_where_it_cannot_play() -> None:
    for name, rules in PRESETS.items():
        agents = default_agents(rules)
        assert [load_agent(agent, rules).name for agent in agents] == list(agents)
        assert ("learned" in agents) == (name not in ("covered", "tuts-tomb", "reserve"))


def test_the_package_loads_its_agents_by_name() -> None:
    agent = agents.load("kawu")
    assert isinstance(agent, LearnedAgent)
    assert agent.config.rules == Rules()
    answers, masks = first_answers(agent)
    assert (answers == first_answers(load_agent("learned"))[0]).all()
    assert masks[np.arange(20), answers].all()
    assert agents.load_agent("greedy", "tuts-tomb").name == "greedy"


def test_a_file_that_has_changed_has_another_checksum(
    tmp_path: Path, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(WEIGHTS / "kawu.safetensors", tmp_path)
    monkeypatch.setattr("agents.registry.WEIGHTS", tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(WEIGHTS / "kawu.safetensors", run / "best.safetensors")
    for target, file in (
        ("run", run / "best.safetensors"),
        ("users_own:make_agent", module),
        ("users_own:last_legal", module),
        ("learned", tmp_path / "kawu.safetensors"),
        ("kawu", tmp_path / "kawu.safetensors"),
    ):
        spec = AgentSpec("mine", target)
        agent = spec.load(Rules())
        before = spec.digest(agent, Rules())
        assert spec.digest(agent, Rules()) == before
        file.write_bytes(file.read_bytes() + b"\n")
        assert spec.digest(agent, Rules()) != before
        file.write_bytes(file.read_bytes()[:-1])
    digests = {AgentSpec("x", name).digest(load_agent(name), Rules()) for name in BUILT_IN}
    assert len(digests) >= 2  # random and greedy share a module


# Models of Stable-Baselines3


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
    from stable_baselines3 import DQN, PPO

    from pyramid_env.integrations.sb3 import PlaceEmbedding, PlacePolicy, PyramidVecEnv

    folder = tmp_path_factory.mktemp("models")
    small: dict[str, Any] = {"net_arch": [8]}
    short: dict[str, Any] = {"n_steps": 8, "batch_size": 8}
    embedding = {
        "net_arch": [],
        "features_extractor_class": PlaceEmbedding,
        "features_extractor_kwargs": {"features_dim": 8},
    }
    env = PyramidVecEnv(2)
    MaskablePPO("MlpPolicy", env, **short, policy_kwargs=small).save(folder / "masked")
    MaskablePPO(PlacePolicy, env, **short, policy_kwargs=embedding).save(folder / "places")
    scalar = gymnasium.make("pyramid_env/Pyramid-v0")
    PPO("MlpPolicy", scalar, **short, policy_kwargs=small).save(folder / "ppo")
    other = gymnasium.make("CartPole-v1")
    RecurrentPPO("MlpLstmPolicy", other, **short).save(folder / "recurrent")
    for algorithm in (DQN, QRDQN):
        model = algorithm("MlpPolicy", scalar, buffer_size=10, policy_kwargs=small)
        model.save(folder / algorithm.__name__.lower())
    return folder


@pytest.mark.parametrize("name", ["masked", "places", "ppo", "dqn", "qrdqn"])
def test_models_of_sb3_answer_legal_actions(models: Path, name: str) -> None:
    with pytest.warns(UserWarning, match="runs whatever code is pickled in it"):
        agent = load_agent(f"theirs=trusted:{models / name}.zip")
    answers, masks = first_answers(agent)
    assert masks[np.arange(len(masks)), answers].all()
    assert (agent.name, agent.privileged) == ("theirs", False)


class RunsCode:
    """What a model's file could hold: unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_code_in_a_file_runs_only_where_the_file_is_called_trusted(tmp_path: Path) -> None:
    from stable_baselines3.common.save_util import save_to_zip_file

    done = tmp_path / "done"
    file = tmp_path / "model.zip"
    save_to_zip_file(file, data={"policy_kwargs": RunsCode(done)})
    message = rf"runs whatever code is in them; .* name it theirs=trusted:{re.escape(str(file))}"
    with pytest.raises(ValueError, match=message):
        load_agent(f"theirs={file}")
    assert not done.exists()
    with (
        pytest.warns(UserWarning, match="runs whatever code is pickled in it"),
        pytest.raises(ValueError, match="cannot be loaded as a model"),
    ):
        load_agent(f"theirs=trusted:{file}")
    assert done.exists()


def test_a_maskable_model_answers_what_its_predict_does(models: Path) -> None:
    from sb3_contrib import MaskablePPO

    model = MaskablePPO.load(models / "masked.zip")
    with pytest.warns(UserWarning, match="code"):
        agent = load_agent(f"theirs=trusted:{models / 'masked.zip'}")
    observations, infos = PyramidVectorEnv(64).reset(seed=3)
    masks = infos["action_mask"]
    predicted, _ = model.predict(observations, action_masks=masks, deterministic=True)
    assert agent.act_batch(observations, masks).tolist() == predicted.tolist()
    assert len(set(predicted.tolist())) > 1


def test_models_of_sb3_need_the_extra(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agents.sb3", raising=False)
    monkeypatch.delattr(agents, "sb3", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"torch is not installed: .*pyramid-env\[train\]"):
        load_agent(f"theirs=trusted:{models / 'masked.zip'}")


@pytest.mark.filterwarnings("ignore:loading")
def test_models_that_cannot_play_are_named(models: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no model file .*nowhere\.zip"):
        load_agent("theirs=nowhere.zip")
    with pytest.raises(ValueError, match=r"ppo\.zip was trained on other observations or actions"):
        load_agent(f"theirs=trusted:{models / 'ppo.zip'}", "reserve")
    with pytest.raises(ValueError, match=r"recurrent\.zip .* needs a memory"):
        load_agent(f"theirs=trusted:{models / 'recurrent.zip'}")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(ValueError, match=r"text\.zip is no model .*: it is no zip file"):
        load_agent(f"theirs=trusted:{tmp_path / 'text.zip'}")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("holiday.txt", "sun")
    with pytest.raises(ValueError, match=r"other\.zip cannot be loaded as a model"):
        load_agent(f"theirs=trusted:{tmp_path / 'other.zip'}")
