"""Agents by name, as `evaluate.py --agents` takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agents.agent import Agent
from agents.baselines import GreedyAgent, RandomAgent
from agents.learned import LearnedAgent
from agents.solver import SolverAgent
from pyramid_env.rules import Rules, get_rules

WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = "learned"

_BUILT_IN: dict[str, Callable[[Rules], Agent]] = {
    "random": lambda rules: RandomAgent(),
    "greedy": GreedyAgent,
    "solver": SolverAgent,
    SHIPPED: lambda rules: LearnedAgent.load(WEIGHTS / "kawu.safetensors", rules, SHIPPED),
}


def load_agent(spec: str, rules: str | Rules = "kawu") -> Agent:
    """The agent of a name, to play some rules.

    ``random``, ``greedy``, ``solver`` and ``learned`` (the policy that comes with the package), or
    ``name=path`` with a policy file or a run's folder. Raises `ValueError` for an unknown name or a
    file that is no policy, and `FileNotFoundError` for a missing one.
    """
    rules = get_rules(rules)
    name, is_path, path = spec.partition("=")
    if is_path and name and path:
        file = Path(path) / "best.safetensors" if Path(path).is_dir() else Path(path)
        return LearnedAgent.load(file, rules, name)
    if spec not in _BUILT_IN:
        raise ValueError(f"unknown agent {spec!r}: {', '.join(_BUILT_IN)} or name=path")
    return _BUILT_IN[spec](rules)
