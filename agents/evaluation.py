"""Let agents play the same deals, share by share, and keep every game in files.

What is kept is left alone, so the same call goes on where a stopped one ended.
"""

from __future__ import annotations

import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

from agents.agent import Agent
from agents.baselines import RandomAgent
from agents.playing import PlayedGame, ask, play_deals
from agents.registry import AgentSpec, group_of
from agents.results import (
    CURVE_FILE,
    LOCK_FILE,
    SETTINGS_FILE,
    Entry,
    Settings,
    games_table,
    keep_curve,
    optima_table,
    read_optima,
    read_settings,
    write_settings,
)
from pyramid_env.actions import action_table
from pyramid_env.deals import FIRST_TRAINING_NUMBER
from pyramid_env.files import PART
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import Rules
from pyramid_env.solver import Undecided, first_losing_move, solve_batch
from pyramid_env.vector_env import PyramidVectorEnv
from pyramid_env.workers import Workers, check_folder, locked

Rows = list[Sequence[Any]]
"""Rows of a table, a row a deal."""

Progress = Callable[[str, int, int], object]
"""Told what is under way, how many deals are done, and how many there are."""

_kept = threading.local()
"""The agents of a thread: one need not stand two threads at once."""


def evaluate(
    folder: Path,
    settings: Settings,
    specs: Sequence[AgentSpec],
    *,
    workers: Workers | None = None,
    progress: Progress = lambda what, done, total: None,
) -> None:
    """Solve the deals and let every agent play them; the files are those of `agents.results`.

    Agents can be added to an evaluation later. A game in which an agent raises or answers an
    illegal action breaks off and is not won. Raises `ValueError` or `OSError` before anything is
    changed: for agents that cannot be loaded, a folder with something else or with another
    evaluation, or one at work there; later `WorkerDied`.
    """
    workers = workers or Workers()
    workers.check("evaluate")
    names = [spec.name for spec in specs]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"agents {' '.join(names)}: give at least one, each name once")
    entries = [_entry(spec, settings.rules) for spec in specs]
    check_folder(folder, SETTINGS_FILE, LOCK_FILE, "evaluation")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK_FILE, "evaluation"):
        _begin(folder, settings, entries)
        for spec in specs:
            if (Path(spec.target) / CURVE_FILE).is_file():
                keep_curve(folder, spec.name, Path(spec.target))
        # The workers find the kernels compiled, which all of them would else do at once.
        find_optima(settings, settings.deals[:1], None)
        play_deals(RandomAgent(), [FIRST_TRAINING_NUMBER], settings.rules)
        _solve(folder, settings, workers, progress)
        _play(folder, settings, entries, workers, progress)


def find_optima(settings: Settings, deals: range, stop: Event | None) -> tuple[range, Rows]:
    """What can be reached in each deal; what the solver leaves open is None."""

    def check(n_solved: int, n_deals: int) -> None:
        if stop is not None and stop.is_set():
            raise InterruptedError

    rules = settings.rules
    cards = [s.value for s in solve_batch(deals, rules, "cards", jobs=1, progress=check)]
    if rules.goal == "pyramid":
        wins = [None if value is None else value == N_SLOTS for value in cards]
    else:
        wins = [
            None if s.value is None else bool(s.value)
            for s in solve_batch(deals, rules, "win", jobs=1, progress=check)
        ]
    winnable = [None if win is None else int(win) for win in wins]
    return deals, list(zip(deals, winnable, cards, strict=True))


def play_share(
    settings: Settings, entry: Entry, deals: range, winnable: Sequence[int], stop: Event | None
) -> tuple[str, range, Rows]:
    """Let an agent play some deals, and judge its games."""
    agent = _agent(entry, settings.rules)
    # What it draws depends on its seed and the share, not on who played what before.
    seed = entry.name.removeprefix(group_of(entry.name))
    agent.seed(zlib.crc32(f"{seed} {deals.start}".encode()))
    games, _ = play_deals(
        agent, deals, settings.rules, batch=settings.batch, errors="keep", stop=stop
    )
    rows: Rows = []
    for game, can_win in zip(games, winnable, strict=True):
        if stop is not None and stop.is_set():
            raise InterruptedError
        losing_move = _losing_move(game, settings.rules) if can_win == 1 and not game.won else None
        seconds, moves = f"{game.seconds:.4g}", " ".join(game.moves)
        rows.append((game.deal, int(game.won), game.cards, losing_move, seconds, game.error, moves))
    return entry.name, deals, rows


