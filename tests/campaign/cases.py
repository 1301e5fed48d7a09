"""A case: the rules, deal and moves on which a comparison is made, as text, and made small."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from pyramid_env.rules import PRESETS, Rules

PRESETS_SHARE = 0.4


class Difference(Exception):  # noqa: N818 - what was looked for, not an error
    """Two answers to one question are not the same."""

    def __init__(self, what: str, expected: Any, found: Any, row: int = 0) -> None:
        expected, found = _where_they_differ(expected, found)
        super().__init__(f"{what}: expected {expected}, found {found}")
        self.row = row


def _where_they_differ(expected: Any, found: Any) -> tuple[Any, Any]:
    """Of long lists only what differs, by index."""
    if not isinstance(expected, list) or not isinstance(found, list) or len(expected) != len(found):
        return expected, found
    indices = [i for i in range(len(found)) if expected[i] != found[i]]
    return {i: expected[i] for i in indices}, {i: found[i] for i in indices}


def same(what: str, expected: Any, found: Any) -> None:
    """Raise `Difference` unless two plain values are equal."""
    if expected != found:
        raise Difference(what, expected, found)


@dataclass(frozen=True)
class Case:
    """A game to make a comparison on; moves that are illegal where they come are tried too."""

    check: str
    """The comparison, by its name in `CHECKS`."""

    rules: Rules
    deal: int
    moves: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """What else the comparison is told."""

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case of its text."""
        fields = json.loads(text)
        return cls(**fields | {"rules": Rules(**fields["rules"]), "moves": tuple(fields["moves"])})


class Failed(Exception):  # noqa: N818
    """A comparison failed on a case."""

    def __init__(self, case: Case, error: BaseException) -> None:
        super().__init__(failure_text(error))
        self.case = case


def failure_text(error: BaseException) -> str:
    """What went wrong, in a line."""
    return str(error) if isinstance(error, Difference) else f"{type(error).__name__}: {error}"


def fails(case: Case, check: Callable[[Case], Any]) -> bool:
    """Whether a check finds anything wrong, a crash included."""
    try:
        check(case)
    except Exception:
        return True
    return False


def smallest(case: Case, check: Callable[[Case], Any]) -> Case:
    """A case on which the check still fails, from which nothing simple can be left out.

    Moves are dropped, in runs that get shorter, then fields of the rules set to their defaults.
    """
    length = len(case.moves)
    while length:
        start = 0
        while start < len(case.moves):
            shorter = replace(case, moves=case.moves[:start] + case.moves[start + length :])
            if fails(shorter, check):
                case = shorter
            else:
                start += length
        length //= 2
    for name, value in asdict(Rules()).items():
        simpler = replace(case, rules=replace(case.rules, **{name: value}))
        if simpler != case and fails(simpler, check):
            case = simpler
    return case


def random_rules(generator: np.random.Generator) -> Rules:
    """A preset, or any combination of fields: small numbers mostly, at times the largest."""
    if generator.random() < PRESETS_SHARE:
        return list(PRESETS.values())[generator.integers(len(PRESETS))]
    is_wide = generator.random() < 0.3
    passes = generator.integers(1, 128) if is_wide else generator.integers(0, 5)
    draw = generator.integers(1, 25) if is_wide else generator.choice([1, 1, 2, 3, 4])
    return Rules(
        goal="all" if generator.random() < 0.5 else "pyramid",
        passes=int(passes) or None,
        draw=int(draw),
        stock_playable=bool(generator.random() < 0.6),
        covered_pairs=bool(generator.random() < 0.5),
        reserve=int(generator.choice([0, 0, *range(8)])),
    )


def random_numbers(generator: np.random.Generator, n: int) -> Any:
    """Deal numbers, uint64[n], from all there are."""
    return generator.integers(0, 2**64, n, np.uint64)
