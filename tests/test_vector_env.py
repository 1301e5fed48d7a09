"""`PyramidVectorEnv`: the games of `PyramidEnv`, deals, options, fresh arrays, no loop."""

import copy
import re
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.error import Error, ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers
from playing import (
    DRAW,
    LOST_FROM_THE_START,
    RECYCLE,
    assert_same,
    mostly_legal,
    new_envs,
    standing,
)

from pyramid_env.actions import sample_actions
from pyramid_env.deals import Deal
from pyramid_env.env import PyramidEnv
from pyramid_env.observation import Information
from pyramid_env.rules import PRESETS
from pyramid_env.vector_env import PyramidVectorEnv


@pytest.mark.parametrize("information", ["fair", "thoughtful"])
@pytest.mark.parametrize("rules", PRESETS)
def test_every_game_goes_step_by_step_as_in_the_scalar_environment(
    rules: str, information: Information
) -> None:
    generator = np.random.default_rng(1)
    reward = "win" if information == "thoughtful" else "cards"
    arguments: Any = {"rules": rules, "information": information, "reward": reward}
    envs: Any = wrappers.DictInfoToList(PyramidVectorEnv(12, **arguments))
    going = [PyramidEnv(**arguments) for _ in range(12)]
    observations, infos = envs.reset(options={"deal": np.arange(12)})
    for i, env in enumerate(going):
        observation, info = env.reset(options={"deal": i})
        assert_same(observations[i], observation)
        assert_same(infos[i], info)
    rows = list(range(12))
    while rows:
        masks = np.array([info["action_mask"] for info in infos])
        actions = mostly_legal(masks, generator)
        *arrays, infos = envs.step(actions)
        for i in rows.copy():
            *results, info = going[i].step(actions[i])
            for ours, theirs in zip(arrays, results, strict=True):
                assert_same(ours[i], theirs)
            assert_same(infos[i], info)
            if results[2]:
                rows.remove(i)


def test_a_seed_fixes_every_deal() -> None:
    envs = PyramidVectorEnv(4)
    numbers = [envs.reset(seed=seed)[1]["deal_number"].tolist() for seed in (3, None, 3, None, 4)]
    assert numbers[:2] == numbers[2:4]
    assert len({number for row in (numbers[0], numbers[1], numbers[4]) for number in row}) == 12
    assert min(map(min, numbers)) >= 2**32
    assert PyramidVectorEnv(4).reset()[1]["deal_number"].tolist() not in numbers


def test_the_deals_of_a_game_depend_on_the_seed_and_its_index_alone() -> None:
    """Whatever the number of games, however long the others last, however a game is reset."""
    one_by_one = PyramidVectorEnv(5)
    expected = [one_by_one.reset(seed=3)[1]["deal_number"][1]]
    expected += [one_by_one.reset()[1]["deal_number"][1] for _ in range(4)]
    for num_envs, mode in ((2, "NextStep"), (9, "SameStep"), (3, "Disabled")):
        envs = PyramidVectorEnv(num_envs, "kawu-1", autoreset_mode=mode)
        dealt = [envs.reset(seed=3)[1]["deal_number"][1]]
        while len(dealt) < 5:
            actions = envs.action_masks().argmax(axis=1)
            actions[0] = RECYCLE
            _, _, terminated, _, infos = envs.step(actions)
            if mode == "Disabled" and terminated.any():
                infos = envs.reset(options={"reset_mask": terminated})[1]
            if infos["deal_number"][1] != dealt[-1]:
                dealt.append(infos["deal_number"][1])
        assert dealt == expected


def test_a_given_deal_counts_as_an_episode_and_a_seed_can_be_for_some_games() -> None:
    plain, given = PyramidVectorEnv(2), PyramidVectorEnv(2)
    numbers = [plain.reset(seed=seed)[1]["deal_number"] for seed in (3, None, None, None)]
    other = plain.reset(seed=4)[1]["deal_number"]
    given.reset(seed=3, options={"deal": 5})
    given.reset(options={"deal": [5, LOST_FROM_THE_START]})
    assert np.array_equal(given.reset()[1]["deal_number"], numbers[2])
    given.reset(seed=4, options={"reset_mask": np.array([True, False])})
    assert [deal.number for deal in given.deals()] == [other[0], numbers[2][1]]
    given.reset(options={"reset_mask": np.array([False, True])})
    assert given.deals()[1].number == numbers[3][1]


