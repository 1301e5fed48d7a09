"""`solve_batch`: many deals on all cores."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event

from pyramid_env.deals import Deal, get_deal
from pyramid_env.engine import start_position
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver.solution import Objective, Solution, check_objective
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT, solve_position

Progress = Callable[[int, int], object]
"""Told (deals solved, deals in all)."""

_AHEAD = 1000
"""Deals handed to the threads before their turn comes: a slow deal does not keep others waiting."""


def solve_batch(
    deals: Iterable[Deal | str | int],
    rules: str | Rules = "kawu",
    objective: Objective = "win",
    *,
    jobs: int | None = None,
    node_limit: int = DEFAULT_NODE_LIMIT,
    time_limit: float | None = None,
    progress: bool | Progress = False,
) -> list[Solution]:
    """Solve deals from their start, in the order given, with the answers of `solve`.

    The limits hold for each deal.
    `jobs` threads (default: one a core) work at once: kernels hold no interpreter lock. `progress`
    True counts on stderr; a callable is told how many of how many are solved. On Ctrl-C the deals
    under way are stopped, and `KeyboardInterrupt` goes on.

    >>> [solution.value for solution in solve_batch(range(5), objective="moves")]
    [39, 35, 36, 44, 32]
    """
    check_objective(objective)
    rules = get_rules(rules)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs!r} is not allowed: 1 or more, or None for one a core")
    all_deals = [get_deal(deal) for deal in deals]
    report = progress if callable(progress) else _count_on_stderr if progress else None
    n_threads = jobs or os.cpu_count() or 1
    stop = Event()

    def solve_start(deal: Deal) -> Solution:
        position = int(start_position())
        return solve_position(
            position,
            deal.array,
            rules,
            objective,
            node_limit=node_limit,
            time_limit=time_limit,
            stop=stop,
        )

    solutions: list[Solution] = []
    to_come = iter(all_deals)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            waiting = deque(pool.submit(solve_start, deal) for deal in islice(to_come, _AHEAD))
            while waiting:
                solutions.append(waiting.popleft().result())
                waiting.extend(pool.submit(solve_start, deal) for deal in islice(to_come, 1))
                if report is not None:
                    report(len(solutions), len(all_deals))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return solutions


def _count_on_stderr(n_solved: int, n_deals: int) -> None:
    end = "\n" if n_solved == n_deals else ""
    print(f"\r{n_solved}/{n_deals} deals solved", end=end, file=sys.stderr, flush=True)
