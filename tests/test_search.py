"""The fair search: what it sees, what it samples, what it wins, and its budgets."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from positions import game_at

from agents.baselines import GreedyAgent
from agents.playing import play_deals
from agents.search import SearchAgent, play_until_seen
from pyramid_env.actions import action_table
from pyramid_env.cards import N_CARDS
from pyramid_env.deals import FIRST_TRAINING_NUMBER, Deal, shuffle_places
from pyramid_env.engine import compile_rules, face_down_of, passes_left
from pyramid_env.game import Game
from pyramid_env.observation import observe
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import solve
from pyramid_env.solver.judge import MOST_NODES, is_out_of_reach, new_judge, take_up

FIRST = FIRST_TRAINING_NUMBER + 2**40
"""The deals here are none of the evaluation's."""

ROOT = Path(__file__).parents[1]


def games_under_way(n_games: int, rules: Rules, seed: int, n_moves: int = 20) -> list[Game]:
    """Games after a few random moves, with cards face down."""
    generator = np.random.default_rng(seed)
    games: list[Game] = []
    while len(games) < n_games:
        game = Game(Deal.from_number(int(generator.integers(FIRST, 2 * FIRST))), rules)
        for _ in range(int(generator.integers(n_moves))):
            if not game.is_over:
                game.play(int(generator.choice(game.legal_actions())))
        if hidden_of(game) and not game.is_over:
            games.append(game)
    return games


def hidden_of(game: Game) -> int:
    return int(face_down_of(np.uint64(game.position), compile_rules(game.rules)[0]))


def views(games: list[Game]) -> tuple[np.ndarray, np.ndarray]:
    """What a fair player sees of the games, and the masks."""
    masks = np.zeros((len(games), len(action_table(games[0].rules))), np.int8)
    for mask, game in zip(masks, games, strict=True):
        mask[game.legal_actions()] = 1
    return np.stack([observe(game.position, game.deal, game.rules) for game in games]), masks


def choices(agent: SearchAgent, games: list[Game]) -> list[int]:
    return agent.act_batch(*views(games)).tolist()


# What it sees and samples


@pytest.mark.parametrize("preset", ["kawu", "kawu-1", "reserve", "tuts-tomb"])
def test_the_order_of_the_face_down_cards_makes_no_difference(preset: str) -> None:
    rules = PRESETS[preset]
    games = games_under_way(12, rules, seed=1)
    twins = []
    for i, game in enumerate(games):
        cards = game.deal.array
        shuffle_places(np.uint64(hidden_of(game)), np.uint64(i), cards)
        twins.append(Game(Deal(tuple(cards.tolist())), rules, game.position))
        assert twins[-1].deal != game.deal
    assert not SearchAgent.privileged
    assert choices(SearchAgent(rules, samples=8), games) == choices(
        SearchAgent(rules, samples=8), twins
    )


def test_shuffled_places_get_every_order_equally_often_and_others_stay() -> None:
    places = [3, 30, 31, 51]
    bits = np.uint64(sum(1 << place for place in places))
    counts = dict.fromkeys(permutations(places), 0)
    counter = np.uint64(5)
    for _ in range(100 * len(counts)):
        cards = np.arange(N_CARDS, dtype=np.uint8)
        counter = np.uint64(shuffle_places(bits, counter, cards))
        counts[tuple(cards[places].tolist())] += 1
        others = np.delete(cards, places)
        assert others.tolist() == [card for card in range(N_CARDS) if card not in places]
    chi_square = sum((count - 100) ** 2 / 100 for count in counts.values())
    assert chi_square < 49.7  # 99.9 % of samples, at 23 degrees of freedom


# The same answer


@pytest.mark.parametrize("preset", ["kawu", "kawu-2", "classic"])
def test_answers_depend_on_the_observation_alone(preset: str) -> None:
    rules = PRESETS[preset]
    games = games_under_way(10, rules, seed=2)
    agent = SearchAgent(rules, samples=16)
    together = choices(agent, games)
    assert choices(agent, games[::-1])[::-1] == together
    assert [choices(agent, [game])[0] for game in games] == together
    assert choices(SearchAgent(rules, samples=16), games) == together


def test_another_process_gives_the_same_answers(tmp_path: Path) -> None:
    observations, masks = views(games_under_way(10, Rules(), seed=3))
    np.savez(tmp_path / "views.npz", observations=observations, masks=masks)
    program = (
        "import sys, numpy; from agents.search import SearchAgent;"
        "views = numpy.load(sys.argv[1]);"
        "agent = SearchAgent(samples=16);"
        "print(agent.act_batch(views['observations'], views['masks']).tolist())"
    )
    child = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "views.npz")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    agent = SearchAgent(samples=16)
    assert child.stdout.strip() == str(agent.act_batch(observations, masks).tolist())


def test_other_seeds_draw_other_orders() -> None:
    games = games_under_way(40, PRESETS["kawu-1"], seed=4)
    first, second = (SearchAgent("kawu-1", samples=2, seed=seed) for seed in (0, 1))
    assert choices(first, games) != choices(second, games)


# Playing


