"""Agents by name, as `evaluate.py --agents` takes them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.agent import Agent, FunctionAgent
from agents.baselines import GreedyAgent, RandomAgent
from agents.learned import LearnedAgent, read_policy
from agents.search import SearchAgent
from agents.solver import SolverAgent
from pyramid_env.actions import action_table
from pyramid_env.rules import PRESETS, Rules, get_rules
from pyramid_env.workers import extra

WEIGHTS = Path(__file__).parent / "weights"

SHIPPED = "learned"
"""Names the network that comes with the package for the rules that are played."""

TRUSTED = "trusted:"
"""Stands before a path whose file may run code when it is loaded."""

BUILT_IN: dict[str, Callable[[Rules], Agent]] = {
    "random": lambda rules: RandomAgent(),
    "greedy": GreedyAgent,
    "search": SearchAgent,
    "solver": SolverAgent,
}
"""Makes each other agent that comes with the package, to play the rules given."""

HOW_TO_NAME = (
    f"{', '.join(BUILT_IN)}, {SHIPPED}, a preset, or NAME=TARGET with such a name, a policy file,"
    f" a training run's folder, {TRUSTED} and a .zip of Stable-Baselines3, or"
    " package.module:make_agent"
)


@dataclass(frozen=True)
class AgentSpec:
    """How `--agents` names an agent: ``greedy``, ``mine=runs/mine``, ``mine@0=runs/first``.

    Raises `ValueError` for a name that cannot be part of a file's name.
    """

    name: str
    """What tables and files call it; what follows an ``@`` tells training seeds apart."""

    target: str
    """What it is: a name of ours, a preset, a path, or ``package.module:attribute``."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+(@[\w.-]+)?", self.name) or self.name.startswith("."):
            raise ValueError(
                f"{self.name!r} is no name for an agent: letters, digits, '_', '-' and '.', and"
                " after an '@' what tells seeds apart"
            )

    @classmethod
    def parse(cls, text: str) -> AgentSpec:
        """Read ``target`` or ``name=target``."""
        name, equals, target = text.partition("=")
        if not equals and name not in (*BUILT_IN, SHIPPED, *PRESETS):
            raise ValueError(f"unknown agent {text!r}: {HOW_TO_NAME}")
        return cls(name, target if equals else name)

    def digest(self, agent: Agent, rules: Rules) -> str:
        """A checksum of what the agent, loaded to play `rules`, is made of.

        It covers the module of its class and the file or module that is named, not what these
        import.
        """
        named = _module_of(self.target)
        modules = [type(agent).__module__, *([named] if named else [])]
        files = [getattr(sys.modules.get(module), "__file__", None) for module in modules]
        if named is None:
            files.append(self._file(rules))
        digest = hashlib.sha256()
        for file in files:
            if file is not None and Path(file).is_file():
                digest.update(Path(file).read_bytes())
        return digest.hexdigest()

    def _file(self, rules: Rules) -> Path | None:
        """The file of weights that a target names; None for agents of ours that have none."""
        if self.target == SHIPPED or self.target in PRESETS:
            return shipped_policy(PRESETS.get(self.target, rules))
        if self.target in BUILT_IN:
            return None
        path = Path(self.target.removeprefix(TRUSTED))
        return path / "best.safetensors" if path.is_dir() else path

    def load(self, rules: Rules) -> Agent:
        """The agent, to play `rules`. Errors as `load_agent`."""
        agent = self._load(rules)
        agent.name = self.name
        return agent

    def _load(self, rules: Rules) -> Agent:
        if _module_of(self.target):
            return _from_module(self.target, self.name, rules)
        file = self._file(rules)
        if file is None:
            return BUILT_IN[self.target](rules)
        if file.suffix == ".zip":
            if file.is_file() and not self.target.startswith(TRUSTED):
                raise ValueError(
                    f"{file} holds pickled objects, and loading it runs whatever code is in them;"
                    f" if you trust it, name it {self.name}={TRUSTED}{file}"
                )
            with extra("train"):
                from agents.sb3 import SB3Agent
            return SB3Agent.load(file, rules, self.name)
        return LearnedAgent.load(file, rules)


def load_agent(text: str, rules: str | Rules | None = None) -> Agent:
    """The agent of a name, to play some rules.

    ``random``, ``greedy``, ``search``, ``solver``; ``learned``, the policy that comes with the
    package for the rules; a preset, the policy for that one; or ``name=target``, where the target
    is one of these, a policy file, a training run's folder, ``trusted:`` and a `.zip` of
    Stable-Baselines3 (loading that runs code from it), or a ``package.module:attribute``. The
    attribute is an agent, a function of an observation and an action mask, or makes one of these
    when it is called, with the rules if it takes an argument.

    Without rules it plays the preset that is named, or else ``kawu``. Raises `ValueError` for an
    unknown name or something that is no agent, and `FileNotFoundError` for a missing file.

    >>> load_agent("kawu").name
    'kawu'
    """
    if rules is None:
        rules = text if text in PRESETS else "kawu"
    return AgentSpec.parse(text).load(get_rules(rules))


def default_agents(rules: Rules) -> tuple[str, ...]:
    """Those that are compared when none is named; the network only where it can play."""
    config, _ = read_policy(shipped_policy(rules))
    can_play = action_table(config.rules) is action_table(rules)
    return ("random", "greedy", *([SHIPPED] if can_play else []), "solver")


def group_of(name: str) -> str:
    """What agents share that differ in their seed: the name before the ``@``."""
    return name.partition("@")[0]


def shipped_policy(rules: Rules) -> Path:
    """The policy file that comes with the package for some rules; without one, that of ``kawu``."""
    files = (WEIGHTS / f"{name}.safetensors" for name, preset in PRESETS.items() if preset == rules)
    return next((file for file in files if file.is_file()), WEIGHTS / "kawu.safetensors")


def _module_of(target: str) -> str | None:
    """The module of ``package.module:attribute``; None where a target is something else."""
    found = re.fullmatch(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d]\w*", target)
    return found[1] if found else None


def _import(module: str) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` has it
    try:
        return importlib.import_module(module)
    except Exception as error:  # a module raises whatever it likes
        raise ValueError(
            f"module {module} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _from_module(target: str, name: str, rules: Rules) -> Agent:
    module, _, attribute = target.partition(":")
    found = getattr(_import(module), attribute, None)
    if found is None:
        raise ValueError(f"module {module} has no {attribute}")
    if not isinstance(found, Agent) and not _is_policy(found):
        found = _make(target, found, rules)
    if isinstance(found, Agent):
        return found
    if callable(found):
        return FunctionAgent(found, name)
    raise ValueError(f"{target} gives {found!r}, which is neither an Agent nor a function")


def _is_policy(found: Any) -> bool:
    """Whether something wants two arguments, observation and action mask, to be called."""
    return not isinstance(found, type) and callable(found) and len(_required(found)) == 2


def _make(target: str, make: Any, rules: Rules) -> Any:
    if not callable(make) or len(_required(make)) > 1:
        raise ValueError(
            f"{target} is no agent: give an Agent, a function of observation and action mask, or"
            " what makes one, with no argument or the rules"
        )
    try:
        if _required(make):
            return make(rules)
        return make(rules=rules) if "rules" in inspect.signature(make).parameters else make()
    except Exception as error:
        raise ValueError(f"{target} failed: {type(error).__name__}: {error}") from error


def _required(function: Any) -> list[inspect.Parameter]:
    """The parameters that must be given to call it."""
    return [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
