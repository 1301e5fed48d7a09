"""Run the package for long: `python benchmarks/load.py environments`, `soak` or `solver`; `--help`.

Each prints what it measured and ends with 1 where memory grew, steps slowed down or a check failed.
Times are CPU time, so that other work on the machine does not count.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray
from replay import show_progress
from results import peak_memory, table

from pyramid_env import PRESETS, Game, PyramidVectorEnv, Rules, sample_actions, solve_batch
from pyramid_env.actions import action_table
from pyramid_env.cards import N_CARDS
from pyramid_env.engine import ALL_CARDS, PYRAMID
from pyramid_env.observation import observe
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import get_rules
from pyramid_env.solver import Status

MIB = 2**20
SLACK = 8 * MIB
"""Memory that may be added without being a leak: what the allocator keeps."""

SOLVER_REST = 32 * MIB
"""What solving needs besides the table of positions: machine code, memo, answers of a chunk."""

SLOWDOWN = 1.25
"""How much longer a step may take in the second half than in the first: caches are shared."""


@dataclass(frozen=True)
class Environments:
    """Step many games for minutes: memory and time a step must stay the same."""

    envs: int = 65_536
    """Games side by side."""

    minutes: float = 10.0
    """How long, by the clock on the wall."""

    windows: int = 10
    """Parts to measure."""

    rules: str = "kawu"
    """Preset to play."""


@dataclass(frozen=True)
class Soak:
    """Play random legal steps under all presets and check samples of them."""

    steps: int = 100_000_000
    """Steps in all."""

    envs: int = 4096
    """Games side by side."""

    followed: int = 64
    """Games that are replayed move by move through `Game`, each to its end, again and again."""

    every: int = 64
    """Calls of `step` between two looks at as many other games."""


@dataclass(frozen=True)
class Solver:
    """Solve many deals of presets in one thread: memory must stay within its bound."""

    deals: int = 100_000
    """How many deals, from number 0 on."""

    rules: tuple[str, ...] = tuple(PRESETS)
    """Presets to play; of those with equal rules only the first is."""


@dataclass(frozen=True)
class Window:
    """What a part of a run took."""

    n_steps: int
    cpu_seconds: float
    peak: int
    """The most memory of the process so far, in bytes."""

    @property
    def nanoseconds(self) -> float:
        """CPU time a step of one game."""
        return 1e9 * self.cpu_seconds / self.n_steps


def main() -> int:
    """Run what the command line says; 1 where something was wrong."""
    kinds = (
        Annotated[Environments, tyro.conf.subcommand("environments")]
        | Annotated[Soak, tyro.conf.subcommand("soak")]
        | Annotated[Solver, tyro.conf.subcommand("solver")]
    )
    arguments: Any = tyro.cli(kinds, description=__doc__)  # type: ignore[call-overload]
    for name, value in vars(arguments).items():
        if isinstance(value, (int, float)) and value <= 0:
            print(f"--{name.replace('_', '-')} {value} is not allowed: above 0", file=sys.stderr)
            return 2
    if isinstance(arguments, Environments):
        return run_environments(arguments)
    return run_soak(arguments) if isinstance(arguments, Soak) else run_solver(arguments)


def run_environments(arguments: Environments) -> int:
    """Step for the time asked, and say whether anything grew."""
    envs = PyramidVectorEnv(arguments.envs, arguments.rules)
    generator = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    *_, infos = envs.step(sample_actions(infos["action_mask"], generator))  # compiles
    windows = []
    print("| window | steps | ns a step | peak MiB |\n|---:|---:|---:|---:|", flush=True)
    for number in range(arguments.windows):
        until = time.monotonic() + 60 * arguments.minutes / arguments.windows
        started, n_steps = time.process_time(), 0
        while n_steps == 0 or time.monotonic() < until:
            *_, infos = envs.step(sample_actions(infos["action_mask"], generator))
            n_steps += arguments.envs
        window = Window(n_steps, time.process_time() - started, peak_memory())
        windows.append(window)
        print(
            f"| {number + 1} | {window.n_steps:,} | {window.nanoseconds:.0f}"
            f" | {window.peak / MIB:.0f} |",
            flush=True,
        )
    return report(growth(windows))


def growth(windows: list[Window]) -> list[str]:
    """What grew from one window to another, in words. The first one warms up."""
    found = []
    grown = windows[-1].peak - windows[0].peak
    if grown > SLACK:
        found.append(f"memory grew by {grown / MIB:.0f} MiB after the first window")
    middle = (len(windows) + 1) // 2
    first, second = (
        float(np.median([window.nanoseconds for window in half]))
        for half in (windows[:middle], windows[middle:] or windows)
    )
    if second > SLOWDOWN * first:
        found.append(f"a step took {first:.0f} ns in the first half, {second:.0f} in the second")
    return found


@dataclass
class Followed:
    """A game of a vector environment that is written down."""

    row: int
    number: int
    moves: list[int] = field(default_factory=list)
    total: float = 0.0

    def take(
        self,
        was_over: NDArray[np.bool_],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
        infos: dict[str, Any],
    ) -> None:
        """Note a step, which begins the next game where the last one was over."""
        if was_over[self.row]:
            self.number, self.moves, self.total = int(infos["deal_number"][self.row]), [], 0.0
        else:
            self.moves.append(int(actions[self.row]))
            self.total += float(rewards[self.row])


def run_soak(arguments: Soak) -> int:
    """Play all presets alike; the first step that breaks a rule ends it with an error."""
    presets = distinct(PRESETS)
    each = -(-arguments.steps // len(presets))
    rows = []
    for name in presets:
        started = time.process_time()
        counts = soak(PRESETS[name], each, arguments)
        cells = [f"{count:,}" for count in counts]
        rows.append([f"`{name}`", *cells, f"{time.process_time() - started:.0f}"])
        show_progress(f"{name}: {cells[0]} steps")
    show_progress("")
    print(table(("rules", "steps", "games", "replayed", "looked at", "CPU s"), rows))
    return report([])


def soak(rules: Rules, n_wanted: int, arguments: Soak) -> tuple[int, int, int, int]:
    """Steps played, games ended, games replayed, positions looked at; `AssertionError` if wrong."""
    envs = PyramidVectorEnv(arguments.envs, rules)
    generator = np.random.default_rng(1)
    observations, infos = envs.reset(seed=1)
    followed = [
        Followed(row, int(infos["deal_number"][row]))
        for row in range(min(arguments.followed, arguments.envs))
    ]
    over = np.zeros(arguments.envs, np.bool_)
    before = envs.positions
    n_calls = n_steps = n_games = n_replayed = n_looked_at = 0
    while n_steps < n_wanted:
        if n_calls % arguments.every == 0:
            sample = generator.choice(arguments.envs, min(arguments.followed, arguments.envs))
            n_looked_at += look_at(envs, sample[~over[sample]], observations, infos)
        actions = sample_actions(infos["action_mask"], generator)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        positions = envs.positions
        check_all(before, positions, over, infos)
        for game in followed:
            game.take(over, actions, rewards, infos)
            if terminated[game.row]:
                check_replay(game, rules, positions, infos)
                n_replayed += 1
        n_calls += 1
        n_steps += int(np.count_nonzero(~over))
        over = terminated | truncated
        n_games += int(np.count_nonzero(over))
        before = positions
    return n_steps, n_games, n_replayed, n_looked_at


def check_all(
    before: NDArray[np.uint64],
    after: NDArray[np.uint64],
    was_over: NDArray[np.bool_],
    infos: dict[str, Any],
) -> None:
    """No card comes back, no legal action is refused, and the score is the cards that are gone."""
    back = after & ~before & np.uint64(ALL_CARDS)
    ensure(not back[~was_over].any(), "a card came back")
    ensure(not infos["illegal_action"].any(), "a legal action was refused")
    left = np.bitwise_count(after & PYRAMID)
    ensure(np.array_equal(N_SLOTS - left, infos["pyramid_cards_removed"]), "the score is wrong")


def check_replay(
    game: Followed, rules: Rules, positions: NDArray[np.uint64], infos: dict[str, Any]
) -> None:
    """A game that ended is the one that `Game` plays, each move legal there."""
    replayed = Game.replay(rules, game.number, game.moves)
    what = f"deal {game.number} of {rules}, moves {game.moves}"
    ensure(replayed.position == int(positions[game.row]), f"another end: {what}")
    ensure(replayed.is_won == bool(infos["is_success"][game.row]), f"another winner: {what}")
    ensure(replayed.is_won or replayed.is_lost, f"not over: {what}")
    n_left = (replayed.position & int(ALL_CARDS)).bit_count()
    counted = replayed.score if rules.goal == "pyramid" else N_CARDS - n_left
    ensure(game.total == counted, f"rewards {game.total}, not {counted}: {what}")


def look_at(
    envs: PyramidVectorEnv,
    rows: Iterable[int],
    observations: NDArray[np.int16],
    infos: dict[str, Any],
) -> int:
    """Masks and observations of some games under way are those of `Game` and `observe`."""
    deals, positions = envs.deals(), envs.positions
    n_rows = 0
    for row in rows:
        game = Game(deals[row], envs.rules, position=int(positions[row]))
        what = f"{deals[row]} of {envs.rules} at {game.position}"
        mask = np.zeros(len(action_table(envs.rules)), np.int8)
        mask[game.legal_actions()] = 1
        ensure(np.array_equal(infos["action_mask"][row], mask), f"another mask: {what}")
        seen = observe(game.position, game.deal, envs.rules, "fair")
        ensure(np.array_equal(observations[row], seen), f"another observation: {what}")
        n_rows += 1
    return n_rows


def distinct(names: Iterable[str]) -> list[str]:
    """Presets without those whose rules came before under another name."""
    return list({get_rules(name): name for name in reversed([*names])}.values())[::-1]


def ensure(is_right: bool, message: str) -> None:
    """Raise `AssertionError` for what is wrong, also where Python drops assertions."""
    if not is_right:
        raise AssertionError(message)


def run_solver(arguments: Solver) -> int:
    """A process for each preset, so that its memory can be told."""
    found = []
    head = ("rules", "deals", "proved", "won", "most positions", "CPU s", "memory", "bound")
    print("\n".join(table(head, []).splitlines()), flush=True)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in distinct(arguments.rules):
            cells, trouble = pool.apply(solve_all, (name, arguments.deals))
            print("| " + " | ".join(cells) + " |", flush=True)
            found += trouble
    return report(found)


def solve_all(name: str, n_deals: int) -> tuple[list[str], list[str]]:
    """Solve a preset's deals: a row of the table, and what was wrong."""
    solve_batch(range(5), name, jobs=1)
    memory, started = peak_memory(), time.process_time()
    n_proved = n_won = most_nodes = 0
    for first in range(0, n_deals, 1000):
        solutions = solve_batch(range(first, min(first + 1000, n_deals)), name, jobs=1)
        n_proved += sum(solution.status is Status.PROVED for solution in solutions)
        n_won += sum(solution.value is True for solution in solutions)
        most_nodes = max(most_nodes, *(solution.nodes for solution in solutions))
    added = peak_memory() - memory
    bound = memory_bound(most_nodes)
    trouble = [] if added <= bound else [f"{name}: {added / MIB:.0f} MiB, over its bound"]
    cells = [f"`{name}`", f"{n_deals:,}", f"{n_proved:,}", f"{n_won:,}", f"{most_nodes:,}"]
    cells += [f"{time.process_time() - started:.0f}"]
    return [*cells, *(f"{size / MIB:.0f} MiB" for size in (added, bound))], trouble


def memory_bound(n_positions: int) -> int:
    """Bytes that a search may use which meets so many positions: its table while it grows."""
    places = 512
    while 2 * n_positions >= places:
        places *= 4
    bytes_a_place = 8 + 2
    return places * bytes_a_place * 5 // 4 + SOLVER_REST


def report(found: list[str]) -> int:
    """Say what is wrong; the exit code."""
    for text in found:
        print(f"WRONG: {text}")
    if not found:
        print("all as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
