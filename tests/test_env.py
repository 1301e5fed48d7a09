"""`PyramidEnv`: seeds and deals, options, arguments, actions and pictures."""

import copy
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import Error, ResetNeeded
from playing import (
    DRAW,
    LOST_FROM_THE_START,
    WON,
    action_of,
    new_env,
    play_first_legal,
    standing,
)
from positions import deal_with

from pyramid_env import env as env_module
from pyramid_env.deals import Deal
from pyramid_env.env import PyramidEnv
from pyramid_env.rules import PRESETS, Rules


def deal_numbers(env: PyramidEnv, n: int, seed: int | None = None) -> list[int]:
    """The numbers of the deals of the next episodes, from a seed on."""
    first = env.reset(seed=seed)[1]["deal_number"]
    return [first, *(env.reset()[1]["deal_number"] for _ in range(n - 1))]


def test_a_seed_fixes_every_episode_from_there_on() -> None:
    env = PyramidEnv()
    numbers = deal_numbers(env, 10, seed=4)
    assert numbers == deal_numbers(PyramidEnv(), 10, seed=4)
    assert numbers == deal_numbers(env, 10, seed=4)
    assert len(set(numbers)) == 10


def test_episode_k_depends_on_the_seed_and_k_alone() -> None:
    numbers = deal_numbers(PyramidEnv(), 6, seed=4)
    env = PyramidEnv(rules="classic", reward="win")
    assert env.reset(seed=4, options={"deal": 7})[1]["deal_number"] == 7
    play_first_legal(env)
    env.action_space.seed(1)
    assert env.reset()[1]["deal_number"] == numbers[1]
    for _ in range(5):
        env.step(env.action_space.sample())
    with pytest.raises(ValueError, match="no deal has number"):
        env.reset(options={"deal": -1})
    assert env.reset(options={"rules": "par"})[1]["deal_number"] == numbers[2]
    assert "deal_number" not in env.reset(options={"deal": LOST_FROM_THE_START})[1]
    assert deal_numbers(env, 2) == numbers[4:]


def test_training_deals_are_above_those_for_evaluation() -> None:
    numbers = deal_numbers(PyramidEnv(), 300, seed=1)
    assert min(numbers) >= 2**32
    assert max(numbers) < 2**63
    assert max(numbers) > 2**62


def test_different_seeds_and_no_seed_give_different_deals() -> None:
    env = PyramidEnv()
    firsts = [env.reset(seed=seed)[1]["deal_number"] for seed in range(50)]
    unseeded = [PyramidEnv().reset()[1]["deal_number"] for _ in range(5)]
    assert len({*firsts, *unseeded}) == 55


@pytest.mark.parametrize("deal", [5, np.int64(5), np.uint8(5), Deal.from_number(5)])
def test_a_deal_can_be_given_by_its_number_or_as_a_deal(deal: Any) -> None:
    env = new_env(deal)
    assert env.deal == Deal.from_number(5)
    assert env.deal.number == 5
    assert env.step(DRAW)[4]["deal_number"] == 5


def test_a_deal_given_by_its_text_has_no_number() -> None:
    deal = Deal.from_number(5)
    env = new_env(str(deal).lower())
    assert env.deal == deal
    assert env.deal.number is None
    assert "deal_number" not in env.step(DRAW)[4]
    assert env.reset()[1]["deal_number"] == env.deal.number


def test_the_largest_number_is_a_deal() -> None:
    assert new_env(2**64 - 1).step(DRAW)[4]["deal_number"] == 2**64 - 1


def test_rules_can_be_given_for_one_episode() -> None:
    env = PyramidEnv("kawu")
    _, info = env.reset(seed=1, options={"rules": "classic", "deal": 180})
    assert info["passes_left"] == 0
    results = play_first_legal(env)
    assert results[-1][4]["is_success"]
    assert sum(result[1] for result in results) == 52
    assert env.reset()[1]["passes_left"] == 2
    assert env.reset(options={"rules": Rules(passes=8)})[1]["passes_left"] == 7
    assert env.rules == PRESETS["kawu"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deals": 1}, "unknown reset option 'deals': deal and rules are known"),
        ({"reset_mask": None}, "unknown reset option 'reset_mask'"),
        ({1: 2, "x": 3}, "unknown reset option 1: deal and rules are known"),
        ([("deal", 1)], "options=[('deal', 1)] is no dict: deal and rules are known"),
        ({"deal": -1}, "no deal has number -1: a whole number from 0 to 2^64 - 1"),
        ({"deal": 2**64}, "no deal has number 18446744073709551616"),
        ({"deal": 1.5}, "no deal has number 1.5"),
        ({"deal": [1]}, "no deal has number [1]"),
        ({"deal": "6D 5H"}, "a deal has 52 cards, here are 2"),
        ({"deal": 3, "rules": "nope"}, "unknown rules 'nope': use Rules(...) or one of kawu"),
        ({"deal": 3, "rules": None}, "unknown rules None"),
        ({"rules": "tuts-tomb"}, "other places than Rules(goal='pyramid', passes=3"),
        ({"rules": "covered"}, "so other spaces: make an environment of these rules"),
        ({"rules": Rules(reserve=1)}, "reserve=1) has other places than"),
    ],
)
def test_a_wrong_option_is_an_error_and_changes_nothing(options: Any, message: str) -> None:
    env = new_env()
    env.step(DRAW)
    before = standing(env)
    with pytest.raises(ValueError, match=re.escape(message)):
        env.reset(seed=3, options=options)
    assert standing(env) == before


