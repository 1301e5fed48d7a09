"""Each rule by which the solver leaves something out, held against the plain search without it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest
from plain_search import Answers, late_games, plain_answers, random_rules
from positions import game_at

from pyramid_env import engine
from pyramid_env.actions import Move, action_table
from pyramid_env.cards import KING, rank_of
from pyramid_env.engine import MAX_LEGAL, compile_rules
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS, Slot, covers_of
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import bounds, relaxation
from pyramid_env.solver.facts import Facts, find_facts
from pyramid_env.solver.moves import CARDS, MOVES, WIN, moves_to_try

QUESTIONS = {WIN: "win", CARDS: "cards", MOVES: "moves"}
SAMPLES = [*PRESETS, "random rules"]
DRAW_3 = Rules(passes=2, draw=3, stock_playable=False)
ALL_CARDS = int(engine.ALL_CARDS)


def sample(name: str, n_games: int, limit: int) -> Iterator[tuple[Game, Answers]]:
    """Late games of a preset, or each of other rules, with what the plain search says."""
    generator = np.random.default_rng(7)
    if name in PRESETS:
        games = late_games(PRESETS[name], generator, limit)
        yield from islice(games, n_games)
    else:
        for _ in range(2 * n_games):
            yield next(late_games(random_rules(generator), generator, limit))


def facts_of(game: Game) -> Facts:
    return find_facts(game.deal.array, game.rules)


def tried(game: Game, question: int) -> list[Move]:
    """The moves that a search tries."""
    actions = np.empty(MAX_LEGAL, np.int16)
    rules = compile_rules(game.rules)[0]
    count = moves_to_try(np.uint64(game.position), question, facts_of(game), rules, actions)
    return [action_table(game.rules)[int(action)] for action in actions[:count]]


def after(game: Game, move: Move) -> Game:
    child = game.copy()
    child.play(move)
    return child


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
    assert set(tried(stock_card, WIN)) == {draw, Move.parse("G7+W"), Move.parse("G7+S")}
    assert len(tried(game_at({"A1": "5D"}, "2H 3C", "JC", "par"), WIN)) == 1
    assert len(tried(game_at({"A1": "5D"}, "2H 3C", "JC"), WIN)) == 2
    # JD lies above 2S and can never be with it, unless covered cards may be paired.
    above = {"F6": "JD", "G7": "2S"}
    assert tried(game_at(above, "5H 2C", "JC"), WIN) == [forced]
    covered = game_at(above, "5H 2C", "JC", Rules(covered_pairs=True))
    assert set(tried(covered, WIN)) == {draw, forced, Move.parse("F6+G7")}


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


# The relaxed game


def relaxed_left(game: Game, win_only: bool, memo_size: int = 2**14) -> int:
    memo = relaxation.new_memo(memo_size)
    rules = compile_rules(game.rules)[0]
    too_many = 1 if win_only else N_SLOTS
    position = np.uint64(game.position)
    while True:
        left = relaxation.fewest_left(position, too_many, win_only, facts_of(game), rules, memo)
        if left != relaxation.MEMO_FULL:
            return int(left)
        memo = relaxation.grown(memo)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_relaxed_game_is_never_harder_than_the_real_one(name: str) -> None:
    n_positive = 0
    for game, answers in sample(name, 80, 4000):
        left = relaxed_left(game, win_only=False)
        assert left <= N_SLOTS - answers.cards
        assert not answers.win or relaxed_left(game, win_only=True) == 0
        n_positive += left > 0
    assert n_positive > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_the_relaxed_game_is_never_harder_on_thousands_of_positions(name: str) -> None:
    for game, answers in sample(name, 4000, 20_000):
        assert relaxed_left(game, win_only=False) <= N_SLOTS - answers.cards
        assert not answers.win or relaxed_left(game, win_only=True) == 0


def plainly_relaxed_left(game: Game, clear_pile: bool) -> int:
    """The relaxed game's answer straight from its words: every removal is tried."""
    ranks = [rank_of(card) for card in game.deal.cards]
    in_last_pass = game.passes_left == 0
    waste = int(engine.waste_of(np.uint64(game.position), compile_rules(game.rules)[0]))
    pile = waste if in_last_pass else 0

    @cache
    def fewest(cards: int) -> int:
        pyramid = [slot for slot in range(N_SLOTS) if cards >> slot & 1]
        exposed = [
            slot
            for slot in pyramid
            if not any(cards >> cover & 1 for cover in covers_of(Slot(slot)))
        ]
        top = [(cards & pile).bit_length() - 1] if cards & pile else []
        loose = [bit for bit in range(N_SLOTS, 52) if (cards & ~pile) >> bit & 1]
        removals = [1 << card for card in exposed + top + loose if ranks[card] == KING]
        removals += [
            1 << a | 1 << b
            for a in exposed + top
            for b in exposed + top + loose
            if ranks[a] + ranks[b] == KING
        ]
        if game.rules.covered_pairs:
            for slot in pyramid:
                left = [cover for cover in covers_of(Slot(slot)) if cards >> cover & 1]
                if len(left) == 1 and left[0] in exposed and ranks[slot] + ranks[left[0]] == KING:
                    removals.append(1 << slot | 1 << left[0])
        here = len(pyramid) + (bin(cards & pile).count("1") if clear_pile else 0)
        return min([here, *(fewest(cards & ~removal) for removal in removals)])

    return fewest(game.position & ALL_CARDS)


