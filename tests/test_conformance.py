"""What every environment holds: Gymnasium's and SB3's own checks, and ours on random play."""

import copy
import pickle
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ReferenceGame, ReferenceRules

import pyramid_env
from pyramid_env.actions import action_table
from pyramid_env.cards import card_text
from pyramid_env.deals import Deal
from pyramid_env.env import PyramidEnv
from pyramid_env.episode import step_limit
from pyramid_env.observation import Information, observe, position_from_observation
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.vector_env import PyramidVectorEnv

ID = "pyramid_env/Pyramid-v0"
OUR_IDS = [name for name in gymnasium.registry if name.startswith("pyramid_env/")]
INFORMATION: tuple[Information, ...] = ("fair", "thoughtful")
ILLEGAL_SHARE = 0.1


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def test_the_environment_is_registered() -> None:
    assert pyramid_env.__version__
    assert ID in OUR_IDS


@pytest.mark.parametrize("name", OUR_IDS)
def test_gymnasium_finds_no_fault_in_any_of_our_ids(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("information", INFORMATION)
@pytest.mark.parametrize("rules", PRESETS)
def test_gymnasium_finds_no_fault_in_any_preset(rules: str, information: Information) -> None:
    env = gymnasium.make(ID, rules=rules, information=information)
    check_env(env.unwrapped, skip_render_check=True)  # each render mode is tried once, above


@pytest.mark.parametrize("information", INFORMATION)
@pytest.mark.parametrize("rules", PRESETS)
def test_stable_baselines3_finds_no_fault_in_any_preset(
    rules: str, information: Information
) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(ID, rules=rules, information=information).unwrapped)


@pytest.mark.parametrize("information", INFORMATION)
@pytest.mark.parametrize("rules", PRESETS)
def test_random_games_of_every_preset_go_as_the_reference_says(
    rules: str, information: Information
) -> None:
    for number in range(4):
        RandomGame(PRESETS[rules], information, number).play_and_check()


@settings(max_examples=40)
@given(
    rules=st.builds(
        Rules,
        goal=st.sampled_from(["pyramid", "all"]),
        passes=st.sampled_from([None, 1, 2, 3, 11, 12, 127]),
        draw=st.integers(1, 24),
        stock_playable=st.booleans(),
        covered_pairs=st.booleans(),
        reserve=st.integers(0, 7),
    ),
    information=st.sampled_from(INFORMATION),
    number=st.integers(0, 2**32),
)
def test_random_games_of_any_rules_go_as_the_reference_says(
    rules: Rules, information: Information, number: int
) -> None:
    RandomGame(rules, information, number).play_and_check()