def test_a_wrong_seed_is_an_error_and_changes_nothing() -> None:
    env = new_env()
    before = standing(env)
    with pytest.raises(Error, match=r"[Ss]eed"):
        env.reset(seed=-1, options={"deal": 1, "rules": "classic"})
    assert standing(env) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": "kawu-4"}, "unknown rules 'kawu-4'"),
        ({"information": "open"}, "information='open' is not allowed: 'fair' or 'thoughtful'"),
        ({"reward": "score"}, "reward='score' is not allowed: 'cards' or 'win'"),
        ({"reward": None}, "reward=None is not allowed"),
        ({"illegal_action": "ignore"}, "illegal_action='ignore' is not allowed: 'penalty' or"),
        ({"render_mode": "svg"}, "render_mode='svg' is not allowed: None or one of ansi, rgb_"),
    ],
)
def test_a_wrong_argument_is_an_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        PyramidEnv(**arguments)


def test_an_illegal_action_costs_one_and_changes_nothing() -> None:
    env = new_env()
    observation, _, _, _, info = env.step(DRAW)
    position = env.position
    for illegal in np.flatnonzero(info["action_mask"] == 0):
        again, reward, terminated, truncated, now = env.step(illegal)
        assert (reward, terminated, truncated) == (-1.0, False, False)
        assert now.pop("illegal_action") is True
        assert np.array_equal(now.pop("action_mask"), info["action_mask"])
        assert now == {"pyramid_cards_removed": 0, "passes_left": 2, "deal_number": 5}
        assert np.array_equal(again, observation)
        assert env.position == position
    assert env.step(DRAW)[4]["illegal_action"] is False


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("G1+G3", "G1+G3 (AS+2S): AS and 2S sum to 3, not 13"),
        ("G2", "G2 (3S): 3S is no king, and only kings go alone"),
        ("F1+G3", "F1+G3 (JS+2S): JS covered by cards of the row below"),
        ("G1+W", "G1+W (AS+gone): no card is at W"),
        ("recycle", "recycle: the stock still has cards to draw"),
    ],
)
def test_an_illegal_action_can_be_refused_with_the_reason(move: str, message: str) -> None:
    deal = deal_with({"F1": "JS", "G1": "AS", "G2": "3S", "G3": "2S"})
    env = new_env(deal, illegal_action="raise")
    twin = copy.deepcopy(env)
    action = action_of(move)
    before = standing(env)
    with pytest.raises(ValueError, match=re.escape(f"illegal action {action}, {message}")):
        env.step(action)
    assert standing(env) == before
    result, expected = env.step(DRAW), twin.step(DRAW)
    assert np.array_equal(result[0], expected[0])
    assert standing(env) == standing(twin)


NO_NUMBERS: Any = (None, "3", {}, [3], *map(np.array, ([3], [999], [[3]], [])))


@pytest.mark.parametrize("illegal_action", ["penalty", "raise"])
@pytest.mark.parametrize(
    "action",
    [*(285, -1, 2**62, 2**63, 2**70, 3.0, np.float32(3), True, np.bool_(True)), *NO_NUMBERS],
)
def test_what_is_no_id_is_an_error_and_changes_nothing(action: Any, illegal_action: Any) -> None:
    env = new_env(illegal_action=illegal_action)
    before = standing(env)
    with pytest.raises(ValueError, match="0 to 284"):
        env.step(action)
    assert standing(env) == before


@pytest.mark.parametrize("make", [int, np.int64, np.int32, np.uint16, np.uint64, np.array])
def test_every_whole_number_is_an_id(make: Any) -> None:
    assert new_env().step(make(DRAW))[1] == 0.0


def test_a_first_reset_is_needed() -> None:
    env = PyramidEnv(render_mode="ansi")
    for call in (
        lambda: env.step(0),
        env.action_masks,
        env.render,
        lambda: env.position,
        lambda: env.deal,
    ):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            call()


def test_no_step_follows_the_last() -> None:
    env = new_env(WON["kawu"])
    play_first_legal(env)
    before = standing(env)
    for action in (0, DRAW, 999):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) before the next step"):
            env.step(action)
    assert standing(env) == before
    env.reset()
    env.step(DRAW)


def test_sb3_contrib_finds_the_mask_through_wrappers() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    masking = pytest.importorskip("sb3_contrib.common.maskable.utils")
    envs = vec_env.DummyVecEnv([lambda: gymnasium.make("pyramid_env/Pyramid-v0")] * 2)
    envs.reset()
    masks = masking.get_action_masks(envs)
    assert masks.shape == (2, 285)
    assert (masks.sum(axis=1) > 0).all()


def test_render_without_a_mode_warns() -> None:
    with pytest.warns(UserWarning, match="render_mode"):
        assert new_env().render() is None


def test_render_gives_a_text_or_a_picture_and_changes_nothing() -> None:
    assert isinstance(new_env(render_mode="ansi").render(), str)
    env = new_env(render_mode="rgb_array")
    before = standing(env)
    picture = env.render()
    assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)
    assert standing(env) == before


def test_a_window_shows_every_position_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[Any] = []

    class Window:
        def show(self, image: Any, fps: int) -> None:
            log.append((image.ndim, fps))

        def close(self) -> None:
            log.append("closed")

    monkeypatch.setattr(env_module, "Window", Window)
    env = new_env(render_mode="human")
    env.step(DRAW)
    assert env.render() is None
    env.close()
    env.close()
    assert log == [(3, 2), (3, 2), (3, 2), "closed"]
