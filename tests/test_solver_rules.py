"""Each rule by which the solver leaves out moves, held against the plain search without it."""

from typing import Any

import numpy as np
import pytest
from plain_search import SAMPLES, Answers, after, facts_of, plain_answers, sample
from positions import game_at

from pyramid_env import engine
from pyramid_env.actions import Move, action_table
from pyramid_env.engine import MAX_LEGAL, compile_rules
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS, Slot, parse_place
from pyramid_env.rules import Rules
from pyramid_env.solver.moves import (
    CARDS,
    MOVES,
    WIN,
    can_be_brought_forward,
    moves_to_try,
    stuck_cards,
)

QUESTIONS = {WIN: "win", CARDS: "cards", MOVES: "moves"}
DRAW_3 = Rules(passes=2, draw=3, stock_playable=False)
ALL_ONES = np.uint64(2**64 - 1)


def partners_of(game: Game, excluded: tuple[str, str] | None) -> Any:
    """The cards that each may go with, where two (by their place in a deal) may not go together."""
    partners = facts_of(game)["partners"].copy()
    if excluded:
        a, b = (int(Slot(parse_place(name))) for name in excluded)
        partners[a] &= ~np.uint64(1 << b)
        partners[b] &= ~np.uint64(1 << a)
    return partners


def tried(game: Game, question: int, excluded: tuple[str, str] | None = None) -> list[Move]:
    """The moves that a search tries, with at most one pair excluded."""
    # What lies before the arrays is none of theirs.
    actions = np.full(1 + MAX_LEGAL, -7, np.int16)[1:]
    removed = np.full(1 + MAX_LEGAL, ALL_ONES, np.uint64)[1:]
    facts, rules = facts_of(game), compile_rules(game.rules)[0]
    partners = partners_of(game, excluded)
    count = moves_to_try(
        np.uint64(game.position), question, partners, facts, rules, actions, removed
    )
    assert (actions.base[0], removed.base[0]) == (-7, ALL_ONES)
    for action, cards in zip(actions[:count], removed, strict=False):
        assert engine.removed_by(action, np.uint64(game.position), rules) == cards
    return [action_table(game.rules)[int(action)] for action in actions[:count]]


# The moves that are tried


def assert_some_tried_move_is_best(game: Game, answers: Answers) -> None:
    """The value of a position is that of the best move tried, or its own."""
    for question, objective in QUESTIONS.items():
        known = [plain_answers(after(game, move), 10_000) for move in tried(game, question)]
        children = [child for child in known if child is not None]
        assert len(children) == len(known)
        value = getattr(answers, objective)
        if objective == "win":
            assert any(child.win for child in children) == value
        elif objective == "cards":
            assert max([game.score, *(child.cards for child in children)]) == value
        else:
            lengths = [child.moves for child in children if child.moves is not None]
            assert (min(lengths) + 1 if lengths else None) == value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_move_that_is_tried_is_as_good_as_any(name: str) -> None:
    for game, answers in sample(name, 60, 2000):
        assert_some_tried_move_is_best(game, answers)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_move_that_is_tried_is_as_good_as_any_on_thousands_of_positions(name: str) -> None:
    for game, answers in sample(name, 3000, 10_000):
        assert_some_tried_move_is_best(game, answers)


def test_removals_that_spare_the_pyramid_come_first_and_the_turn_last() -> None:
    table = {"E1": "6S", "E2": "7S", "E3": "5S", "E5": "2S"}
    game = game_at(table, "6H 9C", "8H 7H")
    order = [["W+S"], ["E1+W", "E2+S"], ["E1+E2"], ["draw"]]
    moves = [str(move) for move in tried(game, CARDS)]
    assert [sorted(moves[:1]), sorted(moves[1:3]), moves[3:4], moves[4:]] == order


def test_a_pair_that_is_excluded_is_not_tried() -> None:
    game = game_at({"G1": "6S", "G3": "7S", "G5": "7H"}, "2C 3C")
    pairs = {Move.parse("G1+G3"), Move.parse("G1+G5")}
    assert set(tried(game, CARDS)) == {*pairs, Move.parse("draw")}
    assert set(tried(game, CARDS, ("G1", "G5"))) == {Move.parse("G1+G3")}


