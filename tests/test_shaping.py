"""Shaped games: winnable deals, ended by the win or by the move that throws it away."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from agents.training.shaping import ShapedVecEnv
from pyramid_env import solve
from pyramid_env.engine import Position
from pyramid_env.game import Game
from pyramid_env.observation import observe


def games_of(env: ShapedVecEnv, preset: str) -> list[Game]:
    return [
        Game(deal, preset, position=Position(int(position)))
        for deal, position in zip(env.games.deals(), env.games.positions, strict=True)
    ]


def random_actions(env: ShapedVecEnv, generator: np.random.Generator) -> NDArray[np.int64]:
    return np.array([generator.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


@pytest.mark.parametrize("preset", ["kawu", "kawu-1"])
def test_a_game_ends_when_it_is_won_or_cannot_be_any_more(preset: str) -> None:
    env = ShapedVecEnv(30, preset, gamma=0.9)
    env.seed(3)
    observations = env.reset()
    generator = np.random.default_rng(0)
    n_ended = n_thrown = n_undecided = 0
    for _ in range(25):
        games = games_of(env, preset)
        assert all(solve(game, "win").value for game in games)
        actions = random_actions(env, generator)
        env.step_async(actions)
        observations, rewards, ended, infos = env.step_wait()
        for row, game in enumerate(games):
            game.play(int(actions[row]))
            is_thrown = not solve(game, "win").value
            assert ended[row] or not (is_thrown or game.is_won)
            n_ended += ended[row]
            n_undecided += ended[row] and not (is_thrown or game.is_won)
            if not ended[row]:
                assert rewards[row] == pytest.approx(0.9 - 1)
                assert int(env.games.positions[row]) == game.position
                continue
            n_thrown += is_thrown
            assert rewards[row] == game.is_won - 1
            assert infos[row]["is_success"] == game.is_won
            assert infos[row]["episode"]["r"] == game.is_won
            assert not infos[row]["TimeLimit.truncated"]
            assert infos[row]["terminal_observation"].shape == observations[row].shape
            assert env.games.deals()[row] != game.deal
        for row, game in enumerate(games_of(env, preset)):
            assert np.flatnonzero(env.action_masks()[row]).tolist() == game.legal_actions()
            expected = observe(game.position, game.deal, game.rules)
            assert observations[row].tolist() == expected.tolist()
    assert n_thrown
    assert n_undecided < 0.2 * n_ended  # there the solver stopped at its limit


def test_the_last_that_is_shown_of_a_lost_game_is_the_lost_position() -> None:
    env = ShapedVecEnv(30, "kawu", gamma=1.0)
    env.seed(5)
    env.reset()
    generator = np.random.default_rng(1)
    for _ in range(10):
        games = games_of(env, "kawu")
        actions = random_actions(env, generator)
        env.step_async(actions)
        _, _, ended, infos = env.step_wait()
        for row in np.flatnonzero(ended):
            games[row].play(int(actions[row]))
            last = infos[row]["terminal_observation"]
            pyramid = games[row].position & (2**28 - 1)
            assert (last[:28] > 0).tolist() == [bool(pyramid >> slot & 1) for slot in range(28)]


def test_a_checkpoint_goes_on_with_the_same_games() -> None:
    envs = [ShapedVecEnv(8, "kawu", gamma=1.0) for _ in range(2)]
    envs[0].seed(7)
    envs[0].reset()
    generator = np.random.default_rng(2)
    for step in range(20):
        if step == 10:
            envs[1].reset()
            envs[1].set_state(envs[0].get_state())
        actions = random_actions(envs[0], generator)
        said = []
        for env in envs[: 1 + (step >= 10)]:
            env.step_async(actions)
            said.append(env.step_wait())
        if step >= 10:
            for first, second in zip(said[0][:3], said[1][:3], strict=True):
                assert (first == second).all()
