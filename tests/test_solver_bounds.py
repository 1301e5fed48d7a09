"""The relaxed game and the bound on moves, held against the plain search."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from plain_search import SAMPLES, after, facts_of, random_rules, sample
from positions import game_at

from pyramid_env import engine
from pyramid_env.cards import KING, rank_of
from pyramid_env.engine import compile_rules
from pyramid_env.game import Game
from pyramid_env.pyramid import N_SLOTS, Slot, covers_of
from pyramid_env.rules import Rules
from pyramid_env.solver import bounds, relaxation

ALL_CARDS = int(engine.ALL_CARDS)
DRAW_3 = Rules(draw=3, stock_playable=False)


# The relaxed game


def relaxed_left(game: Game, win_only: bool, memo_size: int = 2**14) -> int:
    memo = relaxation.new_memo(memo_size)
    while (left := relaxed_left_with(memo, game, win_only)) == relaxation.MEMO_FULL:
        memo = relaxation.grown(memo)
    return left


def relaxed_left_with(memo: relaxation.Memo, game: Game, win_only: bool = False) -> int:
    facts, rules = facts_of(game), compile_rules(game.rules)[0]
    position = np.uint64(game.position)
    left = relaxation.fewest_left(position, win_only, facts["partners"], facts, rules, memo)
    return int(left)


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


def plainly_usable(game: Game) -> int:
    """Cards outside the pyramid, as bits, but those of the waste that cannot go before a recycle.

    From the waste's top down, each needs a partner of its own elsewhere.
    """
    rules = compile_rules(game.rules)[0]
    position = np.uint64(game.position)
    waste, stock = int(engine.waste_of(position, rules)), int(engine.stock_of(position, rules))
    ranks = [rank_of(card) for card in game.deal.cards]
    elsewhere = game.position & ALL_CARDS & ~waste
    if not game.rules.stock_playable:
        elsewhere &= ~stock
    met: list[int] = []
    for bit in reversed(range(N_SLOTS, 52)):
        if waste >> bit & 1:
            met.append(ranks[bit])
            partners = [
                i for i in range(52) if elsewhere >> i & 1 and ranks[i] + ranks[bit] == KING
            ]
            if ranks[bit] != KING and met.count(ranks[bit]) > len(partners):
                waste_left = waste & (2 ** (bit + 1) - 1)
                return game.position & ALL_CARDS & ~waste_left >> N_SLOTS << N_SLOTS
    return (game.position & ALL_CARDS) >> N_SLOTS << N_SLOTS


def plainly_relaxed_left(game: Game) -> int:
    """The relaxed game's answer straight from its words: every removal is tried."""
    ranks = [rank_of(card) for card in game.deal.cards]
    outside = (game.position & ALL_CARDS) >> N_SLOTS << N_SLOTS
    start = game.position & (2**N_SLOTS - 1)
    start |= plainly_usable(game) if game.passes_left == 0 else outside

    @cache
    def fewest(cards: int) -> int:
        pyramid = [slot for slot in range(N_SLOTS) if cards >> slot & 1]
        exposed = [
            slot
            for slot in pyramid
            if not any(cards >> cover & 1 for cover in covers_of(Slot(slot)))
        ]
        loose = [bit for bit in range(N_SLOTS, 52) if cards >> bit & 1]
        removals = [1 << card for card in exposed if ranks[card] == KING]
        removals += [
            1 << a | 1 << b for a in exposed for b in exposed + loose if ranks[a] + ranks[b] == KING
        ]
        if game.rules.covered_pairs:
            for slot in pyramid:
                left = [cover for cover in covers_of(Slot(slot)) if cards >> cover & 1]
                if len(left) == 1 and left[0] in exposed and ranks[slot] + ranks[left[0]] == KING:
                    removals.append(1 << slot | 1 << left[0])
        return min([len(pyramid), *(fewest(cards & ~removal) for removal in removals)])

    return fewest(start)


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
    """With its shortcuts, the memo finds what trying every removal finds."""
    generator = np.random.default_rng(8)
    n_buried = 0
    for _ in range(150):
        rules = replace(random_rules(generator), passes=int(generator.choice([1, 2])))
        game = small_game(rules, generator)
        outside = (game.position & ALL_CARDS) >> N_SLOTS << N_SLOTS
        buried = game.passes_left == 0 and plainly_usable(game) != outside
        n_buried += buried
        left = plainly_relaxed_left(game)
        assert relaxed_left(game, win_only=False) == left
        lost = left > 0 or (buried and game.rules.goal == "all")
        assert (relaxed_left(game, win_only=True) > 0) == lost
    assert 20 < n_buried < 130


def hard_game() -> Game:
    """One whose relaxed game has hundreds of states."""
    return Game(2**33 + 12)


def entries(memo: relaxation.Memo) -> set[tuple[int, int]]:
    """What a memo has stored."""
    return {(pyramid, tally) for pyramid, tally in memo.states.tolist() if pyramid}


def test_a_memo_grows_without_losing_anything() -> None:
    game = hard_game()
    assert relaxed_left(game, False, memo_size=2) == relaxed_left(game, False)
    memo = relaxation.new_memo(2**14)
    relaxed_left_with(memo, game)
    larger = relaxation.grown(memo)
    assert larger.states.size == 4 * memo.states.size
    assert entries(larger) == entries(memo)
    assert larger.n_stored[0] == memo.n_stored[0]


