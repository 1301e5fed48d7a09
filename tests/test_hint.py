"""The greedy hint: legal, fair, always the same, following its advice. The exact hint: no loss."""

import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from positions import game_at

from benchmarks.hint import HINT, KINGS, play_best
from pyramid_env.deals import Deal
from pyramid_env.engine import compile_rules, face_down_of
from pyramid_env.game import Game
from pyramid_env.observation import observe, position_from_observation
from pyramid_env.pyramid import N_SLOTS, Place, place_name
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Undecided, solve, solve_position

RULES = st.one_of(
    st.sampled_from(list(PRESETS.values())),
    st.builds(
        Rules,
        goal=st.sampled_from(["pyramid", "all"]),
        passes=st.one_of(st.none(), st.integers(1, 4), st.just(127)),
        draw=st.one_of(st.integers(1, 4), st.integers(5, 24)),
        stock_playable=st.booleans(),
        covered_pairs=st.booleans(),
        reserve=st.integers(0, 7),
    ),
)
SEEDS = st.integers(0, 10**6)
N_MOVES = 120


def played(rules: Rules, seed: int) -> Iterator[Game]:
    """A game at each of its positions, by random moves: removals mostly, and now and then hints."""
    game = Game(seed, rules)
    generator = random.Random(seed)
    for _ in range(N_MOVES):
        if game.is_over:
            return
        yield game
        moves = list(game.legal_moves)
        removals = [move for move in moves if move.places]
        if generator.random() < 0.2:
            game.play(game.hint())
        else:
            game.play(generator.choice(removals if removals and seed % 2 else moves))


def with_face_down_shuffled(game: Game, seed: int) -> Game:
    """The game as it would be if its face-down cards lay in another order."""
    hidden = int(face_down_of(np.uint64(game.position), compile_rules(game.rules)[0]))
    places = [i for i in range(len(game.deal.cards)) if (hidden >> i) & 1]
    others = random.Random(seed).sample(places, len(places))
    cards = list(game.deal.cards)
    for place, other in zip(places, others, strict=True):
        cards[place] = game.deal.cards[other]
    return Game(Deal(tuple(cards)), game.rules, game.position)


# Legal, the same every time, fair, and it ends


@given(RULES, SEEDS)
def test_it_names_a_legal_move_that_depends_on_the_position_alone(rules: Rules, seed: int) -> None:
    for game in played(rules, seed):
        hint = game.hint()
        assert hint in game.legal_moves
        assert hint == game.hint() == Game(game.deal, rules, game.position).hint()


@given(RULES, SEEDS)
def test_it_is_fair(rules: Rules, seed: int) -> None:
    for game in played(rules, seed):
        # With unlimited passes, whether the game is over may hang on the order.
        shuffled = with_face_down_shuffled(game, seed)
        assert shuffled.is_over or shuffled.hint() == game.hint()
        seen = observe(game.position, game.deal, rules)
        position, deal = position_from_observation(seen, rules)
        as_seen = Game(deal, rules, position)
        assert as_seen.is_over or as_seen.hint() == game.hint()


def test_what_the_next_draw_buries_is_not_known_while_it_is_face_down() -> None:
    # The draw shows three cards: a queen among them is the ace's last, and only the last stays on
    # top. Knowing that all is lost, one might take the five that F1 needs as well.
    table = {"F1": "8D", "G1": "AC", "R1": "5C"}
    rules = Rules(passes=1, draw=3, reserve=1)
    for stock in ("8C QD 3C 4C", "8C 3C QD 4C", "8C 3C 4C QD"):
        assert str(game_at(table, stock, rules=rules).hint()) == "draw"


@given(RULES, SEEDS)
def test_it_takes_a_king_at_once(rules: Rules, seed: int) -> None:
    for game in played(rules, seed):
        has_king = any(move.kind == "king" for move in game.legal_moves)
        assert has_king == (game.hint().kind == "king")


@given(RULES, SEEDS)
def test_a_game_by_hints_ends(rules: Rules, seed: int) -> None:
    game = Game(seed, rules)
    longest = rules.longest_game or 52 + (rules.stock_size + 1) * 2 * 52
    while not game.is_over:
        game.play(game.hint())
        assert len(game.history) <= longest


def test_a_game_that_is_over_has_no_hint() -> None:
    won = game_at({"G7": "KC"})
    won.play("G7")
    with pytest.raises(ValueError, match="no hint: the game is won"):
        won.hint()
    with pytest.raises(ValueError, match="no hint: the game is lost"):
        game_at({"G1": "2C"}).hint()


# Every place is looked at


@pytest.mark.parametrize(
    ("table", "stock", "waste", "move"),
    [
        ({"G1": "6C", "G7": "7C"}, "", "", "G1+G7"),
        ({"G1": "6C"}, "", "7C", "G1+W"),
        ({"G1": "6C"}, "7C", "", "G1+S"),
        ({"G1": "6C", "R2": "7C"}, "", "", "G1+R2"),
        ({"G1": "2C"}, "7C", "6C", "W+S"),
        ({"G1": "2C", "R1": "7C"}, "", "6C", "W+R1"),
        ({"G1": "2C", "R1": "7C"}, "6C", "", "S+R1"),
        ({"G1": "2C", "R1": "7C", "R2": "6C"}, "", "", "R1+R2"),
        ({"G1": "2C"}, "3C", "4C", "draw"),
        ({"G1": "2C"}, "", "4C", "recycle"),
    ],
)
def test_fault_07_it_looks_at_pyramid_waste_stock_and_reserve_then_draws_then_recycles(
    table: dict[str, str], stock: str, waste: str, move: str
) -> None:
    assert str(game_at(table, stock, waste, Rules(reserve=2)).hint()) == move