@pytest.mark.parametrize("preset", PRESETS)
def test_it_plays_every_preset_to_its_end(preset: str) -> None:
    rules = PRESETS[preset]
    games, _ = play_deals(SearchAgent(rules, samples=2), range(FIRST, FIRST + 4), rules)
    for played in games:  # an illegal action would have raised
        game = Game.replay(rules, played.deal, played.moves)
        assert game.is_over
        assert game.is_won == played.won


@pytest.mark.parametrize("preset", ["kawu", "par", "tuts-tomb"])
def test_it_wins_what_can_be_won_once_all_cards_have_been_seen(preset: str) -> None:
    rules = PRESETS[preset]
    agent = SearchAgent(rules, samples=1)
    n_won = 0
    for number in range(FIRST, FIRST + 60):
        game = Game(number, rules)
        while hidden_of(game) or "recycle" in map(str, game.legal_moves):
            game.play("draw" if "draw" in map(str, game.legal_moves) else "recycle")
        can_be_won = solve(game, "win").value
        while not game.is_over:
            assert not hidden_of(game)
            game.play(choices(agent, [game])[0])
        assert game.is_won == can_be_won
        n_won += game.is_won
    assert n_won > 0


def test_it_takes_the_one_win_that_the_next_draw_would_bury() -> None:
    table = {"A1": "QC", "B1": "5C", "B2": "8C"}
    game = game_at(table, "2D 3D 4D 6D 7D", waste="AD", rules="kawu-1")
    agent = SearchAgent("kawu-1")
    while not game.is_over:
        game.play(choices(agent, [game])[0])
    assert [str(move) for move in game.history] == ["B1+B2", "A1+W"]


@pytest.mark.parametrize("preset", ["kawu", "kawu-2", "tuts-tomb"])
def test_the_delayed_vote_sees_all_cards_and_keeps_the_goal_in_reach_before_the_last_pass(
    preset: str,
) -> None:
    rules = PRESETS[preset]
    judge, compiled = new_judge(rules), compile_rules(rules)[0]
    n_kept = 0
    for game in games_under_way(40, rules, seed=8):
        take_up(game.deal.array, judge)
        position = np.uint64(game.position)
        was_lost = is_out_of_reach(position, compiled, judge)
        seen = np.uint64(play_until_seen(position, compiled, judge))
        after = Game(game.deal, rules, int(seen))
        assert after.is_over or not hidden_of(after)
        if passes_left(seen, compiled) != 0:
            assert bool(is_out_of_reach(seen, compiled, judge)) == bool(was_lost)
            n_kept += not was_lost
    assert n_kept >= 10


def test_it_beats_the_greedy_agent_clearly() -> None:
    rules = PRESETS["kawu-2"]
    deals = range(FIRST, FIRST + 120)
    n_won = [
        sum(game.won for game in play_deals(agent, deals, rules)[0])
        for agent in (GreedyAgent(rules), SearchAgent(rules, samples=8))
    ]
    assert n_won[1] >= n_won[0] + 20


# Budgets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 0}, "samples=0 is not allowed: a whole number from 1"),
        ({"samples": 2.5}, "samples=2.5 is not allowed"),
        ({"samples": True}, "samples=True is not allowed"),
        ({"seconds": 0}, "seconds=0 is not allowed: above 0 and finite, or None"),
        ({"seconds": -1.0}, "seconds=-1.0 is not allowed"),
        ({"seconds": math.nan}, "seconds=nan is not allowed"),
        ({"seconds": math.inf}, "seconds=inf is not allowed"),
        ({"node_limit": 0}, f"node_limit=0 is not allowed: a whole number from 1 to {MOST_NODES}"),
        ({"node_limit": MOST_NODES + 1}, "is not allowed"),
        ({"rules": "nonsense"}, "nonsense"),
    ],
)
def test_senseless_budgets_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchAgent(**arguments)


def test_no_more_orders_are_tried_than_it_may_and_fewer_when_the_choice_is_settled() -> None:
    games = games_under_way(30, Rules(), seed=5)
    n_orders = []
    for samples in (1, 5, 64):
        agent = SearchAgent(samples=samples)
        tried = [(choices(agent, [game]), agent.n_orders)[1] for game in games]
        assert max(tried) == samples
        n_orders.append(tried)
    assert min(n_orders[-1]) < 64


def test_moves_that_stay_alike_for_64_orders_are_taken_for_equal() -> None:
    games = games_under_way(30, Rules(), seed=5)
    long, short = SearchAgent(samples=256), SearchAgent(samples=64)
    tried = []
    for game in games:
        choice = choices(long, [game])
        tried.append(long.n_orders)
        if long.n_orders == 64:
            assert choice == choices(short, [game])
    assert 64 in tried
    assert max(tried) > 64


def test_a_time_budget_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("agents.search.time.perf_counter", lambda: next(clock))
    agent = SearchAgent(seconds=3.5)
    tried = [(choices(agent, [g]), agent.n_orders)[1] for g in games_under_way(30, Rules(), seed=5)]
    assert max(tried) == 4 * 8  # the clock shows 1, 2, 3 and 4 after rounds of 8
    assert set(choices(SearchAgent(seconds=10.0), games_under_way(3, Rules(), seed=6)))