def test_a_memo_answers_each_state_once_and_is_at_most_half_full() -> None:
    game = hard_game()
    memo = relaxation.new_memo(2)
    assert memo.children.size == N_SLOTS + 1
    while (left := relaxed_left_with(memo, game)) == relaxation.MEMO_FULL:
        assert 2 * memo.n_stored[0] <= memo.states.size
        memo = relaxation.grown(memo)
    n_stored = int(memo.n_stored[0])
    assert 200 < n_stored == len(entries(memo)) <= memo.states.size // 2
    assert relaxed_left_with(memo, game) == left
    assert memo.n_stored[0] == n_stored
    relaxation.forget(memo)
    assert memo.n_stored[0] == 0
    assert not entries(memo)


def test_a_memo_tells_states_apart_that_share_the_pyramid_or_the_loose_cards() -> None:
    for states in ([(i, 1) for i in range(1, 33)], [(1, i) for i in range(32)]):
        memo = relaxation.new_memo(64)
        for left, (pyramid, tally) in enumerate(states):
            relaxation._store(np.uint64(pyramid), np.uint64(tally), np.int64(left), memo)
        assert entries(memo) == {
            (pyramid | left << N_SLOTS, tally) for left, (pyramid, tally) in enumerate(states)
        }


def test_cards_that_never_share_their_loose_partners_take_no_search() -> None:
    """Of each set of the six pairs of ranks: a card in the pyramid each, and those partners."""
    lows, mates = "A23456", "QJT987"
    table = {f"G{i + 1}": f"{low}S" for i, low in enumerate(lows)}
    for chosen in range(2**6):
        stock = [f"{mate}H" for i, mate in enumerate(mates) if chosen >> i & 1]
        memo = relaxation.new_memo()
        assert relaxed_left_with(memo, game_at(table, " ".join(stock))) == 6 - len(stock)
        # What is left when they are gone is one state, and none where nothing is left.
        assert memo.n_stored[0] == (len(stock) < 6)


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
        facts = facts_of(game)
        usable = int(
            relaxation.usable_of(np.uint64(game.position), facts["partners"], facts, rules)
        )
        assert removed_before_recycling(game) & ~usable == 0
        n_buried += usable != game.position & ALL_CARDS >> N_SLOTS << N_SLOTS
    assert n_buried > 0


def test_a_card_of_the_waste_without_its_last_partner_buries_those_below() -> None:
    game = game_at({"A1": "4C", "G6": "9S", "G7": "2S"}, "3C", "9H JC")
    facts, rules = facts_of(game), compile_rules(game.rules)[0]
    partners = facts["partners"].copy()
    outside = int(engine.ALL_CARDS) & game.position >> N_SLOTS << N_SLOTS
    assert relaxation.usable_of(np.uint64(game.position), partners, facts, rules) == outside
    jack, two = N_SLOTS + 1, 27
    partners[jack] &= ~np.uint64(1 << two)
    partners[two] &= ~np.uint64(1 << jack)
    left = relaxation.usable_of(np.uint64(game.position), partners, facts, rules)
    assert left == 1 << (N_SLOTS + 2)  # the 3C of the stock


# The bound on moves


def bound(game: Game) -> Any:
    rules = compile_rules(game.rules)[0]
    facts = facts_of(game)
    return bounds.fewest_moves_bound(np.uint64(game.position), facts["partners"], facts, rules)


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
        ({"A1": "6S"}, "2C 3C 7H", "", DRAW_3, 2),
        ({"A1": "6S"}, "2C 3C 4C 7H", "", DRAW_3, 3),
        ({"A1": "6S"}, "2C", "7H 3C", Rules(), 3),  # draw, recycle, remove
        ({"A1": "6S"}, "2C", "7H 3C", Rules(passes=1), int(bounds.OUT_OF_REACH)),
        ({"A1": "6S"}, "3C", "4C 5C 7H 2D", Rules(passes=2, draw=3, stock_playable=False), 4),
        ({"A1": "AS"}, "2C 3C QH", "", Rules(), 3),
        ({"A1": "6S"}, "2C", "4C 7H 3C", Rules(), 4),  # draw, recycle, draw, remove
        ({"A1": "6S"}, "2C", "3C", Rules(), int(bounds.OUT_OF_REACH)),  # no seven is left
        ({"A1": "6S"}, "2C 3C 7H", "", Rules(draw=3), 1),  # what such draws cost is not counted
        ({"F6": "6S", "G7": "6H"}, "7H 2C", "7S", Rules(), 2),
        ({"F6": "6S", "G7": "6H"}, "7H 2C 7S 3C", "", Rules(), 3),  # remove, draw, remove
        ({"F6": "6S", "G7": "6H"}, "7H 2C", "7S 3C", Rules(), 4),  # remove, draw, recycle, remove
        ({"A1": "6S", "G1": "7H", "G2": "7D"}, "6H", "", DRAW_3, 3),
        ({"A1": "6S", "G7": "7D"}, "2C 3C 7H", "", Rules(), 1),
        ({}, "6S 7H", "", Rules(goal="all"), 2),  # one of the two is drawn
        ({}, "6S 7H 6H 7S", "", Rules(goal="all", draw=2, stock_playable=False), 4),
    ],
)
def test_the_bound_counts_what_has_to_be_passed(
    table: dict[str, str], stock: str, waste: str, rules: Rules, moves: int
) -> None:
    assert bound(game_at(table, stock, waste, rules)) == moves