def test_kings_go_at_once_except_where_that_shifts_draws_or_costs_moves() -> None:
    table = {"A1": "6S", "G7": "KS", "R1": "KH"}
    for goal in ("pyramid", "all"):
        rules = Rules(goal=goal, reserve=1)
        for question in QUESTIONS:
            assert tried(game_at(table, "2C", rules=rules), question) == [Move.parse("G7")]
    only_reserve = {"A1": "6S", "R1": "KH"}
    for rules in (Rules(reserve=1), Rules(reserve=1, draw=3)):
        assert tried(game_at(only_reserve, "2C", rules=rules), WIN) == [Move.parse("R1")]
        assert tried(game_at(only_reserve, "2C", rules=rules), MOVES) == [Move.parse("draw")]

    has_to_go = game_at(only_reserve, "2C", rules=Rules(goal="all", reserve=1))
    assert tried(has_to_go, MOVES) == [Move.parse("R1")]

    for stock, waste, king in (("KC 2C", "", "S"), ("2C", "KC", "W")):
        for question in (WIN, CARDS):
            assert tried(game_at({"A1": "6S"}, stock, waste), question) == [Move.parse(king)]
        all_goal = game_at({"A1": "6S"}, stock, waste, "par")
        assert tried(all_goal, MOVES) == [Move.parse(king)]
        for question in QUESTIONS:
            drawn_by_three = game_at({"A1": "6S"}, stock, waste, Rules(draw=3))
            assert set(tried(drawn_by_three, question)) == {Move.parse(king), Move.parse("draw")}
    assert tried(game_at({"A1": "6S"}, "KC 2C"), MOVES) == [Move.parse("S")]
    on_waste = game_at({"A1": "6S"}, "2C", "KC")
    assert set(tried(on_waste, MOVES)) == {Move.parse("W"), Move.parse("draw")}


def test_a_pair_is_forced_when_a_card_that_has_to_go_has_no_other_partner() -> None:
    draw, forced = Move.parse("draw"), Move.parse("G7+W")
    # 2S has JC alone; JC has 2S and 2H.
    game = game_at({"G7": "2S"}, "2H 3C", "JC")
    assert tried(game, WIN) == [forced]
    assert tried(game, MOVES) == [forced]
    assert draw in tried(game, CARDS)  # no card has to go, and JC may serve 2H
    alone = game_at({"G7": "2S"}, "5H 3C", "JC")
    assert tried(alone, CARDS) == [forced]
    # JC is the only partner of 2H, but a stock card need not go unless all cards have to.
    stock_card = game_at({"A1": "5D", "G7": "JC"}, "2H 3C", "2S")
    assert set(tried(stock_card, WIN)) == {Move.parse("G7+W"), Move.parse("G7+S")}
    assert len(tried(game_at({"A1": "5D"}, "2H 3C", "JC", "par"), WIN)) == 1
    assert len(tried(game_at({"A1": "5D"}, "2H 3C", "JC"), WIN)) == 2
    # JD lies above 2S and can never be with it, unless covered cards may be paired.
    above = {"F6": "JD", "G7": "2S"}
    assert tried(game_at(above, "5H 2C", "JC"), WIN) == [forced]
    covered = game_at(above, "5H 2C", "JC", Rules(covered_pairs=True))
    assert set(tried(covered, WIN)) == {forced, Move.parse("F6+G7")}


def test_a_card_that_can_go_with_each_partner_it_has_left_goes_now() -> None:
    draw, pairs = Move.parse("draw"), {Move.parse("G6+W"), Move.parse("G6+S")}
    table = {"A1": "5D", "G6": "2S"}
    both_ready = game_at(table, "JH 3C", "JC")
    for question in (WIN, MOVES):
        assert set(tried(both_ready, question)) == pairs
    assert set(tried(both_ready, CARDS)) == {draw, *pairs}  # no card has to go
    one_to_come = game_at(table, "3C JH", "JC")
    assert set(tried(one_to_come, WIN)) == {draw, Move.parse("G6+W")}
    several_drawn = game_at(table, "JH 3C", "JC", Rules(draw=3))
    assert set(tried(several_drawn, WIN)) == {draw, *pairs}
    # A covered jack: ready for 2S once 3H does not cover it as well.
    rules = Rules(covered_pairs=True)
    table = {"A1": "5D", "F5": "JS", "G5": "3H", "G6": "2S"}
    game = game_at(table, "3C 2D TC", "JC", rules)
    assert set(tried(game, WIN)) == {draw, Move.parse("G6+W")}
    del table["G5"]
    game = game_at(table, "3C 2D", "JC", rules)
    assert set(tried(game, WIN)) == {Move.parse("F5+G6"), Move.parse("G6+W")}
    # 2H can go with JC, but with JS only after 2S, with which JS can go.
    table["G1"] = "2H"
    game = game_at(table, "3C 2D", "JC", rules)
    assert set(tried(game, WIN)) == {Move.parse("F5+G6"), Move.parse("G6+W")}


