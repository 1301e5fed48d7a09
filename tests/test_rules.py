"""Rules and presets."""

import dataclasses
import re
from typing import Any

import pytest

from pyramid_env.rules import PRESETS, Rules, get_rules


def test_the_default_is_three_passes_for_the_pyramid() -> None:
    assert Rules() == Rules(
        goal="pyramid",
        passes=3,
        draw=1,
        stock_playable=True,
        covered_pairs=False,
        reserve=0,
    )


def test_the_presets_are_these() -> None:
    assert dict(PRESETS) == {
        "kawu": Rules(),
        "kawu-2": Rules(passes=2),
        "kawu-1": Rules(passes=1),
        "classic": Rules(goal="all", passes=1),
        "pyramid-only": Rules(passes=1),
        "par": Rules(goal="all"),
        "covered": Rules(goal="all", passes=1, covered_pairs=True),
        "tuts-tomb": Rules(passes=None, draw=3, stock_playable=False),
        "reserve": Rules(goal="all", passes=1, reserve=7),
    }
    assert next(iter(PRESETS)) == "kawu"


def test_rules_are_a_value() -> None:
    assert {Rules(): 1}[Rules(passes=3)] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules().passes = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        PRESETS["mine"] = Rules()  # type: ignore[index]


@pytest.mark.parametrize("rules", [*PRESETS.values(), Rules(passes=127, draw=24, reserve=1)])
def test_repr_rebuilds_the_rules(rules: Rules) -> None:
    assert eval(repr(rules)) == rules


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("goal", "pyramids", "'pyramid' or 'all'"),
        ("goal", None, "'pyramid' or 'all'"),
        ("passes", 0, "a whole number from 1 to 127 (or None: unlimited)"),
        ("passes", 128, "a whole number from 1 to 127 (or None: unlimited)"),
        ("passes", -1, "a whole number from 1 to 127 (or None: unlimited)"),
        ("passes", 3.0, "a whole number from 1 to 127 (or None: unlimited)"),
        ("passes", "3", "a whole number from 1 to 127 (or None: unlimited)"),
        ("passes", True, "a whole number from 1 to 127 (or None: unlimited)"),
        ("draw", 0, "a whole number from 1 to 24"),
        ("draw", 25, "a whole number from 1 to 24"),
        ("draw", None, "a whole number from 1 to 24"),
        ("reserve", -1, "a whole number from 0 to 7"),
        ("reserve", 8, "a whole number from 0 to 7"),
        ("stock_playable", 1, "True or False"),
        ("covered_pairs", None, "True or False"),
    ],
)
def test_a_field_that_makes_no_sense_is_an_error_that_says_what_does(
    field: str, value: Any, allowed: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{field}={value!r} is not allowed: {allowed}")):
        Rules(**{field: value})


def test_the_ends_of_every_range_are_allowed() -> None:
    assert Rules(passes=1, draw=1, reserve=0).stock_size == 24
    assert Rules(passes=127, draw=24, reserve=7).stock_size == 17


def test_the_goal_counts_28_or_52_cards() -> None:
    assert Rules(goal="pyramid").goal_size == 28
    assert Rules(goal="all").goal_size == 52


def test_no_game_is_longer_than_removals_draws_and_recycles_together() -> None:
    assert Rules(passes=1).longest_game == 52 + 24
    assert Rules(passes=3).longest_game == 52 + 3 * 24 + 2
    assert Rules(passes=2, reserve=7).longest_game == 52 + 2 * 17 + 1
    assert Rules(passes=None).longest_game is None


def test_rules_are_found_by_name_or_are_themselves() -> None:
    assert get_rules("tuts-tomb") is PRESETS["tuts-tomb"]
    mine = Rules(draw=2)
    assert get_rules(mine) is mine


@pytest.mark.parametrize("unknown", ["kawu-4", "KAWU", "", None, 3])
def test_an_unknown_name_is_an_error_that_lists_the_presets(unknown: Any) -> None:
    message = f"unknown rules {unknown!r}: use Rules(...) or one of kawu, kawu-2, kawu-1, classic"
    with pytest.raises(ValueError, match=re.escape(message)):
        get_rules(unknown)
