"""Positions worth learning from, with the exact solver's word on every legal move.

Games are played on training deals; the solver judges every move where there is a choice. Most
choices do not matter: nine times out of ten all moves keep the win, or it is lost already. So the
games run on by themselves, by the hint or by a random move that keeps the win, up to a choice that
matters. There the student itself chooses (DAgger: Ross, Gordon and Bagnell, "A Reduction of
Imitation Learning and Structured Prediction to No-Regret Online Learning", AISTATS 2011).

The solver judges the true deal. A fair student does not see the face-down cards, so over many deals
it learns how likely each move keeps the win, which is the vote of `agents.search` without its cost.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.cards import N_CARDS
from pyramid_env.deals import draw_below, shuffle, training_number
from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    face_down_of,
    legal_actions,
    start_position,
)
from pyramid_env.hint import hint
from pyramid_env.jit import kernel
from pyramid_env.observation import LAYOUT_DTYPE, encode, lay_out, observation_size
from pyramid_env.rules import Rules
from pyramid_env.solver.judge import LOST, UNDECIDED, WON, can_win, new_judge, take_up

NODE_LIMIT = 4000
"""Positions that the solver may meet for one word, where nothing else is said."""

ILLEGAL = -2
"""Stands where there is no such move; the solver's words are `WON`, `LOST` and `UNDECIDED`."""

_1000 = np.uint64(1000)

GAME_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("key", np.uint64),
        ("episode", np.uint64),
        ("counter", np.uint64),  # of the game's random numbers
        ("cards", np.uint8, (N_CARDS,)),
        ("is_over", np.uint8),
    ],
    align=True,
)

_MIX_DTYPE = np.dtype([(name, np.uint64) for name in ("hidden", "easy", "lost", "hint")])


class LabelledGames:
    """Many games, each at a position where something is to be learned.

    A move keeps the win if the solver says so; where it says so of none, those do that it leaves
    undecided. `hidden` is the share, in thousandths, of the choices that matter at which a game
    stops while cards are face down; `easy` and `lost` are those of the positions where all moves
    keep the win, and where none does. `by_hint` is the share of the moves in between that are the
    hint's where that keeps the win.
    """

    observations: NDArray[np.int16]
    """int16[n, size], fair."""

    words: NDArray[np.int8]
    """int8[n, n_actions]: the solver's word on each move."""

    hints: NDArray[np.int64]
    """int64[n]: the hint's choice."""

    def __init__(
        self,
        n: int,
        rules: Rules,
        *,
        seed: int,
        node_limit: int = NODE_LIMIT,
        hidden: int = 400,
        easy: int = 80,
        lost: int = 150,
        by_hint: int = 800,
        threads: int = 1,
    ) -> None:
        self._rules = compile_rules(rules)
        self._node_limit = node_limit
        self._mix = np.array([(hidden, easy, lost, by_hint)], _MIX_DTYPE)
        self._judges = [new_judge(rules) for _ in range(threads)]
        self._layouts = [np.empty(1, LAYOUT_DTYPE) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads)
        self.games = np.zeros(n, GAME_DTYPE)
        generator = np.random.default_rng(seed)
        for name in ("key", "counter"):
            self.games[name] = generator.integers(2**64, size=n, dtype=np.uint64)
        self.games["is_over"] = 1
        self.observations = np.empty((n, observation_size(rules)), np.int16)
        self.words = np.empty((n, len(action_table(rules))), np.int8)
        self.hints = np.empty(n, np.int64)

    def advance(self, actions: NDArray[np.int64]) -> None:
        """Play an action in each game (none where it is below 0), and go on to what comes next."""
        shares = np.array_split(np.arange(len(self.games)), len(self._judges))
        tasks = [
            self._pool.submit(self._advance, slice(share[0], share[-1] + 1), worker, actions)
            for worker, share in enumerate(shares)
            if share.size
        ]
        for task in tasks:
            task.result()

    def _advance(self, rows: slice, worker: int, actions: NDArray[np.int64]) -> None:
        _advance_all(
            self.games[rows],
            actions[rows],
            self._node_limit,
            self._mix,
            self._rules,
            self._judges[worker],
            self._layouts[worker],
            self.observations[rows],
            self.words[rows],
            self.hints[rows],
        )


@kernel
def _advance_all(
    games: Any,
    actions: Any,
    node_limit: Any,
    mix_array: Any,
    rules_array: Any,
    judge: Any,
    layout_array: Any,
    observations: Any,
    words: Any,
    hints: Any,
) -> None:
    rules, layout = rules_array[0], layout_array[0]
    answers = np.empty(MAX_LEGAL, np.int64)
    moves = np.empty(MAX_LEGAL, np.int16)
    for i in range(games.size):
        row = np.uint64(i)
        game = games[row]
        if not game["is_over"]:
            take_up(game["cards"], judge)
            if actions[row] >= 0:
                game["position"] = apply(game["position"], actions[row], rules)
        n_moves = _play_on(game, node_limit, mix_array[0], rules_array, judge, moves, answers)
        tell(game, row, n_moves, moves, answers, rules, layout, judge, observations, words, hints)


