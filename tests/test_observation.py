"""What the player sees, and the position that an observation shows."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from positions import game_at

from pyramid_env import engine
from pyramid_env.cards import rank_of
from pyramid_env.engine import compile_rules
from pyramid_env.game import Game
from pyramid_env.observation import (
    FACE_DOWN,
    LAYOUT_DTYPE,
    Information,
    encode,
    is_thoughtful,
    lay_out,
    observation_fields,
    observation_size,
    observation_space,
    observe,
    position_from_observation,
)
from pyramid_env.rules import Rules


def view_of(game: Game, information: Information = "fair") -> NDArray[np.int16]:
    return observe(game.position, game.deal, game.rules, information)


def seen(game: Game, name: str, information: Information = "fair") -> list[int]:
    """One field of the observation, without the zeros at its end."""
    part = observation_fields(game.rules)._asdict()[name]
    numbers: list[int] = view_of(game, information)[part].tolist()
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


@pytest.mark.parametrize("reserve", range(8))
def test_the_fields_follow_one_another_and_fill_the_observation(reserve: int) -> None:
    rules = Rules(reserve=reserve)
    fields = observation_fields(rules)
    lengths = [part.stop - part.start for part in fields]
    assert fields._fields == ("pyramid", "reserve", "waste", "stock", "passes_left", "unseen")
    assert lengths == [28, reserve, 24 - reserve, 24 - reserve, 1, 13]
    assert [part.start for part in fields] == [sum(lengths[:i]) for i in range(6)]
    assert observation_size(rules) == sum(lengths) == 90 - reserve


def test_the_space_has_one_category_more_than_the_largest_number_of_each_field() -> None:
    space = observation_space(Rules(reserve=2))
    categories = [14] * 28 + [14] * 2 + [14] * 22 + [15] * 22 + [10] + [5] * 13
    assert space.nvec.tolist() == categories
    assert space.dtype == np.int16
    assert space.contains(view_of(Game(0, Rules(reserve=2))))


def test_at_the_start_the_pyramid_and_the_top_of_the_stock_are_seen() -> None:
    game = Game(9)
    assert seen(game, "pyramid") == [rank_of(card) for card in game.deal.cards[:28]]
    assert seen(game, "waste") == []
    assert seen(game, "stock") == [rank_of(game.deal.cards[28]), *[FACE_DOWN] * 23]
    assert seen(game, "passes_left") == [2]
    assert sum(seen(game, "unseen")) == 23


def test_removed_cards_are_zeros_where_they_lay() -> None:
    game = game_at({"A1": "2C", "G7": "KC", "R2": "5C"}, rules=Rules(reserve=3))
    assert seen(game, "pyramid") == [2, *[0] * 26, 13]
    assert view_of(game)[28:31].tolist() == [0, 5, 0]


def test_the_waste_is_seen_from_its_top_down_and_the_stock_from_the_next_card_on() -> None:
    game = game_at({"A1": "2C"}, "5C JC 6D", "4C AC")
    assert seen(game, "waste") == [1, 4]
    assert seen(game, "stock") == [5, FACE_DOWN, FACE_DOWN]
    assert seen(game, "stock", "thoughtful") == [5, 11, 6]


def test_face_down_cards_are_counted_by_rank() -> None:
    game = game_at({"A1": "2C"}, "5C JC 6D JD KS", "4C AC")
    assert seen(game, "unseen") == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 1]
    assert seen(game, "unseen", "thoughtful") == []


def test_from_the_second_pass_on_the_whole_stock_is_seen() -> None:
    game = game_at({"A1": "2C"}, "5C JC", "4C")
    for move in ("draw", "draw", "recycle"):
        game.play(move)
    assert seen(game, "stock") == [4, 5, 11]
    assert seen(game, "unseen") == []
    assert seen(game, "passes_left") == [1]


def test_a_stock_that_cannot_be_played_is_face_down_to_its_top() -> None:
    rules = Rules(stock_playable=False, draw=3)
    game = game_at({"A1": "2C"}, "5C JC 6D 7D", rules=rules)
    assert seen(game, "stock") == [FACE_DOWN] * 4
    game.play("draw")
    assert seen(game, "waste") == [6, 11, 5]  # all three that were turned
    assert seen(game, "stock") == [FACE_DOWN]
    assert seen(game, "unseen") == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("passes", "shown"), [(1, 0), (3, 2), (10, 9), (11, 9), (127, 9), (None, 9)]
)
def test_nine_passes_left_or_more_look_the_same(passes: int | None, shown: int) -> None:
    assert view_of(Game(0, Rules(passes=passes)))[76] == shown


def test_encoding_writes_every_number() -> None:
    game = game_at({"A1": "2C", "R2": "5C"}, "5D JC", "4C", Rules(reserve=2))
    rank_bits = np.empty(14, np.uint64)
    engine.find_rank_bits(game.deal.array, rank_bits)
    rules = compile_rules(game.rules)[0]
    for thoughtful in (False, True):
        written = np.full(observation_size(game.rules), -7, np.int16)
        layout = np.empty(1, LAYOUT_DTYPE)[0]
        lay_out(np.uint64(game.position), game.deal.array, rules, layout)
        encode(
            np.uint64(game.position), layout, rank_bits, rules, thoughtful, written, np.uint64(0)
        )
        assert written.tolist() == view_of(game, "thoughtful" if thoughtful else "fair").tolist()


def test_only_two_words_name_a_view() -> None:
    assert is_thoughtful("thoughtful")
    assert not is_thoughtful("fair")
    message = "information='all' is not allowed: 'fair' or 'thoughtful'"
    with pytest.raises(ValueError, match=message):
        is_thoughtful("all")


# Back to a position


def test_an_observation_shows_a_position_that_looks_and_plays_the_same() -> None:
    game = game_at({"A1": "2C", "G2": "8H", "R3": "5C"}, "5S JC 6D", "4C AC", Rules(reserve=3))
    position, deal = position_from_observation(view_of(game), game.rules)
    shown = Game(deal, game.rules, position)
    assert [card and rank_of(card) for card in shown.pyramid[:1]] == [2]
    assert list(map(rank_of, shown.waste)) == [4, 1]
    assert list(map(rank_of, shown.stock)) == [5, 6, 11]  # the face-down ones in ascending rank
    assert set(shown.legal_moves) == set(game.legal_moves)
    assert view_of(shown).tolist() == view_of(game).tolist()


def test_a_thoughtful_observation_shows_the_stock_in_its_order() -> None:
    game = game_at({"A1": "2C"}, "5S JC 6D", "4C AC")
    position, deal = position_from_observation(view_of(game, "thoughtful"), game.rules)
    assert list(map(rank_of, Game(deal, game.rules, position).stock)) == [5, 11, 6]


@pytest.mark.parametrize("recycles", [0, 1, 2])
def test_the_passes_that_are_left_are_those_shown(recycles: int) -> None:
    game = game_at({"A1": "2C"}, "5S 6S", "4C", recycles=recycles)
    position, deal = position_from_observation(view_of(game), game.rules)
    assert Game(deal, game.rules, position).passes_left == 2 - recycles


def test_an_empty_stock_is_found_empty() -> None:
    game = game_at({"A1": "2C"}, "", "4C AC")
    position, deal = position_from_observation(view_of(game), game.rules)
    assert position >> 52 & 31 == 24
    assert set(Game(deal, game.rules, position).legal_moves) == set(game.legal_moves)


def test_what_is_hidden_does_not_show() -> None:
    def view(stock: str) -> Any:
        return view_of(game_at({"A1": "2C"}, stock)).tolist()

    assert view("5C JC 6D 7D") == view("5H 7S 6S JS")  # same ranks, another order
    assert view("5C JC 6D 7D") != view("5C JC 6D 8D")  # whoever counts the cards knows
