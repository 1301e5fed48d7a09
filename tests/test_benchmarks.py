"""The benchmarks' common parts: tables, and command lines that make no sense."""

import sys
from importlib import import_module

import pytest
from results import table


def test_a_table_has_its_first_column_to_the_left_and_the_others_to_the_right() -> None:
    written = table(("what", "time", "ratio"), [("a", "1", "2"), ("b", "3", "4")])
    assert written == "| what | time | ratio |\n|---|---:|---:|\n| a | 1 | 2 |\n| b | 3 | 4 |"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("env --rounds 0", "--rounds 0 is not allowed: 1 or more"),
        ("startup --cold-runs -1", "--cold-runs -1 is not allowed: 1 or more"),
        ("training --envs 0", "--envs 0 is not allowed: 1 or more"),
        ("search nonsense", "nonsense"),
        ("search kawu --deals 0", "--deals 0 is not allowed: 1 or more"),
        ("search kawu --variants nonsense", "--variants 'nonsense': give some of the search, 4"),
        ("mistakes greedy --games 0", "--games 0 is not allowed: 1 or more"),
        ("mistakes solver", "solver needs to see the hidden cards: give a fair agent"),
        ("mistakes greedy --node-limit 9999", "--node-limit 9999 is not allowed: 1 to"),
        ("peers nonsense", "peers.py nonsense: give one of idle, envpool-catch,"),
        ("peers", "give one of idle,"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused_in_one_line(
    words: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if words.startswith("training"):
        pytest.importorskip("sb3_contrib")
    script = import_module(words.split()[0])
    monkeypatch.setattr(sys, "argv", words.split())
    with pytest.raises(SystemExit) as stopped:
        script.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_mistakes_are_choices_that_lose_while_others_do_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A perfect player would make none; the hint makes some of each kind, and the search few."""
    mistakes = import_module("mistakes")
    monkeypatch.setattr(mistakes, "SIDE_BY_SIDE", 20)
    wrong = {}
    for agent in ("greedy", "search"):
        monkeypatch.setattr(sys, "argv", ["mistakes", agent, "--games", "60"])
        mistakes.main()
        lines = capsys.readouterr().out.splitlines()
        shares = [float(line.split("|")[4].strip(" %")) for line in lines[2:]]
        assert [line.split("|")[1].strip() for line in lines[2:]] == [
            "cards face down",
            "all cards known",
        ]
        wrong[agent] = shares
    assert min(wrong["greedy"]) > 3
    assert wrong["search"][0] < 10
    assert wrong["search"][1] == 0
