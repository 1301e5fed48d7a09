"""Episodes: limits, ends and rewards, and the kernels' promises to both environments."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from playing import (
    DRAW,
    LOST_FROM_THE_START,
    RECYCLE,
    WON,
    action_of,
    new_env,
    new_envs,
    play_first_legal,
)
from positions import deal_with

from pyramid_env.deals import Deal, training_number
from pyramid_env.engine import Position
from pyramid_env.env import PyramidEnv
from pyramid_env.episode import Episodes, Result, step_limit
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.stepping import RESULT_DTYPE, begin, deal_numbered, step
from pyramid_env.vector_env import PyramidVectorEnv

ONE_ROW = np.ones(1, dtype=np.bool_)


def test_a_result_has_the_fields_of_its_record() -> None:
    assert Result._fields == RESULT_DTYPE.names


@pytest.mark.parametrize("rules", PRESETS)
def test_episodes_of_every_preset_are_cut_after_a_thousand_steps(rules: str) -> None:
    assert step_limit(PRESETS[rules]) == 1000


def test_no_legal_game_is_cut_where_passes_are_limited() -> None:
    assert step_limit(Rules(passes=127)) == 52 + 127 * 24 + 126
    assert step_limit(Rules(passes=37, reserve=0)) == 1000
    assert step_limit(Rules(passes=38)) == 52 + 38 * 24 + 37
    assert step_limit(Rules(passes=None)) == 1000


def test_each_row_has_its_own_sequence_of_training_deals() -> None:
    episodes = Episodes(3, Rules())
    rows = np.array([True, False, True])
    keys = np.array([11, 12, 13], dtype=np.uint64)
    episodes.seed(keys, np.ones(3, dtype=np.bool_))
    for episode, chosen in enumerate((rows, rows, ~rows)):
        episodes.deal_training(chosen)
        for i in np.flatnonzero(chosen):
            k = episode if rows[i] else 0
            number = training_number(keys[i], np.uint64(k))
            assert episodes.states["deal_number"][i] == number
            assert episodes.states["cards"][i].tolist() == list(Deal.from_number(number).cards)
    episodes.seed(keys, rows)
    assert episodes.states["n_episodes"].tolist() == [0, 1, 0]


def test_given_deals_take_the_place_of_a_training_deal() -> None:
    given, numbered = Episodes(1, Rules()), Episodes(1, Rules())
    given.deal_given([Deal.from_number(7)], ONE_ROW)
    numbered.deal_numbers(np.array([7], dtype=np.uint64), ONE_ROW)
    for episodes in (given, numbered):
        assert episodes.states["deal_number"].tolist() == [7]
        episodes.deal_training(ONE_ROW)
        expected = training_number(np.uint64(0), np.uint64(1))
        assert episodes.states["deal_number"].tolist() == [expected]


@pytest.mark.parametrize("refused", [-1, 285, RECYCLE])
def test_one_refused_action_stops_every_row(refused: int) -> None:
    episodes = Episodes(3, Rules(), illegal_action="raise")
    everyone = np.ones(3, dtype=np.bool_)
    episodes.deal_training(everyone)
    outputs = episodes.empty_outputs()
    episodes.begin(everyone, outputs)
    assert episodes.first_refused(np.array([DRAW, DRAW, refused])) == 2
    assert episodes.first_refused(np.array([DRAW] * 3)) == -1
    shown = outputs.observations.copy()
    assert episodes.step(np.array([DRAW] * 3), outputs) == 0
    assert not np.array_equal(outputs.observations, shown)


@pytest.mark.parametrize("mode", ["raise", "penalty"])
def test_one_refused_action_stops_every_game(mode: Any) -> None:
    envs = PyramidVectorEnv(3, illegal_action=mode, copy=False)
    observations, infos = envs.reset(seed=0)
    held = [observations, infos["action_mask"], infos["passes_left"], envs._episodes.states]
    before = [array.copy() for array in held]
    for refused in (-1, 285) if mode == "penalty" else (-1, 285, RECYCLE):
        with pytest.raises(ValueError, match=f"action {refused} of game 2"):
            envs.step(np.array([DRAW, DRAW, refused]))
        assert all(map(np.array_equal, held, before))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_runs_the_machine_code_that_is_there(again: Callable[[Any], Any]) -> None:
    env = new_env()
    envs = PyramidVectorEnv(2)
    for one in (env, envs):
        one.reset()
    env.step(DRAW)
    envs.step([DRAW, DRAW])  # type: ignore[arg-type]
    compiled = len(step.signatures), len(begin.signatures)  # type: ignore[attr-defined]
    again(env).step(DRAW)
    again(env).reset()
    again(envs).step(np.array([DRAW, DRAW]))
    assert (len(step.signatures), len(begin.signatures)) == compiled  # type: ignore[attr-defined]


def test_arrays_of_any_layout_run_the_machine_code_that_is_there() -> None:
    envs = new_envs(2, deal=np.array([3, 4], dtype=np.uint64))
    envs.step(np.array([DRAW, DRAW]))
    kernels: Any = (step, begin, deal_numbered)
    compiled = [len(kernel.signatures) for kernel in kernels]
    actions, mask, numbers = np.full(4, DRAW), np.ones(4, np.bool_), np.arange(4, dtype=np.uint64)
    for array in (actions, mask, numbers):
        array.flags.writeable = False
    envs.step(actions[::2])
    envs.step(actions[:2])
    envs.reset(options={"deal": numbers[::2], "reset_mask": mask[::2]})
    assert [deal.number for deal in envs.deals()] == [0, 2]
    envs.reset(options={"deal": numbers[:2], "reset_mask": mask[:2]})
    assert [len(kernel.signatures) for kernel in kernels] == compiled


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_row_begins_anew_as_the_autoreset_mode_says(mode: AutoresetMode) -> None:
    envs = PyramidVectorEnv(1, "tuts-tomb", autoreset_mode=mode)
    envs.reset(seed=1, options={"deal": LOST_FROM_THE_START})
    _, _, terminated, _, infos = envs.step(np.array([0]))
    assert terminated.tolist() == [True]
    assert infos["_deal_number"].tolist() == [mode == AutoresetMode.SAME_STEP]
    if mode == AutoresetMode.DISABLED:
        with pytest.raises(ResetNeeded, match="game 0 is over"):
            envs.step(np.array([0]))
    else:
        assert envs.step(np.array([0]))[4]["_deal_number"].tolist() == [True]


def test_illegal_actions_alone_end_an_episode_after_a_thousand() -> None:
    env = new_env()
    for _ in range(2):
        assert not any(env.step(RECYCLE)[3] for _ in range(999))
        _, reward, terminated, truncated, info = env.step(RECYCLE)
        assert (reward, terminated, truncated) == (-1.0, False, True)
        assert info["is_success"] is False
        assert info["action_mask"].all()
        assert env.action_masks().all()
        with pytest.raises(ResetNeeded):
            env.step(DRAW)
        env.reset()


def test_endless_turning_ends_an_episode_after_a_thousand() -> None:
    env = new_env(rules=Rules(passes=None), illegal_action="raise")
    for n_steps in range(1, 1001):
        action = DRAW if env.action_masks()[DRAW] else RECYCLE
        _, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated) == (0.0, False, n_steps == 1000)
        assert info["passes_left"] == -1
    assert info["action_mask"].all()


def test_the_limit_is_that_of_the_rules_of_the_episode() -> None:
    env = PyramidEnv()
    env.reset(options={"rules": Rules(passes=127)})
    longest = 52 + 127 * 24 + 126
    ends = [env.step(RECYCLE)[3] for _ in range(longest)]
    assert ends.index(True) == longest - 1


def test_a_game_that_ends_at_the_limit_is_not_truncated() -> None:
    n_legal = len(play_first_legal(new_env(WON["kawu"])))
    env = new_env(WON["kawu"])
    for _ in range(1000 - n_legal):
        env.step(RECYCLE)
    results = play_first_legal(env)
    assert len(results) == n_legal
    assert results[-1][2:4] == (True, False)
    assert results[-1][4]["is_success"]


@pytest.mark.parametrize("illegal_action", ["penalty", "raise"])
@pytest.mark.parametrize("action", [0, 250])
def test_a_game_lost_from_the_start_ends_by_any_action(action: int, illegal_action: Any) -> None:
    def reward(before: Position, after: Position, rules: Rules) -> float:
        raise AssertionError("no move was played")

    chosen: Any
    for chosen in ("cards", reward):
        env = PyramidEnv("tuts-tomb", reward=chosen, illegal_action=illegal_action)
        first, info = env.reset(options={"deal": LOST_FROM_THE_START})
        assert info["action_mask"].all()
        last, reward_of_step, terminated, truncated, info = env.step(action)
        assert (reward_of_step, terminated, truncated) == (0.0, True, False)
        assert (info["illegal_action"], info["is_success"]) == (False, False)
        assert info["action_mask"].all()
        assert np.array_equal(first, last)


@pytest.mark.parametrize(("rules", "goal_size"), [("kawu", 28), ("tuts-tomb", 28), ("par", 52)])
def test_the_return_in_cards_is_the_number_of_the_goals_cards(rules: str, goal_size: int) -> None:
    results = play_first_legal(new_env(WON[rules], rules=rules))
    assert sum(result[1] for result in results) == goal_size
    assert results[-1][4]["pyramid_cards_removed"] == 28
    assert {result[1] for result in results} <= {0.0, 1.0, 2.0}


def test_a_stock_card_counts_only_where_the_goal_is_all() -> None:
    deal = deal_with({"G1": "AS"}, "QS KC KD")
    for rules, pair, king in (("kawu", 1.0, 0.0), ("par", 2.0, 1.0)):
        env = new_env(deal, rules=rules)
        assert [env.step(action_of(move))[1] for move in ("G1+S", "S")] == [pair, king]


@pytest.mark.parametrize("rules", WON)
def test_a_win_is_rewarded_once(rules: str) -> None:
    rewards = [
        result[1] for result in play_first_legal(new_env(WON[rules], rules=rules, reward="win"))
    ]
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_a_defeat_is_rewarded_with_nothing_and_an_illegal_action_still_costs() -> None:
    env = new_env(1, reward="win")
    assert env.step(RECYCLE)[1] == -1.0
    results = play_first_legal(env)
    assert not results[-1][4]["is_success"]
    assert all(result[1] == 0.0 for result in results)


def test_a_reward_function_is_asked_about_legal_moves() -> None:
    calls = []

    def reward(before: Position, after: Position, rules: Rules) -> float:
        calls.append((before, after, rules))
        return np.float32(0.5)  # type: ignore[return-value]

    env = PyramidEnv(reward=reward)
    env.reset(options={"deal": 5, "rules": "par"})
    start = env.position
    rewards = [env.step(action)[1] for action in (DRAW, RECYCLE, DRAW)]
    assert rewards == [0.5, -1.0, 0.5]
    assert type(rewards[0]) is float
    assert [type(position) for call in calls for position in call[:2]] == [int] * 4
    assert calls[0][0] == start
    assert calls[0][1] == calls[1][0] != start
    assert calls[1][1] == env.position
    assert calls[0][2] == PRESETS["par"]