def small_game(rules: Rules, generator: np.random.Generator) -> Game:
    """A game played at random, removals first, until 24 cards are left; one that goes so far."""
    while True:
        game = Game(int(generator.integers(2**40)), rules)
        while moves := list(game.legal_moves):
            removals = [move for move in moves if move.places]
            if removals and generator.random() < 0.9:
                moves = removals
            game.play(moves[generator.integers(len(moves))])
            if bin(game.position & ALL_CARDS).count("1") <= 24 and game.score < N_SLOTS:
                return game


def test_the_relaxed_game_is_solved_as_it_stands() -> None:
    """With its shortcuts, the memo finds what trying every removal finds.

    Where the stock cannot be played it may even know better: then `usable_of` does.
    """
    generator = np.random.default_rng(8)
    n_piles = 0
    for _ in range(100):
        passes = int(generator.choice([1, 2]))
        rules = replace(random_rules(generator), passes=passes, stock_playable=True)
        game = small_game(rules, generator)
        n_piles += game.passes_left == 0 and len(game.waste) > 1
        assert relaxed_left(game, win_only=False) == plainly_relaxed_left(game, clear_pile=False)
        clear_pile = game.rules.goal == "all" and game.passes_left == 0
        left = plainly_relaxed_left(game, clear_pile)
        assert (relaxed_left(game, win_only=True) == 0) == (left == 0)
    assert n_piles > 20


def test_a_memo_grows_without_losing_anything() -> None:
    game = Game(5, "kawu-1")
    for _ in range(24):
        game.play("draw")
    assert relaxed_left(game, False, memo_size=2) == relaxed_left(game, False)


def removed_before_recycling(game: Game) -> int:
    """All cards outside the pyramid that some line removes before it recycles, as bits."""
    seen = {game.position}
    todo = [game]
    removed = 0
    while todo:
        here = todo.pop()
        for move in here.legal_moves:
            if move.kind == "recycle":
                continue
            child = after(here, move)
            removed |= here.position & ~child.position & ALL_CARDS
            if child.position not in seen:
                seen.add(child.position)
                todo.append(child)
    return removed >> N_SLOTS << N_SLOTS


@pytest.mark.parametrize("name", ["kawu-1", "tuts-tomb", "reserve", "random rules"])
def test_cards_that_go_before_the_next_recycle_count_as_usable(name: str) -> None:
    n_buried = 0
    for game, _ in sample(name, 30, 300):
        rules = compile_rules(game.rules)[0]
        usable = int(relaxation.usable_of(np.uint64(game.position), facts_of(game), rules))
        assert removed_before_recycling(game) & ~usable == 0
        n_buried += usable != game.position & ALL_CARDS >> N_SLOTS << N_SLOTS
    assert n_buried > 0


# The bound on moves


def bound(game: Game) -> Any:
    rules = compile_rules(game.rules)[0]
    return bounds.fewest_moves_bound(np.uint64(game.position), facts_of(game), rules)


@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_is_shorter_than_the_bound(name: str) -> None:
    for game, answers in sample(name, 100, 4000):
        assert answers.moves is None or bound(game) <= answers.moves


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_is_shorter_than_the_bound_on_thousands_of_positions(name: str) -> None:
    for game, answers in sample(name, 4000, 50_000):
        assert answers.moves is None or bound(game) <= answers.moves


@pytest.mark.parametrize(
    ("table", "stock", "waste", "rules", "moves"),
    [
        ({"A1": "KS"}, "", "", Rules(), 1),
        ({"A1": "6S"}, "2C 3C 7H", "", Rules(), 3),  # two draws, one removal
        ({"A1": "6S"}, "2C 3C 7H", "", Rules(draw=3, stock_playable=False), 2),
        ({"A1": "6S"}, "2C 3C 4C 7H", "", Rules(draw=3, stock_playable=False), 3),
        ({"A1": "6S"}, "2C", "7H 3C", Rules(), 3),  # draw, recycle, remove
        ({"A1": "6S"}, "2C", "7H 3C", Rules(passes=1), int(bounds.OUT_OF_REACH)),
        ({"A1": "6S"}, "3C", "4C 5C 7H 2D", Rules(passes=2, draw=3, stock_playable=False), 4),
        ({"F6": "6S", "G7": "6H"}, "7H 2C", "7S", Rules(), 2),
        ({"A1": "6S", "G7": "7D"}, "2C 3C 7H", "", Rules(), 1),
        ({}, "6S 7H", "", Rules(goal="all"), 2),  # one of the two is drawn
        ({}, "6S 7H 6H 7S", "", Rules(goal="all", draw=2, stock_playable=False), 4),
    ],
)
def test_the_bound_counts_what_has_to_be_passed(
    table: dict[str, str], stock: str, waste: str, rules: Rules, moves: int
) -> None:
    assert bound(game_at(table, stock, waste, rules)) == moves
