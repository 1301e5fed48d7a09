"""The solver within kernels, against the plain search and against `solve`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_search import SAMPLES, random_rules, sample
from positions import game_at

from pyramid_env.cards import N_CARDS
from pyramid_env.deals import Deal, shuffle_places
from pyramid_env.engine import compile_rules, face_down_of, passes_left
from pyramid_env.game import Game
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import solve
from pyramid_env.solver.judge import (
    MOST_NODES,
    UNDECIDED,
    can_win,
    is_out_of_reach,
    new_judge,
    take_up,
    take_up_order,
)

LIMITS = (1, 20, 199, 200, 201, 1000, MOST_NODES)


def random_game(generator: np.random.Generator, rules: Rules) -> Game:
    """A game after some random legal moves, rather early than late."""
    game = Game(Deal.from_number(int(generator.integers(2**40, 2**41))), rules)
    for _ in range(int(generator.integers(40))):
        if game.is_over:
            break
        game.play(int(generator.choice(game.legal_actions())))
    return game


def asked(game: Game, node_limit: int = MOST_NODES) -> int:
    judge = new_judge(game.rules)
    take_up(game.deal.array, judge)
    rules = compile_rules(game.rules)
    return int(can_win(np.uint64(game.position), node_limit, rules, judge))


@pytest.mark.parametrize("name", SAMPLES)
def test_answers_equal_the_plain_search(name: str) -> None:
    n_decided = 0
    for game, answers in sample(name, 40, 10_000):
        answer = asked(game)
        n_decided += answer != UNDECIDED
        assert answer == answers.win or (answer == UNDECIDED and answers.n_positions > MOST_NODES)
    assert n_decided >= 30


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), node_limit=st.sampled_from(LIMITS))
def test_answers_equal_those_of_solve_and_are_left_open_only_at_the_limit(
    seed: int, node_limit: int
) -> None:
    generator = np.random.default_rng(seed)
    game = random_game(generator, random_rules(generator))
    answer = asked(game, node_limit)
    solution = solve(game, "win", node_limit=node_limit)
    if answer == UNDECIDED:
        assert solution.value is None
        assert solution.nodes >= node_limit
    else:
        assert answer == solution.value


@pytest.mark.parametrize("preset", ["kawu", "kawu-2", "reserve", "tuts-tomb"])
def test_one_judge_answers_for_many_orders_of_the_hidden_cards(preset: str) -> None:
    """What it keeps from one order to the next, and from one deal to the next, does no harm."""
    generator = np.random.default_rng(3)
    rules = PRESETS[preset]
    judge, rules_array = new_judge(rules), compile_rules(rules)
    counter = np.uint64(1)
    answers = set()
    for _ in range(30):
        game = random_game(generator, rules)
        cards, position = game.deal.array, np.uint64(game.position)
        take_up(cards, judge)
        hidden = face_down_of(position, rules_array[0])
        for _ in range(5):
            counter = np.uint64(shuffle_places(hidden, counter, cards))
            take_up_order(cards, judge)
            answer = int(can_win(position, MOST_NODES, rules_array, judge))
            other = Game(Deal(tuple(cards.tolist())), rules, game.position)
            expected = solve(other, "win").value
            assert answer in (UNDECIDED, expected)
            answers.add(answer)
    assert {0, 1} <= answers


def test_what_is_out_of_reach_is_lost_in_every_order_while_another_pass_follows() -> None:
    generator = np.random.default_rng(7)
    counter = np.uint64(7)
    n_out_of_reach = 0
    for _ in range(300):
        rules = random_rules(generator)
        game = random_game(generator, rules)
        position, rules_array = np.uint64(game.position), compile_rules(rules)
        judge, cards = new_judge(rules), game.deal.array
        if passes_left(position, rules_array[0]) == 0:
            continue
        take_up(cards, judge)
        answer = bool(is_out_of_reach(position, rules_array[0], judge))
        n_out_of_reach += answer
        hidden = face_down_of(position, rules_array[0])
        for _ in range(4):
            counter = np.uint64(shuffle_places(hidden, counter, cards))
            take_up(cards, judge)
            assert bool(is_out_of_reach(position, rules_array[0], judge)) == answer
            other = Game(Deal(tuple(cards.tolist())), rules, game.position)
            assert not (answer and solve(other, "win", node_limit=10_000).value)
    assert 10 <= n_out_of_reach <= 200


def test_nothing_is_kept_of_the_deal_before() -> None:
    """Two pyramids of the same shape with the same card outside, of which one is lost."""
    won = game_at({"A1": "8D", "B1": "5C", "B2": "8C"}, "5D 2C")
    lost = game_at({"A1": "5C", "B1": "8C", "B2": "8D"}, "5D 2C")
    judge, rules = new_judge(Rules()), compile_rules(Rules())
    answers = []
    for game in (lost, won, lost):
        take_up(game.deal.array, judge)
        answers.append(int(can_win(np.uint64(game.position), MOST_NODES, rules, judge)))
    assert answers == [0, 1, 0]


def test_a_won_position_is_won() -> None:
    judge = new_judge(Rules())
    take_up(np.arange(N_CARDS, dtype=np.uint8), judge)
    won = np.uint64((2**N_CARDS - 1) & ~(2**28 - 1))
    assert can_win(won, 1, compile_rules(Rules()), judge) == 1