FIVE = Deal.from_number(5)


@pytest.mark.parametrize(
    ("deal", "numbers"),
    [
        (5, [5, 5, 5]),
        (np.int64(5), [5, 5, 5]),
        (FIVE, [5, 5, 5]),
        (str(FIVE), [None, None, None]),
        ([1, 2**64 - 1, 3], [1, 2**64 - 1, 3]),
        (range(3), [0, 1, 2]),
        (np.array([4, 0, 2**63], dtype=np.uint64), [4, 0, 2**63]),
        ((FIVE, str(FIVE), 5), [5, None, 5]),
        ([str(FIVE)] * 3, [None, None, None]),
    ],
)
def test_deals_can_be_given_in_many_forms(deal: Any, numbers: list[int | None]) -> None:
    envs = PyramidVectorEnv(3)
    _, infos = envs.reset(options={"deal": deal})
    assert [found.number for found in envs.deals()] == numbers
    assert infos["_deal_number"].tolist() == [number is not None for number in numbers]
    for found, number in zip(envs.deals(), numbers, strict=True):
        assert found == (FIVE if number is None else Deal.from_number(number))


def test_only_the_games_that_are_reset_get_their_deals() -> None:
    envs = new_envs(3)
    envs.step(np.array([DRAW] * 3))
    for deals in ([7, 8, 9], [Deal.from_number(7), 8, 9]):
        mask = np.array([True, False, True])
        envs.reset(options={"deal": deals, "reset_mask": mask})
        assert [deal.number for deal in envs.deals()] == [7, 1, 9]
        assert envs.deals() == [Deal.from_number(number) for number in (7, 1, 9)]
        assert (envs.positions == 2**52 - 1).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "kawu"}, "unknown reset option 'rules': deal and reset_mask are known"),
        ({1: 2, "x": 3}, "unknown reset option 1"),
        ("deal", "options='deal' is no dict"),
        ({"deal": -1}, "no deal has number -1"),
        ({"deal": [1, 2]}, "2 deals for 3 games: give one a game"),
        ({"deal": []}, "0 deals for 3 games"),
        ({"deal": [1, 2, -3]}, "no deal has number -3"),
        ({"deal": [1, 2, 2**64]}, "no deal has number 18446744073709551616"),
        ({"deal": [1.0, 2.0, 3.0]}, "no deal has number 1.0"),
        ({"deal": [1, True, 3]}, "no deal has number True"),
        ({"deal": np.arange(6).reshape(3, 2)}, "no deal has number array([0, 1])"),
        ({"deal": [1, [2, 3], 4]}, "no deal has number [2, 3]"),
        ({"deal": [FIVE, FIVE, "6D"]}, "a deal has 52 cards, here are 1"),
        ({"reset_mask": [True, True, True]}, "reset_mask must be a bool array of shape (3,)"),
        ({"reset_mask": np.ones(3)}, "reset_mask must be a bool array of shape (3,)"),
        ({"reset_mask": np.ones(2, bool)}, "reset_mask must be a bool array of shape (3,)"),
        ({"reset_mask": np.zeros(3, bool), "deal": 3}, "with at least one True"),
        ({"reset_mask": np.ones(3, bool), "deal": "x"}, "cannot read 'x' as a card"),
    ],
)
def test_a_wrong_option_is_an_error_and_changes_nothing(options: Any, message: str) -> None:
    envs = new_envs(3)
    envs.step(np.array([DRAW] * 3))
    before = standing(envs)
    with pytest.raises(ValueError, match=re.escape(message)):
        envs.reset(seed=3, options=options)
    with pytest.raises(Error, match=r"[Ss]eed"):
        envs.reset(seed=-1)
    assert standing(envs) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *[({"num_envs": n}, f"num_envs={n!r} is not allowed") for n in (0, -1, 2.0, True, "3")],
        ({"max_episode_steps": 0}, "max_episode_steps=0 is not allowed: a whole number from 1"),
        ({"reward": "score"}, "reward='score' is not allowed: 'cards' or 'win'"),
        ({"reward": lambda *_: 0.0}, "a reward function is for the scalar environment"),
        ({"render_mode": "human"}, "render_mode='human' is not allowed: None, 'ansi' or"),
        ({"autoreset_mode": "sometimes"}, "'sometimes' is not a valid AutoresetMode"),
        ({"information": "open"}, "information='open' is not allowed"),
        ({"rules": "kawu-4"}, "unknown rules 'kawu-4'"),
    ],
)
def test_a_wrong_argument_is_an_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        PyramidVectorEnv(**arguments)


