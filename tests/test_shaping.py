"""Shaped rewards: their sum over a game is what the potentials at both ends leave of it."""

from __future__ import annotations

import numpy as np
import pytest

from agents.training.shaping import ShapedVecEnv
from pyramid_env import solve
from pyramid_env.engine import Position
from pyramid_env.game import Game


@pytest.mark.parametrize("preset", ["kawu", "kawu-1"])
def test_a_game_earns_that_it_is_won_less_that_it_could_be(preset: str) -> None:
    env = ShapedVecEnv(60, preset, gamma=1.0)
    env.seed(3)
    env.reset()
    could_win = np.array([solve(Game(deal, preset), "win").value for deal in env.games.deals()])
    sums, won, running = np.zeros(60), np.zeros(60), np.ones(60, np.bool_)
    generator = np.random.default_rng(0)
    while running.any():
        masks = env.action_masks()
        env.step_async(np.array([generator.choice(np.flatnonzero(mask)) for mask in masks]))
        _, rewards, ended, infos = env.step_wait()
        sums += rewards * running
        for row in np.flatnonzero(ended & running):
            won[row] = infos[row]["is_success"]
        running &= ~ended
    found = won - sums
    assert set(found) == {0, 1}
    assert (found <= could_win).all()
    assert (found == could_win).mean() > 0.9  # else the solver had not come to an end


def test_the_move_that_throws_the_win_away_costs_it() -> None:
    env = ShapedVecEnv(30, "kawu", gamma=1.0)
    env.seed(5)
    env.reset()
    generator, thrown = np.random.default_rng(0), 0
    for _ in range(25):
        games = [
            Game(deal, "kawu", position=Position(int(position)))
            for deal, position in zip(env.games.deals(), env.games.positions, strict=True)
        ]
        before = [solve(game, "win").value for game in games]
        actions = [generator.choice(game.legal_actions()) for game in games]
        for game, action in zip(games, actions, strict=True):
            game.play(int(action))
        after = [solve(game, "win").value for game in games]
        env.step_async(np.array(actions))
        _, rewards, ended, _ = env.step_wait()
        for row in np.flatnonzero(~ended):
            assert rewards[row] == int(after[row]) - int(before[row])
            thrown += rewards[row] < 0
    assert thrown