@pytest.mark.parametrize("slot", range(N_SLOTS))
def test_fault_12_it_sees_a_lone_king_in_every_slot(slot: int) -> None:
    name = place_name(Place(slot))
    assert str(game_at({name: "KC"}).hint()) == name
    assert str(game_at({name: "KC"}, "3C", "4C").hint()) == name


# The advice


def test_it_takes_the_pair_that_uncovers_more() -> None:
    # Two aces and one queen are free; of the aces only G3 covers a card.
    game = game_at({"F3": "5C", "G1": "AC", "G3": "AD", "G7": "QC"}, "2C QD 8C", recycles=1)
    assert str(game.hint()) == "G3+G7"


def test_it_takes_two_pyramid_cards_rather_than_one() -> None:
    game = game_at({"G1": "QC", "G7": "AC"}, "AD QD", "AH", recycles=1)
    assert str(game.hint()) == "G1+G7"


def test_it_takes_the_pair_after_which_another_lies_ready() -> None:
    # Either ace frees a card; the five under G7 can go with the eight.
    game = game_at({"F1": "9C", "F6": "5C", "G1": "AC", "G4": "8C", "G7": "AD"}, "QC 4C QD")
    assert str(game.hint()) == "G7+S"


def test_it_keeps_a_last_partner_for_the_pyramid_rather_than_spend_it_on_the_waste() -> None:
    covered_ace = {"F1": "AC", "G1": "2C"}
    assert str(game_at(covered_ace, "AD JC", "QC").hint()) == "draw"
    many_queens = game_at(covered_ace, "AD JC JD 3C QD QH", "QC")
    assert str(many_queens.hint()) == "W+S"


def test_a_card_that_lies_below_another_is_no_partner_of_it_unless_the_rules_say_so() -> None:
    # With the stock's six, the right seven would leave F1 to a six that must go before it.
    assert str(game_at({"F1": "7C", "G1": "6C", "G7": "7D"}, "6D").hint()) == "G1+G7"
    # F1 has no partner, and all is lost; by the other rules the seven is one, and is kept.
    table = {"F1": "6C", "G1": "6D", "G2": "7C"}
    assert str(game_at(table, "5C").hint()) == "G1+G2"
    assert str(game_at(table, "5C", rules=Rules(covered_pairs=True)).hint()) == "draw"


def test_in_the_last_pass_a_card_buried_in_the_waste_is_no_partner_any_more() -> None:
    covered_ace = {"F1": "AC", "G1": "5C"}
    before = game_at(covered_ace, "AD 8C", "QC", recycles=1)
    assert str(before.hint()) == "draw"  # the queen comes again, and the ace needs it
    last = game_at(covered_ace, "AD 8C", "QC", recycles=2)
    assert str(last.hint()) == "W+S"  # it is lost either way


def test_with_unlimited_passes_it_waits_only_while_cards_are_face_down() -> None:
    covered_ace = {"F1": "AC", "G1": "2C"}
    unlimited = Rules(passes=None)
    assert str(game_at(covered_ace, "AD JC", "QC", unlimited).hint()) == "draw"
    assert str(game_at(covered_ace, "AD JC", "QC", unlimited, recycles=1).hint()) == "W+S"


def test_of_equal_moves_it_names_the_one_with_the_lowest_id() -> None:
    game = game_at({"G1": "QC", "G2": "QD", "G6": "AC", "G7": "AD"})
    assert str(game.hint()) == "G1+G6"


# How well it plays


def test_it_wins_about_twice_as_many_training_deals_as_removing_whatever_can_be_removed() -> None:
    numbers = np.arange(2**32, 2**32 + 2000, dtype=np.uint64)
    results = np.empty((2, 2000, 2), dtype=np.int64)
    for weights, out in zip((HINT, KINGS), results, strict=True):
        play_best(numbers, compile_rules(Rules()), weights, out)
    (hint_wins, hint_cards), (naive_wins, naive_cards) = results.mean(axis=1)
    assert hint_wins > 0.5 > 0.28 > naive_wins
    assert hint_cards > naive_cards + 3


def test_the_benchmark_plays_as_a_game_does() -> None:
    numbers = np.arange(2**32, 2**32 + 5, dtype=np.uint64)
    for rules in PRESETS.values():
        results = np.empty((5, 2), dtype=np.int64)
        play_best(numbers, compile_rules(rules), HINT, results)
        for number, (won, cards) in zip(numbers.tolist(), results.tolist(), strict=True):
            game = Game(number, rules)
            while not game.is_over:
                game.play(game.hint())
            assert (game.is_won, game.score) == (won, cards)


@pytest.mark.parametrize("name", PRESETS)
def test_an_exact_hint_keeps_the_win_or_else_the_most_cards(name: str) -> None:
    game = Game(2, name)
    while (hint := game.hint(exact=True)) is not None:
        win, cards = solve(game).value, solve(game, "cards").value
        game.play(hint)
        assert solve(game).value == win
        if not win:
            assert solve(game, "cards").value == cards
        if win is False and cards == game.score:
            break  # from here on every move is as good
    assert game.score == cards
    assert game.is_won == win


def test_an_exact_hint_is_there_until_the_game_is_over() -> None:
    lost = game_at({"A1": "2S", "R1": "3C"}, "4C 4D", rules=Rules(reserve=1, passes=1))
    assert str(lost.hint(exact=True)) == "draw"
    for over in (game_at({}, "2C"), game_at({"G1": "2C"})):
        assert over.hint(exact=True) is None


def test_an_exact_hint_that_a_limit_left_open_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = partial(solve_position, node_limit=1)
    monkeypatch.setattr("pyramid_env.game.solve_position", limited)
    with pytest.raises(Undecided, match="no exact hint: gave up after 1 positions"):
        Game(20).hint(exact=True)