def test_a_first_reset_of_all_games_is_needed() -> None:
    envs = PyramidVectorEnv(2, render_mode="ansi")
    with pytest.raises(ResetNeeded, match="leave reset_mask out"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    for call in (lambda: envs.step(np.array([0, 0])), envs.action_masks, envs.render, envs.deals):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    with pytest.raises(ResetNeeded):
        _ = envs.positions


@pytest.mark.parametrize("copies", [True, False])
def test_a_refused_action_names_its_game_and_moves_none(copies: bool) -> None:
    envs = new_envs(3, illegal_action="raise", copy=copies)
    observations, *_, infos = envs.step(np.array([DRAW] * 3))
    shown = observations.copy(), infos["action_mask"].copy()
    before = standing(envs)
    for action, message in (
        (RECYCLE, "illegal action 284 of game 1, recycle: the stock still has cards to draw"),
        (285, "action 285 of game 1 is no id: 0 to 284"),
        (-1, "action -1 of game 1 is no id: 0 to 284"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            envs.step(np.array([DRAW, action, DRAW]))
        assert standing(envs) == before
        assert np.array_equal(observations, shown[0])
        assert np.array_equal(infos["action_mask"], shown[1])
    envs.step(np.array([DRAW] * 3))


NO_ACTIONS = (
    None,
    3,
    [1, 2],
    [[1, 2, 3]],
    [1.0, 2.0, 3.0],
    [True, False, True],
    "abc",
    [1, 2, 2**70],
)


@pytest.mark.parametrize("actions", NO_ACTIONS)
def test_what_are_no_actions_is_an_error_and_changes_nothing(actions: Any) -> None:
    envs = new_envs(3)
    before = standing(envs)
    with pytest.raises(ValueError, match=r"actions must be integers of shape \(3,\), not "):
        envs.step(actions)
    assert standing(envs) == before


def test_actions_may_be_of_any_integer_dtype_and_a_list() -> None:
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        envs = new_envs(3)
        assert envs.step(np.array([1, 2, 3], dtype=dtype))[1].tolist() == [-1.0] * 3
    assert new_envs(3).step([1, 2, 3])[1].tolist() == [-1.0] * 3  # type: ignore[arg-type]


def arrays_of(value: Any) -> list[Any]:
    """All arrays in a result of reset or step, and in its infos."""
    if isinstance(value, (tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return [array for part in parts for array in arrays_of(part)]
    if value is None:
        return []
    return [*arrays_of(tuple(value)), value] if value.dtype == object else [value]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_every_call_gives_fresh_arrays(mode: AutoresetMode) -> None:
    """Written over at once, they change nothing later, and nothing changes them."""
    envs, twins = (new_envs(4, rules="kawu-1", autoreset_mode=mode) for _ in range(2))
    kept: list[tuple[Any, Any]] = []
    over = np.zeros(4, dtype=np.bool_)
    for n_steps in range(120):
        actions = envs.action_masks().argmax(axis=1)
        results = [envs.step(actions)]
        assert_same(results[0], twins.step(actions))
        over = results[0][2].copy()
        if mode == AutoresetMode.DISABLED and over.any():
            results.append(envs.reset(options={"reset_mask": over}))  # type: ignore[arg-type]
            twins.reset(options={"reset_mask": over.copy()})
        for array in arrays_of((*results, envs.action_masks(), envs.positions)):
            assert not any(np.shares_memory(array, other) for other, _ in kept[-40:])
            if array.dtype != object:
                array[...] = n_steps  # another value each time
                kept.append((array, array.copy()))
    assert all(np.array_equal(array, as_it_was) for array, as_it_was in kept)


def test_without_copies_everything_lies_in_the_same_place() -> None:
    envs, twins = new_envs(4, copy=False), new_envs(4)
    first = envs.reset(seed=3)
    assert_same(first, twins.reset(seed=3))
    rewards = []
    for _ in range(60):
        actions = first[1]["action_mask"].argmax(axis=1)
        results = envs.step(actions)
        assert_same(results, twins.step(actions))
        assert results[0] is first[0]
        assert results[4]["action_mask"] is first[1]["action_mask"]
        rewards.append(results[1])
    assert np.shares_memory(rewards[0], rewards[1])


def test_one_game_is_a_vector_too() -> None:
    envs = PyramidVectorEnv()
    observations, infos = envs.reset(seed=1)
    assert envs.num_envs == len(observations) == 1
    assert observations in envs.observation_space
    assert infos["action_mask"].shape == (1, 285)
    assert envs.step(np.array([DRAW]))[1].shape == (1,)


def test_a_copy_plays_on_alone() -> None:
    envs = new_envs(3, rules="kawu-1")
    envs.step(np.array([DRAW] * 3))
    twins, untouched = copy.deepcopy(envs), copy.deepcopy(envs)
    generator = np.random.default_rng(0)
    for _ in range(100):
        actions = mostly_legal(envs.action_masks(), generator)
        assert_same(envs.step(actions), twins.step(actions))
    assert_same(envs.reset()[0], twins.reset()[0])
    assert untouched.deals() == [Deal.from_number(i) for i in range(3)]


def test_render_gives_one_picture_a_game() -> None:
    assert new_envs(2).render() is None
    texts = new_envs(2, render_mode="ansi").render()
    scalar = PyramidEnv(render_mode="ansi")
    scalar.reset(options={"deal": 1})
    assert isinstance(texts, tuple)
    assert len(texts) == 2
    assert texts[1] == scalar.render()
    pictures = new_envs(2, render_mode="rgb_array").render()
    assert pictures is not None
    assert [picture.dtype for picture in pictures] == [np.uint8] * 2


def n_python_calls(num_envs: int, mode: AutoresetMode) -> int:
    """Function calls that sampling and stepping take, until just after all games have ended."""
    envs = PyramidVectorEnv(num_envs, autoreset_mode=mode)
    _, infos = envs.reset(seed=1, options={"deal": np.zeros(num_envs, dtype=np.uint64)})
    generator = np.random.default_rng(1)
    n_calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        over, n_after = np.zeros(num_envs, dtype=np.bool_), 0
        while n_after < 3:
            sample_actions(infos["action_mask"], generator)
            if mode == AutoresetMode.DISABLED and over.any():
                _, infos = envs.reset(options={"reset_mask": over})
            _, _, over, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
            n_after += bool(over.any() or n_after)
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("mode", AutoresetMode)
def test_no_python_runs_once_a_game(mode: AutoresetMode) -> None:
    assert n_python_calls(8, mode) == n_python_calls(4096, mode) > 100


@pytest.mark.parametrize("mode", AutoresetMode)
def test_threads_share_the_games_and_change_nothing(mode: AutoresetMode) -> None:
    shared, alone = (
        PyramidVectorEnv(7, "kawu-1", autoreset_mode=mode, num_threads=n) for n in (3, 1)
    )
    _, infos = shared.reset(seed=5)
    alone.reset(seed=5)
    for _ in range(40):
        actions = infos["action_mask"].argmax(axis=1)
        results = shared.step(actions)
        assert_same(results, alone.step(actions))
        infos = results[4]
        over = results[2] | results[3]
        if mode == AutoresetMode.DISABLED and over.any():
            _, infos = shared.reset(options={"reset_mask": over})
            alone.reset(options={"reset_mask": over})
    again = copy.deepcopy(shared)
    shared.close()
    assert_same(again.step(actions)[0], alone.step(actions)[0])
    again.close()


def test_there_may_be_more_threads_than_games() -> None:
    envs = PyramidVectorEnv(2, num_threads=5)
    envs.reset(seed=1)
    assert envs.step(np.array([DRAW, DRAW]))[1].tolist() == [0, 0]
    envs.close()


@pytest.mark.parametrize("num_threads", [0, -1, 1.5, True])
def test_threads_are_counted_from_one(num_threads: Any) -> None:
    with pytest.raises(ValueError, match=f"num_threads={num_threads} is not allowed: a whole"):
        PyramidVectorEnv(2, num_threads=num_threads)
