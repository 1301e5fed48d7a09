"""Pyramid Solitaire as a Gymnasium environment, with an exact solver.

>>> import gymnasium, pyramid_env
>>> env = gymnasium.make("pyramid_env/Pyramid-v0", rules="kawu")
>>> observation, info = env.reset(seed=1)
>>> int(info["action_mask"].sum()) > 0
True

Everything is imported when it is first used, so `import pyramid_env` is quick.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    __version__: str

    from pyramid_env.actions import Move, action_table, sample_actions
    from pyramid_env.deals import Deal
    from pyramid_env.env import PyramidEnv
    from pyramid_env.game import Game
    from pyramid_env.observation import observation_fields
    from pyramid_env.rules import PRESETS, Rules, get_rules
    from pyramid_env.solver import Solution, analyse, solve, solve_batch
    from pyramid_env.vector_env import PyramidVectorEnv

_HOME = {
    "PRESETS": "rules",
    "Deal": "deals",
    "Game": "game",
    "Move": "actions",
    "PyramidEnv": "env",
    "PyramidVectorEnv": "vector_env",
    "Rules": "rules",
    "Solution": "solver",
    "action_table": "actions",
    "analyse": "solver",
    "get_rules": "rules",
    "observation_fields": "observation",
    "sample_actions": "actions",
    "solve": "solver",
    "solve_batch": "solver",
}

__all__ = [
    "PRESETS",
    "Deal",
    "Game",
    "Move",
    "PyramidEnv",
    "PyramidVectorEnv",
    "Rules",
    "Solution",
    "action_table",
    "analyse",
    "get_rules",
    "observation_fields",
    "sample_actions",
    "solve",
    "solve_batch",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("pyramid-env")
    if name not in _HOME:
        raise AttributeError(f"module 'pyramid_env' has no attribute {name!r}")
    return getattr(import_module(f"pyramid_env.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME, "__version__"]


gymnasium.register(
    id="pyramid_env/Pyramid-v0",
    entry_point="pyramid_env.env:PyramidEnv",
    vector_entry_point="pyramid_env.vector_env:PyramidVectorEnv",
)
