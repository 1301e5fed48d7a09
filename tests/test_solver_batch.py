"""`solve_batch`: many deals on all cores, with the answers of `solve`."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.rules import Rules
from pyramid_env.solver import Objective, Status, solve, solve_batch

OBJECTIVES: tuple[Objective, ...] = ("win", "cards", "moves")


def test_a_batch_gives_the_answers_of_solve_in_order() -> None:
    deals: list[Deal | str | int] = [Deal.from_number(7), 3, str(Deal.from_number(5)), 11]
    for objective in OBJECTIVES:
        for jobs in (None, 1, 3):
            batch = solve_batch(deals, "kawu-2", objective, jobs=jobs)
            alone = [solve(Game(deal, "kawu-2"), objective) for deal in deals]
            assert [replace(one, seconds=0.0) for one in batch] == [
                replace(one, seconds=0.0) for one in alone
            ]
    assert solve_batch([]) == []


def test_a_batch_of_thousands_keeps_its_order() -> None:
    told: list[tuple[int, int]] = []
    solutions = solve_batch(range(1500), progress=lambda n, total: told.append((n, total)))
    assert told == [(n, 1500) for n in range(1, 1501)]
    for number in (0, 4, 999, 1000, 1499):
        assert solutions[number].value == solve(Game(number)).value
        assert (
            Game.replay("kawu", number, solutions[number].moves).is_won == solutions[number].value
        )


def test_a_batch_counts_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    solve_batch(range(3), progress=True)
    assert capsys.readouterr().err == "\r1/3 deals solved\r2/3 deals solved\r3/3 deals solved\n"


def test_limits_hold_for_each_deal_of_a_batch() -> None:
    for solution in solve_batch([223, 17], "par", node_limit=100):
        assert solution.status is Status.LIMIT
        assert solution.nodes == 100
    for solution in solve_batch([223, 17], "par", time_limit=1e-9):
        assert solution.status is Status.LIMIT


def test_ctrl_c_ends_a_batch_and_the_searches_under_way() -> None:
    rules = Rules(passes=4, draw=2, covered_pairs=True, reserve=1)
    long_search = 215640997  # seconds
    solve(Game(long_search, rules), "moves", node_limit=1000)  # kernels are compiled now
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            solve_batch([long_search] * 200, rules, "moves")
        assert time.perf_counter() - started < 3
    finally:
        signal.signal(signal.SIGINT, previous)
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


def test_a_bad_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="objective='all' is not allowed"):
        solve_batch([1], objective="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jobs=0 is not allowed"):
        solve_batch([1], jobs=0)
    with pytest.raises(ValueError, match="cannot read 'nonsense' as a card"):
        solve_batch([1, "nonsense"])
    with pytest.raises(ValueError, match="node_limit=-1 is not allowed"):
        solve_batch([1], node_limit=-1)
    with pytest.raises(ValueError, match="time_limit=0 is not allowed"):
        solve_batch([1], time_limit=0)
