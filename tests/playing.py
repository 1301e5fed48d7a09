"""Environments that are set up and played as a test wants them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from positions import deal_with

from pyramid_env.actions import Move, action_table, sample_actions
from pyramid_env.env import PyramidEnv
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.vector_env import PyramidVectorEnv

DRAW, RECYCLE = 283, 284
WON = {"kawu": 0, "par": 3, "tuts-tomb": 7, "reserve": 4}
"""Deals that are won by always playing the legal action of the lowest id."""

LOST_FROM_THE_START = deal_with(
    {"G1": "AC", "G2": "AD", "G3": "AH", "G4": "AS", "G5": "2C", "G6": "2D", "G7": "2H"},
    "KC KD 2S KH KS 3C 9C 9D 3D 9H 9S 3H TC TD 3S TH TS 4C QC QD 4D QH QS 4H",
    "tuts-tomb",
)
"""Every third card of the stock is low, and so is the bottom row: nothing ever sums to 13."""


def action_of(text: str, rules: str | Rules = "kawu") -> int:
    """The id of a move's text."""
    rules = PRESETS[rules] if isinstance(rules, str) else rules
    return action_table(rules).action(Move.parse(text))


def new_env(deal: Any = 5, **arguments: Any) -> PyramidEnv:
    """An environment at the start of an episode."""
    env = PyramidEnv(**arguments)
    env.reset(seed=9, options={"deal": deal})
    return env


def new_envs(num_envs: int, deal: Any = None, **arguments: Any) -> PyramidVectorEnv:
    """Environments at the start of their episodes, deals 0, 1, ... unless given."""
    envs = PyramidVectorEnv(num_envs, **arguments)
    envs.reset(seed=9, options={"deal": range(num_envs) if deal is None else deal})
    return envs


def standing(env: PyramidEnv | PyramidVectorEnv) -> tuple[Any, ...]:
    """All that the next call depends on."""
    fields = [
        array[name].tobytes()
        for array in (env._episodes.states, env._episodes.settings)
        for name in array.dtype.names or ()
    ]
    mask, generator = env.action_masks().tobytes(), str(env.np_random.bit_generator.state)
    return *fields, mask, generator, env._episodes.rules


def play_first_legal(env: PyramidEnv) -> list[Any]:
    """Play the legal action of the lowest id to the end; all results."""
    results = [env.step(env.action_masks().argmax())]
    while not (results[-1][2] or results[-1][3]):
        results.append(env.step(env.action_masks().argmax()))
    return results


def mostly_legal(masks: NDArray[np.int8], generator: np.random.Generator) -> NDArray[np.int64]:
    """Random actions, one in ten of any kind."""
    anything = generator.integers(masks.shape[1], size=len(masks))
    is_any = generator.random(len(masks)) < 0.1
    return np.where(is_any, anything, sample_actions(masks, generator))


def assert_same(first: Any, second: Any) -> None:
    """Compare arrays, and dicts and sequences of them, with their dtypes."""
    if isinstance(first, (list, tuple)):
        assert_same(dict(enumerate(first)), dict(enumerate(second)))
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, np.ndarray) and first.dtype.hasobject:
        assert_same(dict(enumerate(first)), dict(enumerate(second)))
    else:
        assert np.asarray(first).dtype == np.asarray(second).dtype
        assert np.array_equal(first, second)
