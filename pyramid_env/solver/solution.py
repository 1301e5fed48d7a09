"""`Solution`: what the solver has proved about a position, and the line of moves that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, get_args

from pyramid_env.actions import Move

Objective = Literal["win", "cards", "moves"]
_OBJECTIVES = get_args(Objective)


class Status(Enum):
    """How far a `Solution` can be trusted."""

    PROVED = "PROVED"
    """The value is exact."""

    LIMIT = "LIMIT"
    """A node or time limit came first: only the bounds are known."""


class Undecided(RuntimeError):  # noqa: N818 - it says what is wrong
    """A node or time limit came before the answer, where only an exact one will do."""


@dataclass(frozen=True)
class Solution:
    """The answer to one question about one position.

    The bounds always hold. With ``"win"`` they are 0 and 1 until the answer is known.
    """

    objective: Objective
    """What was asked: ``"win"``, ``"cards"`` or ``"moves"``."""

    status: Status
    """Whether `value` is proved, or a limit came first."""

    value: bool | int | None
    """With ``"win"`` whether the goal can be reached, with ``"cards"`` the most pyramid cards that
    can be removed in all (those gone already counted), with ``"moves"`` the fewest moves to the
    goal, None where it cannot be reached. None whenever the status is LIMIT."""

    lower: int | None
    """The value is at least this; None where there is no value (``"moves"``, goal out of reach)."""

    upper: int | None
    """The value is at most this; None where nothing is known, or there is no value."""

    moves: tuple[Move, ...]
    """A line from the position. It reaches the goal where `value` says that this can be done, and
    with ``"cards"`` removes `lower` cards; with LIMIT and ``"moves"`` it has `upper` moves. Empty
    where no such line exists or is known."""

    nodes: int
    """Positions searched."""

    seconds: float
    """Time taken."""

    @property
    def is_proved(self) -> bool:
        """Whether `value` is exact."""
        return self.status is Status.PROVED


def check_objective(objective: str) -> None:
    """Raise `ValueError` unless it is one of the three objectives."""
    if objective not in _OBJECTIVES:
        raise ValueError(f"objective={objective!r} is not allowed: one of {', '.join(_OBJECTIVES)}")
