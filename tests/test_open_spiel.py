"""OpenSpiel: its own tests, and that its games are those of the engine."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pyspiel
import pytest
from gymnasium.spaces import flatten
from open_spiel.integration_tests import api_test
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import generate_playthrough
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation
from open_spiel.python.tests import games_sim_test
from playing import LOST_FROM_THE_START, WON

from pyramid_env.deals import Deal
from pyramid_env.env import PyramidEnv
from pyramid_env.episode import step_limit
from pyramid_env.game import Game
from pyramid_env.integrations.open_spiel import PyramidGame
from pyramid_env.rules import PRESETS
from pyramid_env.solver import solve

EVERY_VARIANT = [
    (rules, information) for rules in PRESETS for information in ("fair", "thoughtful")
]


def load(**parameters: str) -> Any:
    return pyspiel.load_game("python_pyramid", parameters)


def dealt(game: Any, deal: Deal) -> Any:
    """The first node of a deal at which the player moves."""
    return deal_on(game.new_initial_state(), deal)


def deal_on(state: Any, deal: Deal) -> Any:
    while state.is_chance_node():
        state.apply_action(state.outcome_of(deal))
    return state


@pytest.mark.parametrize(("rules", "information"), EVERY_VARIANT)
def test_open_spiel_simulates_it(rules: str, information: str) -> None:
    game = load(rules=rules, information=information)
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)
    np.random.seed(0)
    games_sim_test.GamesSimTest().sim_game(game)


class TestApi(api_test.EnforceAPIOnPartialTreeBase):
    game_name = "python_pyramid"
    game = load()


class TestApiOfTheLongestGame(api_test.EnforceAPIOnPartialTreeBase):
    game_name = "python_pyramid"
    game = load(rules="tuts-tomb", information="thoughtful", reward="win")


@pytest.mark.parametrize(("rules", "information"), EVERY_VARIANT)
def test_its_games_are_those_of_the_environment(rules: str, information: Any) -> None:
    generator = np.random.default_rng(0)
    game = load(rules=rules, information=information)
    env = PyramidEnv(rules, information=information)
    for number in range(3):
        deal = Deal.from_number(number)
        observation, info = env.reset(options={"deal": deal})
        state, total, is_over = dealt(game, deal), 0.0, False
        while not is_over:
            assert state.legal_actions_mask() == info["action_mask"].tolist()
            tensor = flatten(env.observation_space, observation)
            assert state.observation_tensor(0) == tensor.tolist()
            assert not any(state.returns())
            action = int(generator.choice(state.legal_actions()))
            observation, reward, is_over, _, info = env.step(action)
            total += reward
            state.apply_action(action)
            deal_on(state, deal)
            assert state.position == env.position
        draw_on(state, deal)
        assert state.returns() == [total]


def draw_on(state: Any, deal: Deal) -> None:
    """To the end: where passes are unlimited a game goes on until all cards have been seen."""
    while not state.is_terminal():
        assert [move_of(state, action) for action in state.legal_actions()] == ["draw"]
        state.apply_action(state.legal_actions()[0])
        deal_on(state, deal)


def move_of(state: Any, action: int) -> str:
    text: str = state.action_to_string(0, action)
    return text


def test_a_lost_game_ends_when_the_player_can_know_it() -> None:
    fair = dealt(load(rules="tuts-tomb"), LOST_FROM_THE_START)
    thoughtful = dealt(load(rules="tuts-tomb", information="thoughtful"), LOST_FROM_THE_START)
    assert thoughtful.is_terminal()
    assert thoughtful.returns() == [0.0]
    assert not fair.is_terminal()
    draw_on(fair, LOST_FROM_THE_START)
    assert fair.returns() == [0.0]
    assert len(fair.moves) == 8  # three cards each


def test_endless_turning_ends_at_the_limit_of_steps() -> None:
    deal = Deal.from_number(WON["tuts-tomb"])
    state = dealt(load(rules="tuts-tomb"), deal)
    turns = 0
    while not state.is_terminal():
        turns += 1
        state.apply_action(state.legal_actions()[-1])  # draw or recycle
        deal_on(state, deal)
    assert turns == step_limit(PRESETS["tuts-tomb"]) == state.get_game().max_game_length()


@pytest.mark.parametrize(("reward", "expected"), [("cards", 28.0), ("win", 1.0)])
def test_a_won_game_returns_its_reward(reward: str, expected: float) -> None:
    deal = Deal.from_number(WON["kawu"])
    game = load(reward=reward)
    state = dealt(game, deal)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
        deal_on(state, deal)
    assert state.returns() == [expected] == [game.max_utility()]


def test_chance_deals_the_cards_that_are_left() -> None:
    state = load().new_initial_state()
    assert state.chance_outcomes() == [(rank, 1 / 13) for rank in range(13)]
    for _ in range(4):
        state.apply_action(12)
    assert state.chance_outcomes() == [(rank, pytest.approx(4 / 48)) for rank in range(12)]
    state.apply_action(0)
    assert dict(state.chance_outcomes())[0] == pytest.approx(3 / 47)
    for outcome in (12, 13):
        with pytest.raises(ValueError, match=f"outcome {outcome} is no rank that is left"):
            state.apply_action(outcome)
    assert not any(state.observation_tensor(0))
    assert state.observation_string(0) == "a card is to be dealt"
    with pytest.raises(ValueError, match="no card is to be dealt"):
        dealt(load(), Deal.from_number(1)).outcome_of(Deal.from_number(1))


def test_a_card_is_dealt_when_it_is_first_seen() -> None:
    deal = Deal.from_number(7)
    state = dealt(load(), deal)
    assert len(state.history()) == 29
    draws = 0
    while draws < 24:
        state.apply_action(state.legal_actions()[-1])
        draws += 1
        assert state.is_chance_node() == (draws < 24)
        deal_on(state, deal)
    assert len(state.history()) == 52 + 24
    state.apply_action(state.legal_actions()[-1])
    assert not state.is_chance_node()


def test_an_information_state_tells_histories_apart_and_an_observation_does_not() -> None:
    deal = Deal.from_number(WON["kawu"])
    pair = move_of(start := dealt(load(), deal), start.legal_actions()[0])
    ways = []
    for moves in ((pair, "draw"), ("draw", pair)):
        way = dealt(load(), deal)
        for move in moves:
            way.apply_action(way.string_to_action(move))
            deal_on(way, deal)
        ways.append(way)
    one, other = ways
    assert one.position == other.position
    assert one.observation_tensor(0) == other.observation_tensor(0)
    assert one.observation_string(0) == other.observation_string(0)
    assert one.information_state_tensor(0) != other.information_state_tensor(0)
    assert one.information_state_string(0) != other.information_state_string(0)


def test_an_information_state_shows_the_cards_dealt_and_the_moves() -> None:
    deal = Deal.from_number(7)
    game = load()
    state = dealt(game, deal)
    state.apply_action(283)
    deal_on(state, deal)
    observer = make_observation(game, INFO_STATE_OBS_TYPE)
    observer.set_from(state, 0)
    ranks = [card % 13 for card in deal.cards[:30]]
    assert observer.dict["cards"].argmax(axis=1)[:30].tolist() == ranks
    assert observer.dict["cards"].sum() == 30
    assert observer.dict["moves"][:2].tolist() == pytest.approx([284 / 285, 0])


def test_states_can_be_copied_and_pickled_and_go_on_alone() -> None:
    deal = Deal.from_number(7)
    state = dealt(load(rules="kawu-1"), deal)
    before = str(state)
    for twin in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert str(twin) == before
        twin.apply_action(twin.legal_actions()[0])
        assert str(twin) != before
    assert str(state) == before


def test_wrong_parameters_and_actions_are_refused() -> None:
    for parameters, message in (
        ({"rules": "none"}, "unknown rules 'none'"),
        ({"information": "open"}, "information='open' is not allowed"),
        ({"reward": "score"}, "reward='score' is not allowed"),
    ):
        with pytest.raises(ValueError, match=message):
            load(**parameters)
    state = dealt(load(), Deal.from_number(7))
    before = str(state)
    with pytest.raises(ValueError, match="action 284 is illegal here"):
        state.apply_action(284)
    assert str(state) == before


def test_mcts_finds_a_win_that_is_near() -> None:
    deal = Deal.from_number(WON["kawu"])
    line = solve(Game(deal), "moves").moves
    game = load(reward="win")
    state = dealt(game, deal)
    for move in line[:-4]:
        state.apply_action(state.string_to_action(str(move)))
        deal_on(state, deal)
    generator = np.random.RandomState(0)
    bot = MCTSBot(game, 1.0, 400, RandomRolloutEvaluator(4, generator), random_state=generator)
    while not state.is_terminal():
        state.apply_action(bot.step(state))
        deal_on(state, deal)
    assert state.returns() == [1.0]


def test_open_spiels_tools_run() -> None:
    text = generate_playthrough.playthrough("python_pyramid(rules=kawu-1)", None, seed=1)
    assert 'GameType.short_name = "python_pyramid"' in text
    env = rl_environment.Environment(load(rules="kawu-1"))
    step = env.reset()
    while not step.last():
        step = env.step([step.observations["legal_actions"][0][0]])
    assert 0 <= step.rewards[0] <= 28


def test_the_module_registers_the_game() -> None:
    assert "python_pyramid" in pyspiel.registered_names()
    assert isinstance(load(), PyramidGame)
