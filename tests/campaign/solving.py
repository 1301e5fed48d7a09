"""The solver against a search through every position that can be reached, and its lines played."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pyramid_env.game import Game
from pyramid_env.solver import Objective, Solution, solve
from tests.campaign.cases import Case, Failed, random_numbers, random_rules, same
from tests.plain_search import Answers, plain_answers
from tests.reference import ReferenceGame, ReferenceRules

OBJECTIVES: tuple[Objective, ...] = ("win", "cards", "moves")
MOST_MOVES = 300
NODES_FROM_THE_START = 30_000


def check_solver(case: Case) -> Counter[str]:
    """All three proofs for the position after a case's moves, and searches cut short.

    With `limit` among the settings the answers must be those of the plain search; where that meets
    more positions nothing is compared. Without, only what the answers say of each other is.
    """
    game = Game(case.deal, case.rules)
    reference = reference_of(game)
    for text in case.moves:
        if text in game.legal_moves:
            game.play(text)
            reference.play(text)
    limit = case.settings.get("limit")
    if limit is None:
        return compare_with_each_other(game, reference)
    answers = plain_answers(game, limit)
    return Counter() if answers is None else compare(game, reference, answers)


def reference_of(game: Game) -> ReferenceGame:
    """The slow reference at the start of a game."""
    return ReferenceGame(str(game.deal).split(), ReferenceRules(**vars(game.rules)))


def compare(game: Game, reference: ReferenceGame, answers: Answers) -> Counter[str]:
    """The answers of the solver and of the plain search."""
    counts: Counter[str] = Counter()
    for objective in OBJECTIVES:
        truth = getattr(answers, objective)
        solution = solve(game, objective)
        same(f"{objective} is proved", True, solution.is_proved)
        same(objective, truth, solution.value)
        replay(reference, solution)
        counts["solver proofs"] += 1
        counts[f"solver proofs of {objective}"] += 1
        counts["moves of the solver's lines"] += len(solution.moves)
        if solution.nodes > 1:
            cut_short = solve(game, objective, node_limit=1 + solution.nodes // 3)
            check_bounds(truth, cut_short)
            counts["searches cut short"] += 1
    counts["positions of the plain search"] += answers.n_positions
    return counts


def check_bounds(truth: Any, solution: Solution) -> None:
    """The bounds of a search cut short hold."""
    low, high = solution.lower, solution.upper
    what = f"{solution.objective} {truth} within {low} and {high}"
    if solution.is_proved:
        same(f"{solution.objective}, proved at once", truth, solution.value)
    elif truth is None:
        same(what, None, high)
    else:
        same(what, True, (low is None or low <= truth) and (high is None or truth <= high))


def replay(reference: ReferenceGame, solution: Solution) -> None:
    """Play a line by the slow reference: each move is legal, and its end is what was promised."""
    reference = reference.copy()
    for text in map(str, solution.moves):
        if text not in reference.legal_moves():
            same(f"{text} of the line for {solution.objective} is legal", True, False)
        reference.play(text)
    if solution.objective == "win":
        same("the line wins", solution.value, reference.is_won)
    elif solution.objective == "cards":
        same("cards removed by the line", solution.value, reference.score)
    elif solution.value is not None:
        same("the shortest line wins", True, reference.is_won)
        same("moves of the shortest line", solution.value, len(solution.moves))


def compare_with_each_other(game: Game, reference: ReferenceGame) -> Counter[str]:
    """What the three proofs for one position say of each other, and their lines."""
    counts: Counter[str] = Counter()
    found = {
        objective: solve(game, objective, node_limit=NODES_FROM_THE_START)
        for objective in OBJECTIVES
    }
    win, cards, moves = (found[objective] for objective in OBJECTIVES)
    if win.is_proved and moves.is_proved:
        same("a shortest line, where there is a win", win.value, moves.value is not None)
    if win.is_proved and cards.is_proved and game.rules.goal == "pyramid":
        same("all 28 cards, where there is a win", win.value, cards.value == 28)
    for solution in found.values():
        if solution.is_proved:
            replay(reference, solution)
            counts["proofs from the deal on"] += 1
            counts["moves of the solver's lines"] += len(solution.moves)
        else:
            counts["searches from the deal on that gave up"] += 1
    return counts


def play_solver(generator: np.random.Generator) -> Counter[str]:
    """A game by chance: proofs at some positions as soon as all that follow can be searched."""
    rules, number = random_rules(generator), int(random_numbers(generator, 1)[0])
    shyness, n_played = generator.random(), int(generator.integers(6, 30))
    limit = int(generator.choice([300, 1000, 3000, 10_000, 60_000], p=[0.3, 0.3, 0.25, 0.12, 0.03]))
    game, played = Game(number, rules), []
    reference = reference_of(game)
    settings: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    try:
        if generator.random() < 0.1:
            counts += compare_with_each_other(game, reference)
        settings["limit"] = limit
        while len(played) < MOST_MOVES and not game.is_over:
            if len(played) >= n_played:
                answers = plain_answers(game, limit)
                if answers is not None:
                    counts += compare(game, reference, answers)
                n_played = len(played) + int(generator.integers(1, 5 if answers is None else 3))
            played.append(_next_move(game, shyness, generator))
            game.play(played[-1])
            reference.play(played[-1])
    except Exception as error:
        raise Failed(Case("solver", rules, number, tuple(played), settings), error) from error
    return counts


def _next_move(game: Game, shyness: float, generator: np.random.Generator) -> str:
    """Any move, but seldom a draw or a recycle where cards can be removed."""
    moves = list(game.legal_moves)
    removals = [move for move in moves if move.places]
    if removals and generator.random() < shyness:
        moves = removals
    return str(moves[generator.integers(len(moves))])