def test_fault_17_nothing_of_stock_or_waste_is_forced_where_three_are_drawn() -> None:
    table = {"B1": "6S", "C1": "8H", "G7": "2S"}
    with_jack = game_at(table, "3C 3D 7H TD 4D 5S", "4C 9C JC", DRAW_3)
    assert set(tried(with_jack, WIN)) == {Move.parse("G7+W"), Move.parse("draw")}
    del table["G7"]
    with_king = game_at(table, "2C 3C 7H TD 4D 5S", "4C 9C KC", DRAW_3)
    for question in QUESTIONS:
        assert set(tried(with_king, question)) == {Move.parse("W"), Move.parse("draw")}
    for game, removal in ((with_jack, "G7+W"), (with_king, "W")):
        before, removed = plain_answers(game), plain_answers(after(game, Move.parse(removal)))
        assert before is not None
        assert removed is not None
        assert before.win
        assert not removed.win


# Pairs that are excluded once they have been tried


def assert_each_pair_may_be_excluded(game: Game, answers: Answers, limit: int) -> int:
    """A game is worth what it is after a pair, or without that pair; returns the pairs tried."""
    rules = compile_rules(game.rules)[0]
    n_pairs = 0
    for move in game.legal_moves:
        cards = int(
            engine.removed_by(
                action_table(game.rules).action(move), np.uint64(game.position), rules
            )
        )
        if move.kind != "pair" or not can_be_brought_forward(np.uint64(cards), rules):
            continue
        n_pairs += 1
        now, never = plain_answers(after(game, move), limit), plain_answers(game, limit, cards)
        assert now is not None
        assert never is not None
        assert answers.win == (now.win or never.win)
        assert answers.cards == max(now.cards, never.cards)
        lengths = [length for length in (never.moves, now.moves and now.moves + 1) if length]
        if now.moves == 0:
            lengths.append(1)
        assert answers.moves == min(lengths, default=0 if answers.moves == 0 else None)
    return n_pairs


@pytest.mark.parametrize("name", SAMPLES)
def test_a_pair_that_was_tried_may_be_excluded(name: str) -> None:
    pairs = (
        assert_each_pair_may_be_excluded(game, answers, 2000)
        for game, answers in sample(name, 60, 2000)
    )
    assert sum(pairs) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_pair_that_was_tried_may_be_excluded_on_thousands_of_positions(name: str) -> None:
    for game, answers in sample(name, 3000, 10_000):
        assert_each_pair_may_be_excluded(game, answers, 10_000)


def test_a_pair_of_the_stock_may_not_be_excluded_where_three_are_drawn() -> None:
    table = {"B1": "6S", "C1": "8H", "G7": "2S"}
    game = game_at(table, "3C 3D 7H TD 4D 5S", "4C 9C JC", DRAW_3)
    pair = Move.parse("G7+W")
    rules = compile_rules(game.rules)[0]
    cards = engine.removed_by(
        action_table(game.rules).action(pair), np.uint64(game.position), rules
    )
    answers = [
        plain_answers(game),
        plain_answers(after(game, pair)),
        plain_answers(game, never=int(cards)),
    ]
    assert [known.win for known in answers if known is not None] == [True, False, False]
    assert not can_be_brought_forward(np.uint64(cards), rules)
    assert can_be_brought_forward(np.uint64(cards), compile_rules(Rules())[0])


# Cards that are stuck


def stuck(game: Game, question: int, excluded: tuple[str, str] | None = None) -> int:
    """The stuck cards, as bits, when two cards (by their place in a deal) may not go together."""
    facts, rules = facts_of(game), compile_rules(game.rules)[0]
    partners = partners_of(game, excluded)
    return int(stuck_cards(np.uint64(game.position), question, partners, facts, rules))


def test_a_card_without_partners_holds_up_all_above_it() -> None:
    game = game_at({"E5": "6D", "F6": "5H", "G6": "JH", "G7": "2S"}, "3C 8C 7C")
    assert stuck(game, CARDS) == 0
    held = sum(1 << parse_place(name) for name in ("E5", "F6", "G6", "G7"))
    assert stuck(game, CARDS, ("G6", "G7")) == held
    assert stuck(game_at({"A1": "4C", "G7": "KS"}, "9C"), WIN) == 0
    assert stuck(game_at({"A1": "4C"}, "3C"), WIN) == 1
    assert stuck(game_at({"A1": "4C"}, "9C 3C", rules="par"), WIN) == 0
    assert stuck(game_at({"A1": "4C"}, "3C 9C", rules="par"), WIN) == 1 << N_SLOTS
    assert stuck(game_at({"A1": "4C"}, "3C 9C", rules="par"), CARDS) == 0


@pytest.mark.parametrize("name", SAMPLES)
def test_stuck_cards_stay(name: str) -> None:
    n_stuck = 0
    for game, answers in sample(name, 150, 3000):
        held = stuck(game, CARDS)
        assert answers.cards <= N_SLOTS - bin(held).count("1")
        assert not answers.win or stuck(game, WIN) == 0
        n_stuck += held > 0
    assert n_stuck > 0
