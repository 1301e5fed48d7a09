"""Random games by random rules: engine, `Game` and reference are equal, and invariants hold."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from positions import legal_texts
from reference import ReferenceGame, ReferenceRules

from pyramid_env import engine
from pyramid_env.actions import Action, Move, action_table
from pyramid_env.cards import card_symbol, card_text, rank_of
from pyramid_env.deals import Deal
from pyramid_env.engine import MAX_LEGAL, compile_rules
from pyramid_env.game import Game
from pyramid_env.observation import (
    MANY_PASSES,
    Information,
    observation_space,
    observe,
    position_from_observation,
)
from pyramid_env.rules import PRESETS, Rules

VIEWS: tuple[Information, ...] = ("fair", "thoughtful")
LONGEST = 250
"""Moves after which a game by unlimited passes is left as it is."""


class Playout(NamedTuple):
    """A game of chance: short ones shrink from long ones."""

    rules: Rules
    number: int
    seed: int
    n_moves: int

    def games(self) -> Iterator[tuple[Game, ReferenceGame]]:
        """The same game twice, at the start and after each move."""
        game = Game(self.number, self.rules)
        reference = ReferenceGame(str(game.deal).split(), ReferenceRules(**vars(self.rules)))
        generator = random.Random(self.seed)
        yield game, reference
        for _ in range(self.n_moves):
            moves = sorted(reference.legal_moves())
            if not moves:
                return
            removals = [move for move in moves if move not in ("draw", "recycle")]
            go_on = removals and generator.random() < 0.8
            move = generator.choice(removals if go_on else moves)
            game.play(move)
            reference.play(move)
            yield game, reference

    def end(self) -> tuple[Game, ReferenceGame]:
        *_, last = self.games()
        return last


RULES = st.one_of(
    st.sampled_from(list(PRESETS.values())),
    st.builds(
        Rules,
        goal=st.sampled_from(["pyramid", "all"]),
        passes=st.one_of(st.none(), st.integers(1, 4), st.integers(5, 127)),
        draw=st.one_of(st.integers(1, 4), st.integers(5, 24)),
        stock_playable=st.booleans(),
        covered_pairs=st.booleans(),
        reserve=st.integers(0, 7),
    ),
)
NUMBERS = st.one_of(st.integers(0, 1000), st.integers(0, 2**64 - 1))
N_MOVES = st.one_of(st.integers(0, LONGEST), st.just(LONGEST))  # every other game to its end
PLAYOUTS = st.builds(Playout, RULES, NUMBERS, st.integers(0, 10**6), N_MOVES)


def check_against_the_reference(playout: Playout) -> None:
    """All that can be asked of a game has the same answer, at every position."""
    for game, reference in playout.games():
        assert legal_texts(game) == reference.legal_moves()
        assert (game.is_won, game.is_lost) == (reference.is_won, reference.is_lost)
        assert game.is_over == reference.is_over
        assert (game.score, game.passes_left) == (reference.score, reference.passes_left)
        assert [card_text(card) for card in game.waste] == reference.waste
        assert [card_text(card) for card in game.stock] == reference.stock
        table = [card_text(card) for card in (*game.pyramid, *game.reserve) if card is not None]
        assert table == list(reference.table.values())
        fair, thoughtful = (
            observe(game.position, game.deal, game.rules, view).tolist() for view in VIEWS
        )
        assert fair == reference.observation()
        assert thoughtful == reference.observation(thoughtful=True)


@given(PLAYOUTS)
@settings(max_examples=150)
def test_a_game_is_the_one_of_the_reference(playout: Playout) -> None:
    check_against_the_reference(playout)


@pytest.mark.slow
@given(PLAYOUTS)
@settings(max_examples=1000)
def test_many_games_are_those_of_the_reference(playout: Playout) -> None:
    check_against_the_reference(playout)


@given(PLAYOUTS)
@settings(max_examples=150)
def test_the_kernels_play_the_game_of_the_reference(playout: Playout) -> None:
    rules = compile_rules(playout.rules)[0]
    table = action_table(playout.rules)
    rank_bits = np.empty(14, np.uint64)
    engine.find_rank_bits(Deal.from_number(playout.number).array, rank_bits)
    position = np.uint64(engine.start_position())
    actions = np.empty(MAX_LEGAL, np.int16)
    for game, reference in playout.games():
        if game.history:
            action = table.action(game.history[-1])
            position = np.uint64(engine.apply(position, action, rules))
        assert position == game.position
        assert engine.is_position(position, rules)
        count = engine.legal_actions(position, rank_bits, rules, actions)
        texts = [str(table[int(action)]) for action in actions[:count]]
        assert sorted(texts) == sorted(reference.legal_moves())  # none is there twice
        assert bool(engine.is_won(position, rules)) == reference.is_won
        assert int(engine.pyramid_cards_removed(position)) == reference.score


@given(PLAYOUTS)
@settings(max_examples=100)
def test_a_game_ends_within_its_longest_length(playout: Playout) -> None:
    game, _ = playout.end()
    bound = playout.rules.longest_game
    assert bound is None or len(game.history) <= bound


def situation(game: ReferenceGame) -> tuple[object, ...]:
    """All that the rest of a game depends on."""
    passes = game.recycles if game.rules.passes else min(game.recycles, 1)
    return frozenset(game.table.items()), tuple(game.stock), tuple(game.waste), passes


@given(PLAYOUTS)
@settings(max_examples=100)
def test_the_same_situation_is_the_same_integer_and_another_one_another(playout: Playout) -> None:
    """Walk all orders of the next moves: those that lead to one situation lead to one position."""
    level = [playout.end()]
    position_of: dict[object, int] = {}
    for depth in range(4):
        next_level = []
        for game, reference in level:
            key = situation(reference)
            is_known = key in position_of
            assert position_of.setdefault(key, game.position) == game.position
            if not is_known and depth < 3:
                for move in reference.legal_moves():
                    twin, reference_twin = game.copy(), reference.copy()
                    twin.play(move)
                    reference_twin.play(move)
                    next_level.append((twin, reference_twin))
        level = next_level
    assert len(set(position_of.values())) == len(position_of)


@given(PLAYOUTS)
@settings(max_examples=100)
def test_undoing_to_the_root_restores_every_position_and_observation(playout: Playout) -> None:
    def stand(game: Game) -> tuple[object, ...]:
        views = [observe(game.position, game.deal, game.rules, view).tolist() for view in VIEWS]
        return game.position, game.history, game.legal_actions(), views

    stands = []
    for game, _ in playout.games():
        stands.append(stand(game))
    assert stand(game) == stands.pop()
    while stands:
        last = game.history[-1]
        assert game.undo() == last
        assert stand(game) == stands.pop()
    assert game.history == ()


@given(PLAYOUTS, st.data())
@settings(max_examples=100)
def test_a_copy_and_its_original_go_their_own_ways(playout: Playout, data: Any) -> None:
    game, _ = playout.end()
    assume(game.history or not game.is_over)  # some deals are lost before the first move
    twin = game.copy()
    stand = (game.position, game.history, list(game.legal_moves))
    assert (twin.position, twin.history, list(twin.legal_moves)) == stand
    if game.is_over:
        twin.undo()
    else:
        twin.play(data.draw(st.sampled_from(list(twin.legal_moves))))
    assert (game.position, game.history, list(game.legal_moves)) == stand
    assert (twin.position, twin.history) != stand[:2]
    later = (twin.position, twin.history)
    while game.history:
        game.undo()
    assert (twin.position, twin.history) == later


@given(PLAYOUTS)
@settings(max_examples=100)
def test_an_observation_leads_to_a_position_that_looks_and_plays_the_same(
    playout: Playout,
) -> None:
    space = observation_space(playout.rules)
    for game, _ in playout.games():
        for view in VIEWS:
            seen = observe(game.position, game.deal, game.rules, view)
            assert space.contains(seen)
            position, deal = position_from_observation(seen, game.rules)
            shown = Game(deal, game.rules, position)
            assert observe(position, deal, game.rules, view).tolist() == seen.tolist()
            # Looking ahead to the end of a game needs the order of the face-down cards.
            if game.rules.passes or view == "thoughtful" or not game.unseen:
                assert shown.legal_actions() == game.legal_actions()
            if (game.passes_left or 0) <= MANY_PASSES and game.rules.passes:
                assert shown.passes_left == game.passes_left


@given(PLAYOUTS, st.data())
@settings(max_examples=100)
def test_an_illegal_action_is_refused_and_changes_nothing(playout: Playout, data: Any) -> None:
    game, reference = playout.end()
    table = action_table(game.rules)
    legal = game.legal_actions()
    action = data.draw(st.integers(0, len(table) - 1).filter(lambda action: action not in legal))
    stand = (game.position, game.history)
    assert str(table[action]) not in reference.legal_moves()
    assert table[action] not in game.legal_moves
    with pytest.raises(ValueError, match=r"illegal move .+: ."):
        game.play(action)
    assert (game.position, game.history, game.legal_actions()) == (*stand, legal)


# Texts


@given(PLAYOUTS)
@settings(max_examples=100)
def test_a_legal_move_can_be_given_as_places_cards_or_id(playout: Playout) -> None:
    game, _ = playout.end()
    for action in game.legal_actions():
        move = action_table(game.rules)[action]
        cards = [game.card_at(place) for place in move.places]
        texts = [card_text(card) for card in cards if card is not None]
        symbols = [card_symbol(card) for card in reversed(cards) if card is not None]
        by_cards = {" ".join(texts), "+".join(symbols)} - {""}
        for spelling in (str(move), str(move).lower(), *by_cards):
            assert game.find_move(spelling) == move
        assert game.find_move(action) == game.find_move(move) == move


@given(PLAYOUTS)
@settings(max_examples=100)
def test_repr_rebuilds_the_game(playout: Playout) -> None:
    game, _ = playout.end()
    again = eval(repr(game))
    assert (again.deal, again.rules, again.history) == (game.deal, game.rules, game.history)
    assert again.position == game.position


@given(st.permutations(range(52)), st.randoms(use_true_random=False))
def test_a_deal_is_read_back_however_it_is_written(cards: list[int], chance: random.Random) -> None:
    deal = Deal(tuple(cards))  # type: ignore[arg-type]
    words = []
    for card in deal.cards:
        word = chance.choice([card_text, card_symbol])(card)
        if rank_of(card) == 10 and chance.random() < 0.5:
            word = word.replace("T", "10")
        words.append(chance.choice([word, word.lower()]) + chance.choice(["", " ", "\n", "\t "]))
    assert Deal.parse("".join(words)) == deal
    assert eval(repr(deal)) == deal


@given(RULES, st.integers(0))
@example(Rules(), 284)
def test_moves_ids_and_texts_of_any_rules_are_one_to_one(rules: Rules, number: int) -> None:
    table = action_table(rules)
    action = Action(number % len(table))
    move = table[action]
    assert table.action(Move.parse(str(move))) == action
    assert eval(repr(move)) == move
