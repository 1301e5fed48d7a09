"""Plays and solves with the package alone, as it is installed; the repository is the argument."""

import sys
from pathlib import Path

import gymnasium
import numpy as np

import agents
import pyramid_env
from pyramid_env import Game, jit, solve

for package in (pyramid_env, agents):
    assert not Path(package.__file__ or "").is_relative_to(sys.argv[1]), package.__file__

env = gymnasium.make("pyramid_env/Pyramid-v0", rules="kawu")
_, info = env.reset(seed=1)
ended = False
while not ended:
    action = int(np.flatnonzero(info["action_mask"])[0])
    _, _, terminated, truncated, info = env.step(action)
    ended = terminated or truncated
print("removed", info["pyramid_cards_removed"], "cards")

envs = gymnasium.make_vec("pyramid_env/Pyramid-v0", num_envs=4)
_, infos = envs.reset(seed=1)
envs.step(infos["action_mask"].argmax(axis=1))

game = Game(7)
assert not game.is_over
assert solve(game, "win").value == 1
assert jit._read.cache_info().currsize < 100, "the kernels depend on files of other packages"
try:
    agents.load("kawu")
except ValueError as error:
    assert "pip install 'pyramid-env[evaluate]'" in str(error), error  # noqa: PT017
else:
    raise AssertionError("a network was loaded without the extra evaluate")
