"""Judging a played game, against an exhaustive search and by the relations that values have."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from plain_search import late_games, plain_answers, random_rules

from pyramid_env.actions import action_table
from pyramid_env.cards import card_text
from pyramid_env.deals import Deal
from pyramid_env.engine import Position
from pyramid_env.game import Game
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Analysis, Undecided, analyse, first_losing_move, solve
from pyramid_env.solver.analysis import JudgedMove
from pyramid_env.solver.line import along

LOSES_21_CARDS = ["G1+G7", "draw"]
"""A start of deal 20: the ten of spades takes the three of clubs, not the one of spades."""


def play_on(game: Game, generator: np.random.Generator) -> Game:
    """The game played to its end by random legal moves."""
    n_most = len(game.history) + 200  # with unlimited passes it may go on for ever
    while not game.is_over and len(game.history) < n_most:
        game.play(int(generator.choice(game.legal_actions())))
    return game


def judged(game: Game) -> Analysis:
    return analyse(game.rules, game.deal, game.history)


def values_after(game: Game, position: Position) -> dict[object, tuple[bool, int]]:
    """For each legal move whether the goal can still be reached, and the most cards."""
    values = {}
    for move in Game(game.deal, game.rules, position).legal_moves:
        child = Game(game.deal, game.rules, position)
        child.play(move)
        answers = plain_answers(child)
        assert answers is not None
        values[move] = (answers.win, answers.cards)
    return values


def assert_judged_right(game: Game, move: JudgedMove) -> None:
    """Hold a judgement against the plain search."""
    before = plain_answers(Game(game.deal, game.rules, move.position))
    assert before is not None
    assert (move.winnable_before, move.cards_before) == (before.win, before.cards)
    after = values_after(game, move.position)
    assert (move.winnable_after, move.cards_after) == after[move.move]
    best = [
        m for m, (win, cards) in after.items() if (win if before.win else cards == before.cards)
    ]
    assert list(move.best_moves or ()) == best
    assert move.loses_win == (before.win and not after[move.move][0])


def assert_late_moves_are_judged_right(rules: Rules, seed: int, n_games: int) -> int:
    """Returns how many wins were lost."""
    generator = np.random.default_rng(seed)
    n_lost_wins = 0
    for game, answers in islice(late_games(rules, generator, 2000), n_games):
        n_early = len(game.history)
        play_on(game, generator)
        analysis = judged(game)
        assert analysis.is_proved
        for move in analysis.moves[n_early : n_early + 25]:
            assert_judged_right(game, move)
        n_lost_wins += answers.win and not game.is_won
    return n_lost_wins


@pytest.mark.parametrize("name", PRESETS)
def test_late_moves_are_judged_as_the_plain_search_does(name: str) -> None:
    assert_late_moves_are_judged_right(PRESETS[name], seed=1, n_games=5)


def test_late_moves_are_judged_as_the_plain_search_does_under_any_rules() -> None:
    generator = np.random.default_rng(2)
    n_lost_wins = sum(
        assert_late_moves_are_judged_right(random_rules(generator), seed=i, n_games=1)
        for i in range(30)
    )
    assert n_lost_wins >= 3


@pytest.mark.parametrize("name", PRESETS)
def test_values_never_rise_and_the_whole_follows_from_the_moves(name: str) -> None:
    for deal in (1, 2):
        game = play_on(Game(deal, name), np.random.default_rng(deal))
        analysis = judged(game)
        assert [move.move for move in analysis.moves] == list(game.history)
        for first, second in pairwise(analysis.moves):
            assert (first.winnable_after, first.cards_after) == (
                second.winnable_before,
                second.cards_before,
            )
        for move in analysis.moves:
            assert int(move.winnable_before or 0) >= int(move.winnable_after or 0)
            assert (move.cards_lost or 0) >= 0
            assert move.best_moves
            lost_something = move.loses_win or (not move.winnable_before and move.cards_lost)
            assert (move.move in move.best_moves) == (not lost_something)
        assert analysis.moves[0].winnable_before == solve(Game(deal, name)).value
        assert analysis.moves[0].cards_before == solve(Game(deal, name), "cards").value
        assert analysis.moves[-1].cards_after == game.score
        assert analysis.cards_lost == sum(move.cards_lost or 0 for move in analysis.moves)
        assert analysis.losing_move == first_losing_move(name, deal, game.history)
        losers = [i for i, move in enumerate(analysis.moves) if move.loses_win]
        assert losers == ([] if analysis.losing_move is None else [analysis.losing_move])


def test_a_best_line_loses_nothing() -> None:
    for name in ("kawu", "classic", "reserve"):
        for deal in range(3):
            line = solve(Game(deal, name)).moves or solve(Game(deal, name), "cards").moves
            analysis = analyse(name, deal, line)
            assert (analysis.losing_move, analysis.cards_lost) == (None, 0)
            assert all(move.move in (move.best_moves or ()) for move in analysis.moves)


def test_a_position_of_a_judgement_is_the_one_before_the_move() -> None:
    for move in analyse("kawu", 20, LOSES_21_CARDS).moves:
        game = Game(20, "kawu", move.position)
        assert game.describe(move.move) == move.text


def test_a_lost_win_is_told_in_words() -> None:
    analysis = analyse("kawu", 20, LOSES_21_CARDS)
    lines = [" ".join(line.split()) for line in str(analysis).splitlines()]
    assert lines == [
        "1. G1+G7 (TS+3C) throws the win away: at most 7 cards go; better: G1+G4 (TS+3S), draw",
        "2. draw lost: at most 7 cards go",
        "Move 1 threw the win away. Given away in all: 21 cards.",
    ]


def test_a_game_without_moves_lost_nothing() -> None:
    analysis = analyse("kawu", 0, [])
    assert (analysis.moves, analysis.losing_move, analysis.cards_lost) == ((), None, 0)
    assert analysis.is_proved
    assert first_losing_move("kawu", 0, []) is None


# The losing move alone


def test_the_losing_move_is_none_in_a_game_won_unwinnable_or_still_winnable() -> None:
    won = solve(Game(0)).moves
    assert first_losing_move("kawu", 0, won) is None
    assert first_losing_move("kawu", 0, won[:10]) is None
    unwinnable = next(deal for deal in range(100) if not solve(Game(deal)).value)
    game = play_on(Game(unwinnable), np.random.default_rng(0))
    assert first_losing_move("kawu", unwinnable, game.history) is None


def test_the_losing_move_is_the_last_before_the_win_is_gone() -> None:
    for deal in range(30):
        game = play_on(Game(deal), np.random.default_rng(deal))
        index = first_losing_move("kawu", deal, game.history)
        assert (index is None) == (game.is_won or not solve(Game(deal)).value)
        if index is not None:
            assert solve(Game.replay("kawu", deal, game.history[:index])).value is True
            assert solve(Game.replay("kawu", deal, game.history[: index + 1])).value is False


# Limits


def test_a_limit_leaves_values_open_and_makes_none_wrong() -> None:
    n_open = 0
    for deal in (3, 7, 17):
        game = play_on(Game(deal), np.random.default_rng(deal))
        exact = judged(game)
        limited = analyse("kawu", deal, game.history, node_limit=15)
        n_open += not limited.is_proved
        for a, b in zip(exact.moves, limited.moves, strict=True):
            assert b.winnable_before in (None, a.winnable_before)
            assert b.winnable_after in (None, a.winnable_after)
            assert b.cards_before in (None, a.cards_before)
            assert b.cards_after in (None, a.cards_after)
            assert b.best_moves in (None, a.best_moves)
            assert b.loses_win in (None, a.loses_win)
        assert limited.losing_move in (None, exact.losing_move)
        assert limited.cards_lost in (None, exact.cards_lost)
    assert n_open


def test_what_a_limit_leaves_open_is_said() -> None:
    limited = analyse("kawu", 20, LOSES_21_CARDS[1:], node_limit=1)
    assert not limited.is_proved
    assert (limited.moves[0].winnable_before, limited.moves[0].best_moves) == (None, None)
    assert "not decided" in str(limited)
    assert (
        "Not decided whether a move threw the win away. Given away in all: how many is open."
        in (str(limited))
    )
    with pytest.raises(Undecided, match="node_limit=1 leaves open"):
        first_losing_move("kawu", 20, LOSES_21_CARDS[1:], node_limit=1)


def test_a_game_that_was_won_needs_no_solver() -> None:
    won = solve(Game(0)).moves
    assert first_losing_move("kawu", 0, won, node_limit=1) is None
    assert all(move.cards_before == 28 for move in analyse("kawu", 0, won, node_limit=1).moves)


@pytest.mark.parametrize(
    ("values", "open_at", "expected"),
    [
        ([28, 28, 20, 20, 20, 7], (), [28, 28, 20, 20, 20, 7]),
        ([28, 28, 20, 20, 20, 7], (0,), [28, 28, 20, 20, 20, 7]),
        ([28, 25, 20, 20, 20, 7], (0, 3), [None, 25, 20, 20, 20, 7]),
        ([28, 28, 20, 20, 20, 7], (1, 2, 3, 4), [28, None, None, None, None, 7]),
        ([5, 5, 5], (0, 1, 2), [None, None, None]),
        ([5, 5, 5], (0, 1), [None, None, 5]),
    ],
)
def test_values_along_a_line_are_filled_in_where_they_must_be(
    values: list[int], open_at: tuple[int, ...], expected: list[int | None]
) -> None:
    positions = [Position(i) for i in range(len(values))]
    found = along(
        positions,
        28,
        values[-1],
        lambda position: None if position in open_at else values[position],
    )
    assert found == expected


def test_few_positions_of_a_line_are_asked_about() -> None:
    values = [True] * 37 + [False] * 27
    asked: list[int] = []

    def ask(position: Position) -> bool:
        asked.append(position)
        return values[position]

    assert along([Position(i) for i in range(64)], True, False, ask) == values
    assert len(asked) <= 7


# What is taken, and bad input


def test_moves_are_taken_as_a_replay_takes_them() -> None:
    game = play_on(Game(7, "covered"), np.random.default_rng(7))
    table = action_table(game.rules)
    by_cards = []
    for i, move in enumerate(game.history):
        cards = [Game.replay("covered", 7, game.history[:i]).card_at(p) for p in move.places]
        by_cards.append(" ".join(card_text(c) for c in cards if c is not None) or str(move))
    expected = judged(game)
    for moves in ([*map(str, game.history)], [*map(table.action, game.history)], by_cards):
        assert analyse("covered", 7, moves) == expected
    assert analyse(PRESETS["covered"], str(Deal.from_number(7)), by_cards) == expected


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        (["draw", "recycle"], "move 2: recycle is illegal: legal is .*draw"),
        (["KS QH"], "move 1: KS QH is illegal: legal is G"),
        (["what"], "move 1: no place is named 'what'"),
        ([""], "move 1: cannot read '' as a move"),
        ([999], "move 1: 999 is illegal"),
        ([True], "move 1: cannot play True"),
        ([None], "move 1: cannot play None"),
        (["R1"], "move 1: R1 is illegal"),
    ],
)
def test_an_illegal_move_is_named(moves: list[str | int], message: str) -> None:
    for judge in (analyse, first_losing_move):
        with pytest.raises(ValueError, match=message):
            judge("kawu", 1, moves)


def test_a_move_after_the_end_is_refused() -> None:
    won = [*solve(Game(0)).moves, "draw"]
    with pytest.raises(ValueError, match=f"move {len(won)}: draw is illegal: the game is over"):
        analyse("kawu", 0, won)


def test_bad_rules_deals_and_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown rules 'chess'"):
        analyse("chess", 1, ["draw"])
    with pytest.raises(ValueError, match="no deal has number -1"):
        first_losing_move("kawu", -1, ["draw"])
    with pytest.raises(ValueError, match="node_limit=0 is not allowed"):
        analyse("kawu", 1, ["draw"], node_limit=0)
