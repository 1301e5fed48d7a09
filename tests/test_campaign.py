"""A bounded sample of the campaign, and that it finds a difference and makes it small."""

from typing import Any

import numpy as np
import pytest

from pyramid_env.rules import PRESETS, Rules
from tests.campaign import environments
from tests.campaign.__main__ import CHECKS, Arguments, main, play_round
from tests.campaign.cases import Case, Failed, smallest
from tests.campaign.environments import check_environments, play_batch
from tests.campaign.plain_game import PLACES
from tests.campaign.solving import check_solver
from tests.campaign.words import check_words


def test_some_rounds_show_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "STEPS_A_BATCH", 20_000)
    counts = play_round(0, 0) + play_round(0, 1)
    for name in ("engine steps", "steps against the slow reference", "solver proofs"):
        assert counts[name] > 100, name


def test_the_same_seed_plays_the_same_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "STEPS_A_BATCH", 2000)
    assert play_round(3, 5) == play_round(3, 5)


def test_a_game_that_is_longer_than_its_rules_allow_is_found_and_made_small(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one pass more in the plain game, drawing to the end of the last pass shows it."""
    right = environments.plain_rules

    def wrong(rules: Rules, settings: dict[str, Any]) -> Any:
        plain = right(rules, settings)
        return plain._replace(passes=plain.passes + 1 if plain.passes == 2 else plain.passes)

    monkeypatch.setattr(environments, "plain_rules", wrong)
    moves = ("draw", "G1+G7", "A1", "recycle") * 30
    case = Case("environments", PRESETS["kawu-2"], 7, moves)
    with pytest.raises(Exception, match="expected"):
        check_environments(case)
    small = smallest(case, check_environments)
    assert small.moves == ()
    assert small.rules == Rules(passes=2)
    assert main(Arguments(case=str(small))) == 1
    assert "DIFFERENCE in environments: " in capsys.readouterr().out


def test_a_batch_names_the_game_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the plain game every action with G1 takes the card of G2."""
    read = environments.read_actions

    def wrong(texts: list[str]) -> Any:
        kinds, firsts, seconds = read(texts)
        firsts[firsts == PLACES.index("G1")] = PLACES.index("G2")
        return kinds, firsts, seconds

    monkeypatch.setattr(environments, "read_actions", wrong)
    with pytest.raises(Failed) as failure:
        play_batch(np.random.default_rng(0))
    case = failure.value.case
    with pytest.raises(Exception, match="expected"):
        check_environments(case)
    assert len(smallest(case, check_environments).moves) <= len(case.moves)


def test_a_case_is_read_back_from_its_text() -> None:
    case = Case("words", PRESETS["tuts-tomb"], 2**64 - 1, ("draw", "G1+G7"), {"limit": 5})
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize("check", [check_environments, check_words, check_solver])
def test_a_case_may_hold_moves_that_are_illegal(check: Any) -> None:
    name = next(name for name, found in CHECKS.items() if found is check)
    check(Case(name, Rules(), 5, ("recycle", "draw", "A1", "W+S", "draw")))
