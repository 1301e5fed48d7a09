"""Compare the engine and the solver with plain ones on random games: `python -m tests.campaign`.

Ends with exit code 1 at the first difference, and prints the smallest case that shows it; `--case`
makes that comparison again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import tyro

from tests.campaign.cases import Case, Failed, fails, failure_text, smallest
from tests.campaign.environments import check_environments, play_batch
from tests.campaign.solving import check_solver, play_solver
from tests.campaign.words import check_position, check_words, play_position, play_words

CHECKS: dict[str, Callable[[Case], Counter[str]]] = {
    "environments": check_environments,
    "words": check_words,
    "solver": check_solver,
    "position": check_position,
}
ROUND: tuple[tuple[Callable[[np.random.Generator], Counter[str]], int], ...] = (
    (play_batch, 1),
    (play_words, 5),
    (play_position, 50),
    (play_solver, 5),
)
"""What is played in one round, and how often: none takes most of the time."""

SECONDS_BETWEEN_REPORTS = 60


@dataclass(frozen=True)
class Arguments:
    """Compare engine, environments and solver with plain ones on random rules, deals and moves."""

    minutes: float | None = None
    """How long to go on."""

    rounds: int | None = None
    """How many rounds to play; without either, until Ctrl-C."""

    seed: int = 0
    """The same seed plays the same games."""

    first: int = 0
    """The round to begin with."""

    case: str | None = None
    """A case as it was printed: make this comparison only."""


def main(arguments: Arguments) -> int:
    """Play, print the counts, and say whether anything differed (exit code 1)."""
    if arguments.case is not None:
        return _repeat(Case.parse(arguments.case))
    counts: Counter[str] = Counter()
    started = reported = time.monotonic()
    end = started + 60 * arguments.minutes if arguments.minutes is not None else float("inf")
    rounds = (
        range(arguments.first, arguments.first + arguments.rounds) if arguments.rounds else None
    )
    try:
        for number in rounds if rounds is not None else count(arguments.first):
            if time.monotonic() >= end:
                break
            counts += play_round(arguments.seed, number)
            if time.monotonic() > reported + SECONDS_BETWEEN_REPORTS:
                reported = time.monotonic()
                minutes = (reported - started) / 60
                print(f"round {number}, {minutes:.0f} minutes:", _line(counts), flush=True)
    except Failed as failed:
        _print_failure(failed, arguments.seed, number)
        print(_table(counts))
        return 1
    except KeyboardInterrupt:
        print("stopped")
    print(_table(counts))
    print(f"no difference in {(time.monotonic() - started) / 60:.1f} minutes")
    return 0


def play_round(seed: int, number: int) -> Counter[str]:
    """Play one round, which depends on its number and the seed alone."""
    counts = Counter({"rounds": 1})
    generator = np.random.default_rng([seed, number])
    for play, times in ROUND:
        for _ in range(times):
            counts += play(generator)
    return counts


def _print_failure(failed: Failed, seed: int, number: int) -> None:
    print(f"\nDIFFERENCE in {failed.case.check}: {failed}")
    print(f"again, with all before it: python -m tests.campaign --seed {seed} --first {number}")
    check = CHECKS[failed.case.check]
    if not fails(failed.case, check):
        print("the game alone does not show it; its moves:", failed.case)
        return
    case = smallest(failed.case, check)
    try:
        check(case)
    except Exception as error:
        print(f"the smallest case, with {len(case.moves)} moves: {failure_text(error)}")
    print(f"again: python -m tests.campaign --case '{case}'\n", flush=True)


def _repeat(case: Case) -> int:
    try:
        CHECKS[case.check](case)
    except Exception as error:
        print(f"DIFFERENCE in {case.check}: {failure_text(error)}")
        return 1
    print("no difference")
    return 0


def _line(counts: Counter[str]) -> str:
    return ", ".join(
        f"{counts[name]:,} {name}"
        for name in ("engine steps", "steps against the slow reference", "solver proofs")
    )


def _table(counts: Counter[str]) -> str:
    return "\n".join(f"{counts[name]:>15,} {name}" for name in sorted(counts))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Arguments)))
