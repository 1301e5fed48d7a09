"""The student's own games up to the move that throws the win away, and what lies a move ahead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.training.labelling import (
    ILLEGAL,
    NODE_LIMIT,
    LabelledGames,
    deal_next,
    judge_moves,
    play_forced,
    show,
    tell,
)
from pyramid_env.cards import N_RANKS
from pyramid_env.engine import MAX_LEGAL, apply, find_rank_bits, is_won
from pyramid_env.jit import kernel
from pyramid_env.rules import Rules
from pyramid_env.solver.judge import LOST, WON, can_win, take_up

CHILDREN = 8
"""Most states a move ahead, a game on average."""


class Children(NamedTuple):
    """The states after the moves that do not lose."""

    rows: NDArray[np.int64]
    """int64[n]: whose they are."""

    actions: NDArray[np.int64]
    """int64[n]: the moves."""

    observations: NDArray[np.int16]
    """int16[n, size]: what the player sees at his next choice; of no meaning where he has won."""

    won: NDArray[np.bool_]
    """bool[n]: that no choice comes any more, and the game is won."""


class OwnGames(LabelledGames):
    """Games on winnable training deals, played by the actions given and by nothing else.

    A game stands where there is a choice. It ends when it is won, and with the first move that the
    solver says loses: what comes after has nothing to teach.
    """

    lost: NDArray[np.bool_]
    """bool[n]: whether the last action threw the win away."""

    ended: NDArray[np.bool_]
    """bool[n]: whether the last action ended the game; another has begun then."""

    def __init__(
        self, n: int, rules: Rules, *, seed: int, node_limit: int = NODE_LIMIT, threads: int = 1
    ) -> None:
        super().__init__(n, rules, seed=seed, node_limit=node_limit, threads=threads)
        self.lost = np.zeros(n, np.bool_)
        self.ended = np.zeros(n, np.bool_)

    def children(self) -> Children:
        """What lies a move ahead, up to `CHILDREN` moves a game on average."""
        most = CHILDREN * len(self.games)
        rows, actions = np.empty(most, np.int64), np.empty(most, np.int64)
        observations = np.zeros((most, self.observations.shape[1]), np.int16)
        won = np.empty(most, np.bool_)
        found = rows, actions, observations, won
        n = _look_ahead(self.games, self.words, self._rules, self._layouts[0], *found)
        return Children(rows[:n], actions[:n], observations[:n], won[:n])

    def _advance(self, rows: slice, worker: int, actions: NDArray[np.int64]) -> None:
        _advance_own(
            self.games[rows],
            actions[rows],
            self._node_limit,
            self._rules,
            self._judges[worker],
            self._layouts[worker],
            self.observations[rows],
            self.words[rows],
            self.hints[rows],
            self.lost[rows],
            self.ended[rows],
        )


@kernel
def _advance_own(
    games: Any,
    actions: Any,
    node_limit: Any,
    rules_array: Any,
    judge: Any,
    layout_array: Any,
    observations: Any,
    words: Any,
    hints: Any,
    lost: Any,
    ended: Any,
) -> None:
    rules, layout = rules_array[0], layout_array[0]
    answers = np.empty(MAX_LEGAL, np.int64)
    moves = np.empty(MAX_LEGAL, np.int16)
    for i in range(games.size):
        row = np.uint64(i)
        game = games[row]
        lost[row] = ended[row] = False
        if not game["is_over"]:
            take_up(game["cards"], judge)
            if actions[row] >= 0:
                lost[row] = ended[row] = words[row, np.uint64(actions[row])] == LOST
                game["is_over"] = ended[row]
                game["position"] = apply(game["position"], actions[row], rules)
        n_moves, n_won, n_lost = _to_a_choice(game, node_limit, rules_array, judge, moves, answers)
        lost[row] |= n_lost > 0
        ended[row] |= n_won + n_lost > 0
        tell(game, row, n_moves, moves, answers, rules, layout, judge, observations, words, hints)


@kernel
def _to_a_choice(
    game: Any, node_limit: Any, rules_array: Any, judge: Any, moves: Any, words: Any
) -> Any:
    """Go on to the next choice; how many moves it has, and how many games were won and lost."""
    rules = rules_array[0]
    n_won, n_lost = 0, 0
    while True:
        while game["is_over"]:
            deal_next(game, judge)
            game["is_over"] = can_win(game["position"], node_limit, rules_array, judge) != WON
        rank_bits = judge.facts[0]["rank_bits"]
        game["position"], n_moves = play_forced(game["position"], rank_bits, rules, moves)
        if n_moves == 0:
            game["is_over"] = 1
            won = is_won(game["position"], rules)
            n_won += won
            n_lost += not won
        else:
            _, n_losing = judge_moves(
                game["position"], n_moves, moves, node_limit, rules_array, judge, words
            )
            if n_losing < n_moves:
                return n_moves, n_won, n_lost
            game["is_over"] = 1  # what the solver had left undecided was lost
            n_lost += 1


@kernel
def _look_ahead(
    games: Any,
    words: Any,
    rules_array: Any,
    layout_array: Any,
    rows: Any,
    actions: Any,
    observations: Any,
    won: Any,
) -> Any:
    """Write the children of all games; how many there are."""
    rules, layout = rules_array[0], layout_array[0]
    rank_bits = np.empty(N_RANKS + 1, np.uint64)
    moves = np.empty(MAX_LEGAL, np.int16)
    n = 0
    for i in range(games.size):
        game = games[np.uint64(i)]
        find_rank_bits(game["cards"], rank_bits)
        for action in range(words.shape[1]):
            word = words[np.uint64(i), np.uint64(action)]
            if word in (ILLEGAL, LOST) or n == rows.size:
                continue
            position = apply(game["position"], np.int64(action), rules)
            position, _ = play_forced(position, rank_bits, rules, moves)
            child = np.uint64(n)
            rows[child], actions[child], won[child] = i, action, is_won(position, rules)
            show(position, game["cards"], rank_bits, rules, layout, child, observations)
            n += 1
    return n
