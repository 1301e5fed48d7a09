"""Agents: what they may see, what they answer, and how a policy file can be wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from agents.agent import Agent, FunctionAgent
from agents.baselines import GreedyAgent, RandomAgent
from agents.learned import POLICY_FORMAT, LearnedAgent, read_policy, write_policy
from agents.network import PolicyConfig
from agents.playing import AgentError, play_deals
from agents.registry import WEIGHTS, load_agent
from agents.solver import SolverAgent
from pyramid_env import PRESETS, Deal, Game, PyramidVectorEnv, Rules, solve
from pyramid_env.observation import observation_fields

SMALL = PolicyConfig(Rules(), width=16, layers=1)


def random_weights(config: PolicyConfig, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    shapes = config.shapes().items()
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes}


def views(n: int, information: str = "fair") -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of `n` games after a few random moves."""
    env = PyramidVectorEnv(n, information=information)
    observations, infos = env.reset(seed=5)
    player = RandomAgent(5)
    for _ in range(20):
        actions = player.act_batch(observations, infos["action_mask"])
        observations, _, _, _, infos = env.step(actions)
    return observations, infos["action_mask"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["random", "greedy", "solver"])
def test_built_in_agents_play_every_preset_to_its_end(name: str, preset: str) -> None:
    agent = load_agent(name, preset)
    games, seconds = play_deals(agent, [3, 4], PRESETS[preset])
    assert seconds >= 0
    for game in games:
        replayed = Game.replay(PRESETS[preset], game.deal, game.moves)
        assert replayed.is_over
        assert (replayed.is_won, replayed.score) == (game.won, game.cards)


def test_act_is_act_batch_of_one() -> None:
    observations, masks = views(8)
    agent = GreedyAgent()
    batch = agent.act_batch(observations, masks)
    singly = [agent.act(row, mask) for row, mask in zip(observations, masks, strict=True)]
    assert batch.tolist() == singly


def test_the_greedy_agent_draws_on_where_the_seen_cards_give_no_move() -> None:
    """With unlimited passes a game is lost or not by cards that nobody has seen yet."""
    rules = PRESETS["tuts-tomb"]
    games, _ = play_deals(GreedyAgent(rules), range(100), rules)
    assert all(Game.replay(rules, game.deal, game.moves).is_over for game in games)
    assert games[8].cards > 0


def test_the_greedy_agent_plays_the_hint() -> None:
    [played], _ = play_deals(GreedyAgent(), [11], Rules())
    game = Game(11)
    for move in played.moves:
        assert str(game.hint()) == move
        game.play(move)


def test_the_solver_agent_wins_what_can_be_won_and_loses_no_card() -> None:
    games, _ = play_deals(SolverAgent(), range(40), Rules())
    for game in games:
        assert game.cards == solve(Game(game.deal), "cards").value
        assert game.won == solve(Game(game.deal), "win").value


def test_the_solver_agent_aims_at_all_cards_where_the_goal_is_all() -> None:
    rules = PRESETS["par"]
    games, _ = play_deals(SolverAgent(rules), range(10), rules)
    assert [game.won for game in games] == [solve(Game(n, rules), "win").value for n in range(10)]
    assert any(game.won for game in games)


