"""The figures of a comparison, from games made up so that each can be told by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.charts import COLOURS, draw_charts
from agents.comparison import Comparison, compare
from agents.report import cells, markdown, notes, pair_cells, seed_cells
from agents.results import NONE, Entry, Games, Optima, Results, Settings
from pyramid_env import Rules

# Four deals: three can be won, and of the last the solver says nothing.
OPTIMA = Optima(np.array([1, 1, 1, NONE]), np.array([28, 28, 28, NONE]))


def games(won: list[int], cards: list[int], losing_move: list[int], **options: Any) -> Games:
    n_moves = options.get("n_moves", [10] * len(won))
    seconds = options.get("seconds", [0.1] * len(won))
    return Games(
        np.array(won),
        np.array(cards),
        np.array(losing_move),
        np.array(n_moves),
        np.array(seconds),
        options.get("errors", {}),
    )


GOOD = games([1, 1, 0, 1], [28, 28, 20, 28], [NONE, NONE, 6, NONE])
FAIR = games([1, 0, 0, 0], [28, 26, 10, 8], [NONE, 3, 1, NONE], n_moves=[40, 30, 20, 10])
POOR = games([0, 0, 0, 0], [4, 0, 0, 0], [1, 1, NONE, NONE], seconds=[0.0] * 4)


def comparison_of(agents: dict[str, Games], **options: Any) -> Comparison:
    n_deals = len(next(iter(agents.values())).won)
    settings = Settings("kawu", Rules(), range(100, 100 + n_deals), 10, 10)
    privileged = options.get("privileged", ())
    return compare(
        Results(
            settings,
            tuple(Entry(name, "greedy", "", name in privileged) for name in agents),
            options.get("unfinished", ()),
            options.get("optima", OPTIMA),
            agents,
            options.get("curves", {}),
        )
    )


def test_one_agents_figures() -> None:
    [figures] = comparison_of({"fair": FAIR}).agents
    assert (figures.n_deals, figures.n_won, figures.win_rate) == (4, 1, 0.25)
    assert (figures.win_low, figures.win_high) == pytest.approx((0.0456, 0.6994), abs=1e-4)
    assert figures.winnable_won == pytest.approx(1 / 3)
    assert figures.mean_cards == (28 + 26 + 10 + 8) / 4
    assert figures.regret == pytest.approx((0 + 2 + 18) / 3)  # not the deal that is open
    assert figures.lost_at == 2
    assert figures.decisions_per_second == pytest.approx(100 / 0.4)
    assert cells(figures)[-2:] == ("2", "250")


def test_what_cannot_be_said_is_left_out() -> None:
    nothing = Optima(np.array([0, 0, 0, 0]), np.full(4, NONE))
    lost = games([0] * 4, [1] * 4, [NONE] * 4, seconds=[0.0] * 4)
    comparison = comparison_of({"poor": lost}, optima=nothing)
    [figures] = comparison.agents
    assert figures.winnable_won is figures.regret is figures.lost_at is None
    assert figures.decisions_per_second is None
    assert cells(figures)[3:] == ("-", "1.00", "-", "-", "-")
    assert comparison.groups[0].still_winnable == ()
    assert "still-winnable.png" not in draw_charts(comparison)
    assert (comparison.n_winnable, comparison.n_open) == (0, 4)


def test_the_share_that_is_still_winnable_after_each_move() -> None:
    comparison = comparison_of({"good": GOOD, "fair": FAIR, "poor": POOR})
    good, fair, poor = (group.still_winnable for group in comparison.groups)
    # The last deal is open, and so is when `poor` lost the third.
    assert good == pytest.approx([1] * 6 + [2 / 3])
    assert fair == pytest.approx([1, 2 / 3, 2 / 3, 1 / 3])
    assert poor == (1, 0)


def test_profiles_and_counts_say_how_many_cards_went() -> None:
    [group] = comparison_of({"fair": FAIR}).groups
    at_least = [estimate.value for estimate in group.profile]
    assert at_least == [1.0] * 9 + [0.75] * 2 + [0.5] * 16 + [0.25] * 2
    assert all(e.low <= e.value <= e.high for e in group.profile)
    assert {n for n, share in enumerate(group.card_counts) if share == 0.25} == {8, 10, 26, 28}
    assert sum(group.card_counts) == 1


def test_seeds_are_one_group_in_which_each_deal_counts_once() -> None:
    comparison = comparison_of({"ppo@0": GOOD, "random": POOR, "ppo@1": FAIR})
    ppo, random = comparison.groups
    assert (ppo.name, ppo.seeds) == ("ppo", ("ppo@0", "ppo@1"))
    assert (random.name, random.seeds) == ("random", ("random",))
    assert ppo.win_rates == (0.75, 0.25)
    assert ppo.win_rate.value == 0.5
    assert ppo.cards.value == pytest.approx((26 + 18) / 2)
    assert seed_cells(ppo)[:3] == ("ppo", "2", "50.0%")
    assert seed_cells(ppo)[4] == "25.0% 75.0%"
    assert [agent.name for agent in comparison.agents] == ["ppo@0", "random", "ppo@1"]


def test_copies_of_one_seed_make_no_interval_narrower() -> None:
    """The luck of the deals is the same for all seeds, so more of them do not remove it."""
    generator = np.random.default_rng(0)
    won = generator.integers(0, 2, 400).tolist()
    seed = games(won, [28 * w for w in won], [NONE] * 400)
    optima = Optima(np.array(won), np.full(400, 28))
    one = comparison_of({"ppo@0": seed}, optima=optima).groups[0]
    three = comparison_of({f"ppo@{i}": seed for i in range(3)}, optima=optima).groups[0]
    assert three.win_rate == one.win_rate
    assert three.cards == one.cards


def test_pairs_are_compared_deal_by_deal() -> None:
    first, second, third = comparison_of({"good": GOOD, "fair": FAIR, "poor": POOR}).pairs
    assert [(p.first, p.second) for p in (first, second, third)] == [
        ("good", "fair"),
        ("good", "poor"),
        ("fair", "poor"),
    ]
    assert (first.only_first, first.only_second) == (2, 0)
    assert first.win_rate.value == 0.5
    assert first.cards.value == (0 + 2 + 10 + 20) / 4
    assert (first.p, second.p, third.p) == pytest.approx((0.5, 0.25, 1))
    assert (first.p_holm, second.p_holm, third.p_holm) == pytest.approx((1, 0.75, 1))
    assert pair_cells(second)[6:8] == ("0.2500", "0.7500")


def test_a_pair_with_several_seeds_has_no_test_but_an_interval() -> None:
    pairs = comparison_of({"a@0": GOOD, "a@1": FAIR, "b": POOR, "c": GOOD}).pairs
    assert [(pair.first, pair.second, pair.p is None) for pair in pairs] == [
        ("a", "b", True),
        ("a", "c", True),
        ("b", "c", False),
    ]
    assert pairs[0].win_rate.value == 0.5
    assert pair_cells(pairs[0])[6:8] == ("-", "-")
    assert pairs[2].p_holm == pairs[2].p  # the only test there is


def test_agents_that_failed_or_are_not_ready_are_named() -> None:
    failed = games(
        [1, 0, 0, 0], [28, 3, 2, 1], [NONE, 3, 4, NONE], errors={101: "raised KeyError: 3"}
    )
    comparison = comparison_of({"mine": failed}, unfinished=("slow",))
    assert comparison.agents[0].n_broken_off == 1
    assert notes(comparison) == [
        "mine broke off 1 of 4 games, which count as not won; the first: deal 101: raised"
        " KeyError: 3",
        "slow has not finished and is left out",
    ]
    assert all(note in markdown(comparison) for note in notes(comparison))


def test_privileged_agents_have_a_table_of_their_own() -> None:
    text = markdown(comparison_of({"good": GOOD, "fair": FAIR}, privileged=("good",)))
    assert text.index("Fair agents") < text.index("| fair |")
    assert text.index("| fair |") < text.index("see the hidden cards") < text.index("| good |")
    assert "Several seeds" not in text


@pytest.mark.parametrize("n", [1, 2, 10])
def test_every_chart_names_every_agent(n: int) -> None:
    names = [f"agent-{i}" for i in range(n)]
    curve = np.array([[0, 0.1, 15], [2e6, 0.4, 22]])
    comparison = comparison_of(dict.fromkeys(names, FAIR), curves=dict.fromkeys(names, curve))
    figures = draw_charts(comparison)
    assert len(figures) == 5
    for figure in figures.values():
        texts = {text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))}
        assert set(names) <= texts
    [axes] = figures["still-winnable.png"].axes
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(styles) == n
    assert len({colour for colour, _ in styles}) == min(n, len(COLOURS))