def _losing_move(game: PlayedGame, rules: Rules) -> int | None:
    try:
        index = first_losing_move(rules, game.deal, game.moves)
    except Undecided:
        return None
    return (len(game.moves) if index is None else index) + 1


def _entry(spec: AgentSpec, rules: Rules) -> Entry:
    """Load an agent, which shows whether it can be, and say what it is."""
    agent = spec.load(rules)
    _warm_up(agent, rules)
    entry = Entry(spec.name, spec.target, spec.digest(agent, rules), agent.privileged)
    _agents()[entry, rules] = agent
    return entry


def _agents() -> dict[tuple[Entry, Rules], Agent]:
    if not hasattr(_kept, "agents"):
        _kept.agents = {}
    agents: dict[tuple[Entry, Rules], Agent] = _kept.agents
    return agents


def _agent(entry: Entry, rules: Rules) -> Agent:
    """The agent of an entry in this thread."""
    if (entry, rules) not in _agents():
        with warnings.catch_warnings():  # which `_entry` has given
            warnings.simplefilter("ignore")
            agent = AgentSpec(entry.name, entry.target).load(rules)
        _warm_up(agent, rules)
        _agents()[entry, rules] = agent
    return _agents()[entry, rules]


def _warm_up(agent: Agent, rules: Rules) -> None:
    """Ask for one move, so that what the first answer compiles or loads is not timed.

    What goes wrong does so again in its games.
    """
    information = "thoughtful" if agent.privileged else "fair"
    env = PyramidVectorEnv(1, rules, information=information)  # type: ignore[arg-type]
    observations, infos = env.reset(seed=0)
    ask(agent, observations, infos["action_mask"], action_table(rules))


def _begin(folder: Path, settings: Settings, entries: Sequence[Entry]) -> None:
    """Write what is asked, or hold it against what is there; clear what a kill left."""
    found = read_settings(folder)
    if found is not None:
        differences = found[0].differences(settings)
        if differences:
            raise ValueError(
                f"{folder} holds another evaluation, of {differences}: choose another one"
            )
        settings = found[0]
    there = {entry.name: entry for entry in found[1]} if found else {}
    for entry in entries:
        known = there.get(entry.name, entry)
        if known != entry and games_table(folder, entry.name).is_begun:
            change = "which has changed since" if known.target == entry.target else known.target
            raise ValueError(
                f"{folder} holds games of another {entry.name} ({change}): give this one another"
                f" name, or delete games/{entry.name}.*"
            )
        there[entry.name] = entry
    for path in folder.rglob("*" + PART):
        path.unlink()
    write_settings(folder, settings, there.values())


def _solve(folder: Path, settings: Settings, workers: Workers, progress: Progress) -> None:
    """Fill the table of optima."""
    table = optima_table(folder)
    missing = table.missing(settings.chunks)
    n_deals = len(settings.deals)
    n_done = n_deals - sum(map(len, missing))
    progress("exact solver", n_done, n_deals)
    with closing(workers.run(find_optima, [(settings, deals) for deals in missing])) as solved:
        for deals, rows in solved:
            # Written here and not by the workers, which may be machines with other disks.
            table.write(deals, rows)
            n_done += len(deals)
            progress("exact solver", n_done, n_deals)
    table.finish(settings.chunks)


def _play(
    folder: Path,
    settings: Settings,
    entries: Sequence[Entry],
    workers: Workers,
    progress: Progress,
) -> None:
    """Fill every agent's table of games."""
    optima = read_optima(folder, settings.deals)
    winnable = dict(zip(settings.deals, optima.winnable.tolist(), strict=True))
    tables = {entry.name: games_table(folder, entry.name) for entry in entries}
    calls = [
        (settings, entry, deals, [winnable[deal] for deal in deals])
        for entry in entries
        for deals in tables[entry.name].missing(settings.chunks)
    ]
    n_deals = len(settings.deals)
    left: Counter[str] = Counter()
    for _, entry, deals, _ in calls:
        left[entry.name] += len(deals)
    for name, table in tables.items():
        progress(name, n_deals - left[name], n_deals)
        if left[name] == 0:
            table.finish(settings.chunks)
    with closing(workers.run(play_share, calls)) as played:
        for name, deals, rows in played:
            tables[name].write(deals, rows)
            left[name] -= len(deals)
            progress(name, n_deals - left[name], n_deals)
            if left[name] == 0:
                tables[name].finish(settings.chunks)
