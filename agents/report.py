"""Show a comparison: a table for the terminal, and Markdown, JSON and charts as files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from agents.charts import draw_charts, headline
from agents.comparison import AgentFigures, Comparison, Estimate, GroupFigures, PairFigures
from pyramid_env.files import replacing, write_text

# What the columns say, for the reader of a table: deals won, the Wilson interval of that share,
# winnable deals won, mean pyramid cards removed, mean cards short of the optimum, median number of
# the move that threw a win away, decisions a second.
COLUMNS = (
    "agent",
    "win rate",
    "95 % interval",
    "of winnable",
    "cards",
    "regret",
    "lost at",
    "decisions /s",
)

SEED_COLUMNS = (
    "agent",
    "seeds",
    "win rate",
    "95 % interval",
    "lowest and highest",
    "cards",
    "95 % interval",
    "lowest and highest",
)

PAIR_COLUMNS = (
    "first",
    "second",
    "only first won",
    "only second won",
    "win rate, points",
    "95 % interval",
    "p",
    "p (Holm)",
    "cards",
    "95 % interval",
)

ALL_TITLES = {
    "win-rates.png": "Win rates with their 95 % intervals",
    "still-winnable.png": "Winnable deals that can still be won, by the number of moves made",
    "cards-removed.png": "How many pyramid cards are removed",
    "profiles.png": "Performance profiles: games with at least so many cards removed",
    "learning-curves.png": "Learning curves",
}


def write_report(comparison: Comparison, out: Path) -> list[Path]:
    """Write ``report.md``, ``report.json`` and the charts."""
    charts = draw_charts(comparison)
    for name, figure in charts.items():
        with replacing(out / name) as draft:
            figure.savefig(draft, dpi=120, format="png")
    for name in ALL_TITLES.keys() - charts.keys():
        (out / name).unlink(missing_ok=True)  # of a report that had more to show
    texts = {
        "report.json": json.dumps(as_json(comparison), indent=2) + "\n",
        "report.md": markdown(comparison, charts),
    }
    for name, text in texts.items():
        write_text(out / name, text)
    return [out / name for name in (*texts, *charts)]


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Every figure."""
    settings = comparison.settings
    return {
        "rules_name": settings.rules_name,
        "rules": dataclasses.asdict(settings.rules),
        "first_deal": settings.deals.start,
        "n_deals": len(settings.deals),
        "n_winnable": comparison.n_winnable,
        "n_open": comparison.n_open,
        "agents": [dataclasses.asdict(agent) for agent in comparison.agents],
        "groups": [dataclasses.asdict(group) for group in comparison.groups],
        "pairs": [dataclasses.asdict(pair) for pair in comparison.pairs],
        "unfinished": comparison.unfinished,
        "versions": settings.versions,
    }


def rich_table(comparison: Comparison) -> Table:
    """The comparison for a terminal, agents that see hidden cards set apart."""
    table = Table(title=headline(comparison), title_justify="left")
    for i, column in enumerate(COLUMNS):
        heading = "\n".join(column.rsplit(" ", 1))  # two lines, so that 80 characters are enough
        table.add_column(
            heading, justify="left" if i == 0 else "right", no_wrap=i > 0, overflow="fold"
        )
    fair, privileged = split(comparison.agents)
    for row in fair:
        table.add_row(*cells(row))
    if fair and privileged:
        table.add_section()
    for row in privileged:
        table.add_row(*cells(row), style="italic")
    if privileged:
        table.caption = "Below the line (italics): agents that see the hidden cards."
    return table


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know: agents that failed in games, and those that are left out."""
    broken = [
        f"{agent.name} broke off {agent.n_broken_off} of {agent.n_deals} games, which count as not"
        f" won; the first: {agent.first_error}"
        for agent in comparison.agents
        if agent.n_broken_off
    ]
    return broken + [f"{name} has not finished and is left out" for name in comparison.unfinished]


def markdown(comparison: Comparison, charts: Iterable[str] = ()) -> str:
    """The comparison as Markdown, agents that see hidden cards in a table of their own."""
    fair, privileged = split(comparison.agents)
    several = [group for group in comparison.groups if len(group.seeds) > 1]
    parts = [headline(comparison) + "."]
    for title, columns, rows in (
        ("Fair agents", COLUMNS, [cells(row) for row in fair]),
        ("Agents that see the hidden cards", COLUMNS, [cells(row) for row in privileged]),
        ("Several seeds", SEED_COLUMNS, [seed_cells(group) for group in several]),
        ("Paired, first less second", PAIR_COLUMNS, [pair_cells(p) for p in comparison.pairs]),
    ):
        if rows:
            parts.append(f"**{title}**\n\n{_markdown_table(columns, rows)}")
    parts += [f"**Note:** {text}." for text in notes(comparison)]
    parts += [f"![{ALL_TITLES[name]}]({name})" for name in charts]
    return "\n\n".join(parts) + "\n"


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def split(rows: Iterable[AgentFigures]) -> tuple[list[AgentFigures], list[AgentFigures]]:
    """The rows of fair agents, and of those that see the hidden cards."""
    rows = list(rows)
    return [row for row in rows if not row.privileged], [row for row in rows if row.privileged]


def cells(row: AgentFigures) -> tuple[str, ...]:
    """A row of the table as text, one cell a column."""
    return (
        row.name,
        f"{row.win_rate:.1%}",
        f"{100 * row.win_low:.1f}-{row.win_high:.1%}",
        "-" if row.winnable_won is None else f"{row.winnable_won:.1%}",
        f"{row.mean_cards:.2f}",
        "-" if row.regret is None else f"{row.regret:.2f}",
        "-" if row.lost_at is None else f"{row.lost_at:.0f}",
        "-" if row.decisions_per_second is None else _speed(row.decisions_per_second),
    )


def seed_cells(group: GroupFigures) -> tuple[str, ...]:
    """A row of the table of agents with several seeds."""
    win_rate, cards = group.win_rate, group.cards
    return (
        group.name,
        str(len(group.seeds)),
        f"{win_rate.value:.1%}",
        f"{100 * win_rate.low:.1f}-{win_rate.high:.1%}",
        f"{min(group.win_rates):.1%} {max(group.win_rates):.1%}",
        f"{cards.value:.2f}",
        f"{cards.low:.2f}-{cards.high:.2f}",
        f"{min(group.cards_by_seed):.2f} {max(group.cards_by_seed):.2f}",
    )


def pair_cells(pair: PairFigures) -> tuple[str, ...]:
    """A row of the table of pairs."""
    win_rate, cards = pair.win_rate, pair.cards
    points = Estimate(*(100 * x for x in (win_rate.value, win_rate.low, win_rate.high)))
    return (
        pair.first,
        pair.second,
        f"{pair.only_first:g}",
        f"{pair.only_second:g}",
        f"{points.value:+.1f}",
        f"{points.low:+.1f} to {points.high:+.1f}",
        _p_value(pair.p),
        _p_value(pair.p_holm),
        f"{cards.value:+.2f}",
        f"{cards.low:+.2f} to {cards.high:+.2f}",
    )


def _p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _speed(per_second: float) -> str:
    rounded = float(f"{per_second:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"
