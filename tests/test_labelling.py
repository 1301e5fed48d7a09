"""States to learn from: what the solver says of them, and that no test deal is among them."""

from __future__ import annotations

import numpy as np
import pytest

from agents.training.labelling import ILLEGAL, LabelledGames
from pyramid_env import PRESETS, Deal, Game, Rules
from pyramid_env.deals import FIRST_HELD_OUT_NUMBER, FIRST_TRAINING_NUMBER, training_number
from pyramid_env.engine import Position
from pyramid_env.observation import observation_fields, observe
from pyramid_env.solver import solve
from pyramid_env.solver.judge import LOST, UNDECIDED, WON


def start(rules: Rules, **settings: int) -> LabelledGames:
    games = LabelledGames(40, rules, seed=5, **settings)
    games.advance(np.zeros(40, np.int64))
    return games


def game_of(games: LabelledGames, row: int, rules: Rules) -> Game:
    cards = tuple(games.games["cards"][row].tolist())
    return Game(Deal(cards), rules, position=Position(int(games.games["position"][row])))


def good_actions(games: LabelledGames) -> np.ndarray:
    return np.where(games.words == WON, 1, np.where(games.words == ILLEGAL, -9, 0)).argmax(axis=1)


@pytest.mark.parametrize("preset", ["kawu", "kawu-1", "tuts-tomb", "reserve"])
def test_each_word_is_the_solvers(preset: str) -> None:
    rules = PRESETS[preset]
    games = start(rules)
    for _ in range(3):
        games.advance(good_actions(games))
    seen = set()
    for row in range(20):
        game = game_of(games, row, rules)
        shown = observe(game.position, game.deal, rules)
        assert (games.observations[row] == shown).all()
        legal = game.legal_actions()
        assert len(legal) > 1
        assert np.flatnonzero(games.words[row] != ILLEGAL).tolist() == sorted(legal)
        for action in legal:
            word = int(games.words[row, action])
            after = game.copy()
            after.play(action)
            if word != UNDECIDED:
                assert word == (WON if solve(after).value else LOST)
            seen.add(word)
    assert {WON, LOST} <= seen


def test_most_states_are_choices_that_matter_and_the_rest_is_as_asked() -> None:
    games = start(Rules(), easy=0, lost=0)
    matters = (games.words == WON).any(axis=1) & (games.words == LOST).any(axis=1)
    assert matters.all()
    games = start(Rules(), easy=1000, lost=1000)
    assert not (games.words == LOST).any(axis=1).all()


def test_games_run_past_choices_with_face_down_cards_and_keep_the_win() -> None:
    unseen = observation_fields(Rules()).unseen
    games = start(Rules(), hidden=0, easy=0, lost=0)
    for _ in range(3):
        assert (games.words == WON).any(axis=1).all()
        assert (games.observations[:, unseen] == 0).all()
        games.advance(good_actions(games))
    games = start(Rules(), hidden=1000, easy=0, lost=0)
    assert (games.observations[:, unseen].sum(axis=1) > 0).mean() > 0.5


def test_where_the_solver_knows_of_no_win_what_it_leaves_open_keeps_it() -> None:
    """With so few positions it knows the lost moves of many games, and few that win."""
    games = start(Rules(), node_limit=3, easy=0, lost=0)
    unsure = 0
    for _ in range(5):
        keeps = np.where(
            (games.words == WON).any(axis=1, keepdims=True),
            games.words == WON,
            games.words == UNDECIDED,
        )
        assert keeps.any(axis=1).all()
        assert (games.words == LOST).any(axis=1).all()
        unsure += int((~(games.words == WON).any(axis=1)).sum())
        games.advance(keeps.argmax(axis=1))
    assert unsure > 20


def test_the_answer_does_not_depend_on_the_threads_and_goes_on_from_a_copy() -> None:
    one, two = start(Rules()), start(Rules(), threads=2)
    for _ in range(4):
        for games in (one, two):
            games.advance(good_actions(games))
    assert (one.words == two.words).all()
    assert (one.observations == two.observations).all()
    later = LabelledGames(40, Rules(), seed=99)
    later.games[:] = one.games
    actions = good_actions(one)
    for games in (one, later):
        games.advance(actions)
    assert (one.words == later.words).all()


def test_only_training_deals_are_learned_from() -> None:
    """The deal of each game is that of its key and episode, which is a training number."""
    games = start(Rules())
    for row in range(40):
        game = games.games[row]
        number = int(training_number(game["key"], game["episode"] - np.uint64(1)))
        assert FIRST_TRAINING_NUMBER <= number < FIRST_HELD_OUT_NUMBER
        assert Deal.from_number(number).cards == tuple(game["cards"].tolist())