def test_fair_agents_are_shown_no_hidden_card() -> None:
    shown: list[np.ndarray] = []

    class Spy(Agent):
        name = "spy"

        def act_batch(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
            shown.append(observations.copy())
            return action_masks.argmax(axis=1)

    play_deals(Spy(), [0], Rules())
    Spy.privileged = True
    play_deals(Spy(), [0], Rules())
    first_fair, first_thoughtful = shown[0][0], next(row[0] for row in shown[1:] if 14 not in row)
    assert (first_fair[53:76] == 14).all()  # the stock below its top card
    assert (first_thoughtful[53:76] < 14).all()


def test_an_illegal_answer_is_reported_with_agent_and_deal() -> None:
    class Stubborn(Agent):
        name = "stubborn"

        def act_batch(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
            return np.full(len(observations), 284)

    wrong = "agent stubborn, deal 12: answered action 284 (recycle), which is illegal"
    with pytest.raises(AgentError, match=re.escape(wrong)):
        play_deals(Stubborn(), [12], Rules())


class BreaksOff(GreedyAgent):
    """Plays as the hint says until it meets a game that it has something against."""

    name = "breaks-off"
    batch_is_broken = False

    def act_batch(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        if self.batch_is_broken and len(observations) > 1:
            raise MemoryError
        apex, waste_top = observations[:, 0], observations[:, 28]
        if (apex == 1).any():
            raise KeyError("no\naces, please")
        actions = super().act_batch(observations, action_masks)
        return np.where(waste_top == 2, 999, actions)


@pytest.mark.parametrize("batch_is_broken", [False, True])
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_a_game_that_breaks_off_is_kept_with_its_reason_and_the_others_go_on(
    batch: int, batch_is_broken: bool
) -> None:
    agent = BreaksOff()
    agent.batch_is_broken = batch_is_broken
    deals = range(100)
    untouched, _ = play_deals(GreedyAgent(), deals, Rules())
    games, _ = play_deals(agent, deals, Rules(), batch=batch, errors="keep")
    reasons = set()
    for game, whole in zip(games, untouched, strict=True):
        if not game.error:
            assert game == whole
            continue
        reasons.add(game.error)
        assert not game.won
        played = Game.replay(Rules(), game.deal, game.moves)
        assert not played.is_over
        assert played.score == game.cards
        assert game.moves == whole.moves[: len(game.moves)]
        if "KeyError" in game.error:
            assert Deal.from_number(game.deal).array[0] % 13 == 0
            assert game.moves == ()
    assert reasons == {
        "raised KeyError: 'no\\naces, please'",
        "answered action 999, which is illegal",
    }


@pytest.mark.parametrize("answer", [3, [0.5] * 4, [[0]] * 4, None, "draw"])
def test_answers_of_the_wrong_kind_break_the_game_off(answer: object) -> None:
    class Wrong(Agent):
        name = "wrong"

        def act_batch(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
            return answer  # type: ignore[return-value]

    games, _ = play_deals(Wrong(), range(4), Rules(), errors="keep")
    assert all(game.error.startswith("answered ") for game in games)
    with pytest.raises(AgentError, match=r"agent wrong, deal 0: answered .* not 1 integer"):
        play_deals(Wrong(), range(4), Rules())


def test_an_agent_that_writes_to_what_it_is_shown_changes_nothing() -> None:
    class Writer(Agent):
        name = "writer"

        def act_batch(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
            observations[:] = 0
            action_masks[:] = 1
            return np.full(len(observations), 284)

    games, _ = play_deals(Writer(), range(3), Rules(), errors="keep")
    assert [game.error for game in games] == ["answered action 284 (recycle), which is illegal"] * 3


def test_a_function_of_observation_and_mask_is_an_agent() -> None:
    def lowest(observation: np.ndarray, action_mask: np.ndarray) -> int:
        assert observation.ndim == action_mask.ndim == 1
        return int(action_mask.argmax())

    agent = FunctionAgent(lowest, "lowest")
    observations, masks = views(8)
    assert agent.act_batch(observations, masks).tolist() == masks.argmax(axis=1).tolist()
    assert not agent.privileged
    with pytest.raises(TypeError):
        FunctionAgent(lambda observation, mask: 2.5, "half").act_batch(observations, masks)
    lowest.privileged = True  # type: ignore[attr-defined]
    assert FunctionAgent(lowest, "lowest").privileged


def test_a_seed_fixes_what_the_random_agent_draws() -> None:
    agent = RandomAgent()
    games = []
    for seed in (4, 4, 5):
        agent.seed(seed)
        games.append(play_deals(agent, range(5), Rules())[0])
    assert games[0] == games[1] != games[2]


def test_games_come_in_the_order_of_the_deals_whatever_the_batch() -> None:
    deals = [9, 2, 7, 5, 0, 1]
    one_by_one, _ = play_deals(GreedyAgent(), deals, Rules(), batch=1)
    at_once, _ = play_deals(GreedyAgent(), deals, Rules(), batch=4)
    assert [game.deal for game in one_by_one] == deals
    assert one_by_one == at_once


def test_a_policy_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    weights = random_weights(SMALL)
    write_policy(path, SMALL, weights)
    config, read = read_policy(path)
    assert config == SMALL
    for name, array in weights.items():
        np.testing.assert_allclose(read[name], array, rtol=1e-3, atol=1e-6)
    write_policy(tmp_path / "again.safetensors", config, read)
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    observations, masks = views(8)
    actions = load_agent(f"mine={path}").act_batch(observations, masks)
    assert (masks[np.arange(8), actions] == 1).all()


def test_a_policy_plays_all_rules_with_the_same_places_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    write_policy(path, SMALL, random_weights(SMALL))
    assert play_deals(load_agent(f"mine={path}", "classic"), [1], PRESETS["classic"])
    with pytest.raises(ValueError, match="places"):
        load_agent(f"mine={path}", "reserve")


@pytest.mark.parametrize(
    "damage", ["cut", "text", "foreign", "shape", "extra", "nan", "config", "heads"]
)
def test_a_damaged_or_foreign_policy_file_is_a_clear_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "policy.safetensors"
    weights = random_weights(SMALL)
    write_policy(path, SMALL, weights)
    metadata = {
        "policy": json.dumps({"format": POLICY_FORMAT, "rules": {}, "width": 16, "layers": 1})
    }
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "text":
        path.write_text("no weights here")
    elif damage == "foreign":
        save_file({"x": np.zeros(3, np.float32)}, path)
    elif damage == "shape":
        save_file({**weights, "moves/scores": np.zeros(3, np.float32)}, path, metadata)
    elif damage == "extra":
        save_file({**weights, "more": np.zeros(3, np.float32)}, path, metadata)
    elif damage == "nan":
        save_file({**weights, "norm": np.full(16, np.nan, np.float32)}, path, metadata)
    else:
        wrong = {"config": '"width": "wide"', "heads": '"width": 16, "heads": 3'}[damage]
        metadata["policy"] = metadata["policy"].replace('"width": 16', wrong)
        save_file(weights, path, metadata)
    with pytest.raises(ValueError, match=r"policy\.safetensors"):
        LearnedAgent.load(path, Rules())


def test_probabilities_are_those_of_legal_actions_and_the_likeliest_is_played() -> None:
    observations, masks = views(8)
    agent = LearnedAgent(SMALL, random_weights(SMALL))
    shares = agent.probabilities(observations, masks)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    assert (shares[masks == 0] == 0).all()
    assert (shares.argmax(axis=1) == agent.act_batch(observations, masks)).all()


def test_the_network_does_not_tell_apart_ranks_that_play_alike() -> None:
    """Ranks 1 and 12 for 3 and 10, and both of 2 and 11 exchanged, make the same game."""
    observations, _ = views(16)
    renamed = np.arange(15)
    renamed[[1, 3, 12, 10, 2, 11]] = [3, 1, 10, 12, 11, 2]
    fields = observation_fields(Rules())
    others = observations.copy()
    others[:, : fields.passes_left.start] = renamed[observations[:, : fields.passes_left.start]]
    others[:, fields.unseen] = observations[:, fields.unseen][:, renamed[1:14] - 1]
    agent = LearnedAgent(SMALL, random_weights(SMALL))
    assert (others != observations).any()
    expected = agent.logits(observations)
    np.testing.assert_allclose(agent.logits(others), expected, rtol=1e-3, atol=1e-3)
    others[:, 0] = observations[:, 0] % 13 + 1  # another card at the top is another game
    assert abs(agent.logits(others) - expected).max() > 0.01


def test_a_missing_policy_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_agent("mine=nowhere.safetensors")


def test_the_shipped_policies_are_small_and_each_for_its_preset() -> None:
    files = sorted(WEIGHTS.glob("*.safetensors"))
    assert "kawu" in [file.stem for file in files]
    assert sum(file.stat().st_size for file in files) <= 5_000_000
    card = (WEIGHTS / "README.md").read_text(encoding="utf-8")
    for file in files:
        assert read_policy(file)[0].rules == PRESETS[file.stem]
        assert f"`{file.name}`" in card


def test_the_shipped_policy_wins_far_more_than_random_play_on_held_out_deals() -> None:
    deals = range(2**63 + 10_000, 2**63 + 10_500)
    learned, _ = play_deals(load_agent("learned"), deals, Rules())
    aimless, _ = play_deals(RandomAgent(), deals, Rules())
    assert np.mean([game.won for game in learned]) > 3 * np.mean([game.won for game in aimless])


def test_a_deal_by_its_cards_can_be_solved_from_an_observation() -> None:
    """The solver agent knows no deal numbers: it works from what it is shown."""
    observations, _ = PyramidVectorEnv(1, information="thoughtful").reset(
        options={"deal": Deal.parse(str(Deal.from_number(3)))}
    )
    mask = np.ones((1, 285), dtype=np.int8)
    assert str(Game(3).find_move(int(SolverAgent().act_batch(observations, mask)[0])))