@kernel
def show(
    position: Any,
    cards: Any,
    rank_bits: Any,
    rules: Any,
    layout: Any,
    row: Any,
    observations: Any,
) -> None:
    """Write what a fair player sees as a row of the observations."""
    lay_out(position, cards, rules, layout)
    flat = observations.reshape(observations.size)
    start = row * np.uint64(observations.shape[1])
    encode(position, layout, rank_bits, rules, False, flat, start)


@kernel
def tell(
    game: Any,
    row: Any,
    n_moves: Any,
    moves: Any,
    answers: Any,
    rules: Any,
    layout: Any,
    judge: Any,
    observations: Any,
    words: Any,
    hints: Any,
) -> None:
    """Write a game's row: what the player sees, a word for each move, and the hint."""
    rank_bits = judge.facts[0]["rank_bits"]
    show(game["position"], game["cards"], rank_bits, rules, layout, row, observations)
    hints[row] = hint(game["position"], rank_bits, rules)
    for action in range(words.shape[1]):
        words[row, np.uint64(action)] = ILLEGAL
    for k in range(n_moves):
        words[row, np.uint64(moves[np.uint64(k)])] = answers[np.uint64(k)]


@kernel
def deal_next(game: Any, judge: Any) -> None:
    """Begin the next training deal."""
    shuffle(training_number(game["key"], game["episode"]), game["cards"])
    game["episode"] += np.uint64(1)
    game["position"], game["is_over"] = start_position(), 0
    take_up(game["cards"], judge)


@kernel
def play_forced(position: Any, rank_bits: Any, rules: Any, moves: Any) -> Any:
    """Play on while there is one move only; the position then, and how many moves it has."""
    n_moves = legal_actions(position, rank_bits, rules, moves)
    while n_moves == 1:
        position = apply(position, np.int64(moves[0]), rules)
        n_moves = legal_actions(position, rank_bits, rules, moves)
    return position, n_moves


@kernel
def judge_moves(
    position: Any,
    n_moves: Any,
    moves: Any,
    node_limit: Any,
    rules_array: Any,
    judge: Any,
    words: Any,
) -> Any:
    """Write the solver's word on each move; how many keep the win, and how many lose it."""
    n_kept, n_lost = 0, 0
    for k in range(n_moves):
        child = apply(position, np.int64(moves[np.uint64(k)]), rules_array[0])
        word = can_win(child, node_limit, rules_array, judge)
        words[np.uint64(k)] = word
        n_kept += word == WON
        n_lost += word == LOST
    return n_kept, n_lost


@kernel
def _play_on(
    game: Any,
    node_limit: Any,
    mix: Any,
    rules_array: Any,
    judge: Any,
    moves: Any,
    words: Any,
) -> Any:
    """Play to the next position to learn from; write its moves and words, and return how many."""
    rules = rules_array[0]
    while True:
        if game["is_over"]:
            deal_next(game, judge)
        rank_bits = judge.facts[0]["rank_bits"]
        game["position"], n_moves = play_forced(game["position"], rank_bits, rules, moves)
        if n_moves == 0:
            game["is_over"] = 1
            continue
        n_kept, n_lost = judge_moves(
            game["position"], n_moves, moves, node_limit, rules_array, judge, words
        )
        if n_lost == n_moves:
            stops = _chance(game, mix["lost"])
        elif n_lost == 0:
            stops = _chance(game, mix["easy"])
        else:
            stops = face_down_of(game["position"], rules) == 0 or _chance(game, mix["hidden"])
        if stops:
            return n_moves
        if n_lost == n_moves:
            game["is_over"] = 1
        else:
            keeps = np.int64(WON if n_kept > 0 else UNDECIDED)
            action = _some_move(game, n_moves, keeps, mix, rank_bits, rules, moves, words)
            game["position"] = apply(game["position"], action, rules)


@kernel
def _some_move(
    game: Any,
    n_moves: Any,
    keeps: Any,
    mix: Any,
    rank_bits: Any,
    rules: Any,
    moves: Any,
    words: Any,
) -> Any:
    """The hint's move, or a random one, of those with the word `keeps`."""
    wanted = hint(game["position"], rank_bits, rules) if _chance(game, mix["hint"]) else -1
    n_kept = 0
    for k in range(n_moves):
        if words[np.uint64(k)] == keeps:
            if np.int64(moves[np.uint64(k)]) == wanted:
                return wanted
            n_kept += 1
    chosen, game["counter"] = draw_below(np.uint64(n_kept), game["counter"])
    for k in range(n_moves):
        if words[np.uint64(k)] == keeps:
            if chosen == np.uint64(0):
                return np.int64(moves[np.uint64(k)])
            chosen -= np.uint64(1)
    return np.int64(moves[0])


@kernel
def _chance(game: Any, thousandths: Any) -> Any:
    drawn, game["counter"] = draw_below(_1000, game["counter"])
    return drawn < thousandths
