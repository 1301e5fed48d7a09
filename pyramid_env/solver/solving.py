"""`solve` and `solve_position`: the exact answer to one question about one position."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.cards import N_CARDS
from pyramid_env.engine import compile_rules
from pyramid_env.rules import MAX_PASSES, MAX_STOCK, Rules, get_rules
from pyramid_env.solver import relaxation, search
from pyramid_env.solver.facts import FACTS_DTYPE, NO_DECK, NO_POSITION, check, fill_facts
from pyramid_env.solver.moves import CARDS, MOVES, WIN
from pyramid_env.solver.solution import Objective, Solution, Status, check_objective
from pyramid_env.texts import as_number, check_whole

if TYPE_CHECKING:
    from pyramid_env.game import Game

DEFAULT_NODE_LIMIT = 20_000_000
"""Positions that one search may meet."""

LONGEST_LINE = max(
    Rules(passes=MAX_PASSES).longest_game or 0,
    # With unlimited passes, between two removals come at most the draws of two passes (the first
    # pass is told from later ones), and two recycles.
    (N_CARDS + 1) * (2 * MAX_STOCK + 3),
)
"""No line that meets each position once has more moves."""

_QUESTIONS: dict[Objective, int] = {"win": WIN, "cards": CARDS, "moves": MOVES}
_SLICE = 20_000
"""Nodes between two looks at the clock, the stop signal and Ctrl-C."""


class Stopped(Exception):  # noqa: N818 - not an error
    """The search was told to stop."""


def solve(
    game: Game,
    objective: Objective = "win",
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
    time_limit: float | None = None,
) -> Solution:
    """Answer a question about a game as it stands, exactly, all its cards known.

    `objective` is ``"win"`` (can the goal be reached?), ``"cards"`` (the most pyramid cards that
    can be removed in all) or ``"moves"`` (the fewest moves to the goal). A search that has met
    `node_limit` positions, or taken `time_limit` seconds, ends with status LIMIT and the bounds
    that it knows.

    >>> from pyramid_env import Game
    >>> solution = solve(Game(0), "moves")
    >>> solution.status.name, solution.value, len(solution.moves)
    ('PROVED', 39, 39)
    """
    return solve_position(
        game.position,
        game.deal.array,
        game.rules,
        objective,
        node_limit=node_limit,
        time_limit=time_limit,
    )


def solve_position(
    position: int,
    cards: NDArray[np.uint8],
    rules: str | Rules,
    objective: Objective = "win",
    *,
    node_limit: int = DEFAULT_NODE_LIMIT,
    time_limit: float | None = None,
    stop: Event | None = None,
) -> Solution:
    """Like `solve`, for agents: a position (see `pyramid_env.engine`) and cards (uint8[52]).

    Setting `stop`, from another thread, ends the search with `Stopped`.
    """
    check_objective(objective)
    rules = get_rules(rules)
    check_whole("node_limit", node_limit, 1)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit!r} is not allowed: seconds above 0, or None")
    if cards.shape != (N_CARDS,) or cards.dtype != np.uint8:
        raise ValueError(f"cards must be uint8[52], not {cards.dtype} of shape {cards.shape}")
    start = as_number(position)
    in_range = 0 <= start < 2**64
    found = check(np.uint64(start if in_range else 0), cards, compile_rules(rules))
    if found == NO_DECK:
        raise ValueError("cards must be the 52 of one deck, each number from 0 to 51 once")
    if found == NO_POSITION or not in_range:
        raise ValueError(f"position={position!r} is none of a game by {rules}")
    fill_facts(cards, rules, _workspace.facts)
    return _search(_Run(rules, node_limit, time_limit, stop), np.uint64(start), objective)


class _Workspace(threading.local):
    """What a thread uses again and again: making it anew would take longer than most deals do."""

    def __init__(self) -> None:
        self.facts = np.empty(1, FACTS_DTYPE)
        self.search = search.new_search(LONGEST_LINE)
        self.memo = relaxation.new_memo()


_workspace = _Workspace()


@dataclass
class _Run:
    """One call and its limits."""

    rules: Rules
    node_limit: int
    time_limit: float | None
    stop: Event | None
    started: float = field(default_factory=time.perf_counter)

    def shares(self, progress: NDArray[np.void]) -> Iterator[int]:
        """Nodes that a search may meet until it asks again; ends when a limit is reached.

        `progress` is the search's record; it tells the nodes so far.
        """
        while True:
            if self.stop is not None and self.stop.is_set():
                raise Stopped
            left = self.node_limit - int(progress["nodes"][0])
            if left <= 0 or (self.time_limit is not None and self.seconds >= self.time_limit):
                return
            yield min(left, _SLICE)

    @property
    def seconds(self) -> float:
        """Time since the call."""
        return time.perf_counter() - self.started


def _search(run: _Run, position: np.uint64, objective: Objective) -> Solution:
    """Search until the answer is proved or a limit is reached."""
    question = _QUESTIONS[objective]
    under_way, memo = _workspace.search, _workspace.memo
    relaxation.forget(memo)
    setting = question, _workspace.facts, compile_rules(run.rules)
    while search.begin(position, *setting, under_way, memo) == search.MEMO_FULL:
        memo = relaxation.grown(memo)
    proved = False
    for n_nodes in run.shares(under_way.progress):
        reason = search.go_on(n_nodes, *setting, under_way, memo)
        if reason == search.DONE:
            proved = True
            break
        if reason == search.TABLE_FULL:
            under_way = search.grown(under_way)
        elif reason == search.MEMO_FULL:
            memo = relaxation.grown(memo)
    progress: Any = under_way.progress[0]
    best, ceiling = int(progress["best"]), int(progress["ceiling"])
    lower, upper = _bounds(objective, best, best if proved else ceiling)
    value = bool(lower) if objective == "win" else lower
    line = under_way.line[: int(progress["line_length"])]
    return Solution(
        objective=objective,
        status=Status.PROVED if proved else Status.LIMIT,
        value=value if proved else None,
        lower=lower,
        upper=upper,
        moves=tuple(map(action_table(run.rules).moves.__getitem__, line.tolist())),
        nodes=int(progress["nodes"]),
        seconds=run.seconds,
    )


def _bounds(objective: Objective, best: int, ceiling: int) -> tuple[int | None, int | None]:
    """The lower and upper bound of the objective's value, from those of what lines are worth."""
    if objective != "moves":
        return best, ceiling
    known = None if best == search.NO_LINE else -best
    return (None if ceiling == search.NO_LINE else -ceiling), known
