"""`Rules` and the presets: the only place where a variant of the game exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

from pyramid_env.cards import N_CARDS
from pyramid_env.pyramid import MAX_RESERVE, N_SLOTS
from pyramid_env.texts import check_whole

Goal = Literal["pyramid", "all"]

UNLIMITED = "unlimited"

MAX_PASSES = 127
MAX_STOCK = N_CARDS - N_SLOTS


@dataclass(frozen=True)
class Rules:
    """One set of rules; a variant is a value of this class.

    Raises `ValueError`, naming the field and what is allowed, for rules that make no sense.

    >>> Rules(passes=2)
    Rules(goal='pyramid', passes=2, draw=1, stock_playable=True, covered_pairs=False, reserve=0)
    >>> Rules(draw=0)
    Traceback (most recent call last):
    ValueError: draw=0 is not allowed: a whole number from 1 to 24
    """

    goal: Goal = "pyramid"
    """What must be removed to win: ``"pyramid"``, its 28 cards, or ``"all"`` 52."""

    passes: int | None = 3
    """Trips through the stock (1 to 127); one recycle fewer. None is unlimited."""

    draw: int = 1
    """Cards moved from stock to waste by one draw (1 to 24); the last draw moves what is left."""

    stock_playable: bool = True
    """Whether the stock's top card is face up and can be played."""

    covered_pairs: bool = False
    """Whether an available pyramid card may pair with a card that it alone covers."""

    reserve: int = 0
    """Cards dealt face up beside the pyramid, always available (0 to 7)."""

    def __post_init__(self) -> None:
        if self.goal not in get_args(Goal):
            raise ValueError(f"goal={self.goal!r} is not allowed: 'pyramid' or 'all'")
        if self.passes is not None:
            check_whole("passes", self.passes, 1, MAX_PASSES, " (or None: unlimited)")
        check_whole("draw", self.draw, 1, MAX_STOCK)
        check_whole("reserve", self.reserve, 0, MAX_RESERVE)
        for field in ("stock_playable", "covered_pairs"):
            if not isinstance(getattr(self, field), bool):
                raise ValueError(f"{field}={getattr(self, field)!r} is not allowed: True or False")

    @property
    def stock_size(self) -> int:
        """Cards in the stock when the game starts: 24 less the reserve."""
        return MAX_STOCK - self.reserve

    @property
    def goal_size(self) -> int:
        """Cards that must be removed to win: 28 or 52."""
        return N_SLOTS if self.goal == "pyramid" else N_CARDS

    @property
    def longest_game(self) -> int | None:
        """An upper bound on the legal moves of one game; None where passes are unlimited.

        Every removal takes a card, each pass has at most one draw a stock card, and a recycle
        lies between two passes.
        """
        if self.passes is None:
            return None
        return N_CARDS + self.passes * self.stock_size + self.passes - 1


PRESETS: Mapping[str, Rules] = MappingProxyType(
    {
        "kawu": Rules(),
        "kawu-2": Rules(passes=2),
        "kawu-1": Rules(passes=1),
        "classic": Rules(goal="all", passes=1),
        "pyramid-only": Rules(goal="pyramid", passes=1),
        "par": Rules(goal="all", passes=3),
        "covered": Rules(goal="all", passes=1, covered_pairs=True),
        "tuts-tomb": Rules(goal="pyramid", passes=None, draw=3, stock_playable=False),
        "reserve": Rules(goal="all", passes=1, reserve=7),
    }
)
"""Rules by name; ``kawu`` is the default everywhere."""


def get_rules(rules: str | Rules) -> Rules:
    """The rules of a preset's name; `Rules` pass through.

    >>> get_rules("kawu-1").passes
    1
    """
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, str) and rules in PRESETS:
        return PRESETS[rules]
    raise ValueError(f"unknown rules {rules!r}: use Rules(...) or one of {', '.join(PRESETS)}")


def rules_text(rules: Rules) -> str:
    """Some rules in a few words.

    >>> rules_text(PRESETS["par"]), rules_text(Rules(passes=5))
    ('par', 'kawu, 5 passes')
    """
    preset, passes = rules_words(rules)
    return preset if passes is None else f"{preset}, {passes} pass{'es' * (passes != '1')}"


def rules_words(rules: Rules) -> tuple[str, str | None]:
    """The preset of some rules, and their passes where these are not the preset's.

    >>> rules_words(PRESETS["par"]), rules_words(Rules(passes=None))
    (('par', None), ('kawu', 'unlimited'))
    """
    passes = UNLIMITED if rules.passes is None else str(rules.passes)
    for name, preset in PRESETS.items():
        if preset == rules:
            return name, None
    for name, preset in PRESETS.items():
        if replace(preset, passes=rules.passes) == rules:
            return name, passes
    return "own rules", passes