class RandomGame:
    """One game of random actions, a few of them illegal, with copies of the environment."""

    def __init__(self, rules: Rules, information: Information, number: int) -> None:
        self.rules = rules
        self.information = information
        self.number = number
        self.table = action_table(rules)
        self.generator = np.random.default_rng(number)
        self.env = PyramidEnv(rules, information=information)
        self.copies: list[PyramidEnv] = []
        self.copy_at = int(self.generator.integers(40))
        deal = [card_text(card) for card in Deal.from_number(number).cards]
        self.reference = ReferenceGame(deal, ReferenceRules(**asdict(rules)))
        self.kept: list[tuple[Any, Any]] = []

    def play_and_check(self) -> None:
        observation, info = self.env.reset(options={"deal": self.number})
        assert info.keys() == {
            "action_mask", "pyramid_cards_removed", "passes_left", "deal_number"
        }  # fmt: skip
        self.check_shown(observation, info)
        n_steps, total, n_illegal, is_over = 0, 0.0, 0, False
        while not is_over:
            if n_steps == self.copy_at:
                self.copies = [copy.deepcopy(self.env), pickle.loads(pickle.dumps(self.env))]
            action = self.choose()
            result = self.env.step(action)
            for twin in self.copies:
                _assert_same(twin.step(action), result)
            is_over = self.check_step(action, result)
            n_steps += 1
            total += result[1]
            n_illegal += result[4]["illegal_action"]
        assert total + n_illegal == self.reference.goal_cards_removed
        assert n_steps <= step_limit(self.rules)
        assert n_steps - n_illegal <= (self.rules.longest_game or step_limit(self.rules))
        assert all(np.array_equal(array, as_it_was) for array, as_it_was in self.kept)
        next_episode = self.env.reset()
        for twin in self.copies:
            _assert_same(twin.reset(), next_episode)

    def choose(self) -> int:
        wants_illegal = self.generator.random() < ILLEGAL_SHARE
        mask = self.env.action_masks().astype(bool)
        return int(self.generator.choice(np.flatnonzero(mask != wants_illegal)))

    def check_step(self, action: int, result: Any) -> bool:
        observation, reward, terminated, truncated, info = result
        move = str(self.table[action])
        before = self.reference.goal_cards_removed
        is_legal = move in self.reference.legal_moves()
        if is_legal:
            self.reference.play(move)
        assert reward == (self.reference.goal_cards_removed - before if is_legal else -1)
        assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
        assert terminated == (self.reference.is_won or self.reference.is_lost)
        assert not truncated
        assert info["illegal_action"] is not is_legal
        assert ("is_success" in info) == terminated
        if terminated:
            assert info["is_success"] is self.reference.is_won
        self.check_shown(observation, info)
        return bool(terminated)

    def check_shown(self, observation: Any, info: dict[str, Any]) -> None:
        assert observation in self.env.observation_space
        assert observation.dtype == np.int16
        assert observation.tolist() == self.reference.observation(
            thoughtful=self.information == "thoughtful"
        )
        position, deal = position_from_observation(observation, self.rules)
        again = observe(position, deal, self.rules, self.information)
        assert again.tolist() == observation.tolist()

        mask = info["action_mask"]
        assert (mask.dtype, mask.shape) == (np.int8, (len(self.table),))
        assert mask.tolist() == self.env.action_masks().tolist()
        legal = {str(self.table[action]) for action in np.flatnonzero(mask == 1).tolist()}
        assert legal == (self.reference.legal_moves() or set(map(str, self.table)))
        assert set(mask.tolist()) <= {0, 1}

        assert _figures(info) == (
            self.reference.score,
            -1 if self.reference.passes_left is None else self.reference.passes_left,
            self.number,
        )
        assert [type(figure) for figure in _figures(info)] == [int, int, np.uint64]
        self.spoil(observation, mask)

    def spoil(self, *arrays: Any) -> None:
        """Write into what was given out: nothing later may change by it, nor it by later steps."""
        for array in arrays:
            array[:] = self.generator.integers(100)
            self.kept.append((array, array.copy()))


def _figures(info: dict[str, Any]) -> tuple[Any, ...]:
    return info["pyramid_cards_removed"], info["passes_left"], info["deal_number"]


def _assert_same(first: Any, second: Any) -> None:
    """Compare results of reset or step: tuples and dicts of arrays and numbers."""
    assert type(first) is type(second)
    if isinstance(first, tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            _assert_same(one, other)
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            _assert_same(first[key], second[key])
    else:
        assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (None, PyramidVectorEnv),
        ("vector_entry_point", PyramidVectorEnv),
        ("sync", SyncVectorEnv),
        ("async", AsyncVectorEnv),
    ],
)
def test_make_vec_makes_every_kind_of_vector_environment(
    mode: str | None, kind: type[VectorEnv[Any, Any, Any]]
) -> None:
    envs = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode=mode, rules="reserve", information="thoughtful"
    )
    assert type(envs) is kind
    assert envs.num_envs == 2
    assert envs.single_action_space.n == len(action_table(PRESETS["reserve"]))  # type: ignore[attr-defined]
    observations, infos = envs.reset(seed=3)
    assert observations in envs.observation_space
    assert observations.dtype == np.int16
    actions = infos["action_mask"].argmax(axis=1)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
    assert observations in envs.observation_space
    assert not infos["illegal_action"].any()
    assert rewards.shape == terminated.shape == truncated.shape == (2,)
    envs.close()


def test_make_passes_every_argument_on() -> None:
    mine = Rules(passes=2, reserve=1)
    env: Any = gymnasium.make(
        ID,
        rules=mine,
        information="thoughtful",
        reward="win",
        render_mode="ansi",
        illegal_action="raise",
    ).unwrapped
    assert (env.rules, env.render_mode) == (mine, "ansi")
    assert env.spec.kwargs["rules"] == mine
    observation, info = env.reset(seed=1)
    assert 14 not in observation
    illegal = int(info["action_mask"].argmin())
    with pytest.raises(ValueError, match=f"illegal action {illegal}, "):
        env.step(illegal)
    assert isinstance(env.render(), str)


def test_the_picture_draws_nothing_from_the_generator_of_the_deals() -> None:
    seen, unseen = (PyramidEnv(render_mode=mode) for mode in ("rgb_array", None))
    for env in (seen, unseen):
        env.reset(seed=5)
    seen.render()
    assert seen.reset()[1]["deal_number"] == unseen.reset()[1]["deal_number"]
