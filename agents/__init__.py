"""Players of the environment: the `Agent` interface, random to learned, and how to compare them.

`load("kawu")` is the learned agent that comes with the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyramid_env.workers import extra

if TYPE_CHECKING:
    from agents.agent import Agent
    from pyramid_env.rules import Rules

__all__ = ["load", "load_agent"]


def load(name: str, rules: str | Rules | None = None) -> Agent:
    """The agent of a name, such as ``kawu`` or ``greedy``: see `agents.registry.load_agent`.

    >>> load("kawu").name
    'kawu'
    """
    with extra("evaluate"):
        from agents.registry import load_agent

    return load_agent(name, rules)


load_agent = load
