"""Show a comparison: a table for the terminal, and JSON, CSV, Markdown and a chart as files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.table import Table

from agents.comparison import AgentSummary, Comparison
from pyramid_env.files import replacing

# What the columns say, for the reader of a table: deals won, the Wilson interval of that share,
# winnable deals won, mean pyramid cards removed, mean cards short of the optimum, median number of
# the move that threw a win away, time a decision.
COLUMNS = (
    "agent",
    "win rate",
    "95 % interval",
    "of winnable",
    "cards",
    "regret",
    "lost at",
    "a move",
)

# Those of `games.csv`: an empty cell is a figure that the solver left open, or a losing move of a
# game without one.
GAME_COLUMNS = (
    "agent",
    "deal",
    "won",
    "cards",
    "winnable",
    "most_cards",
    "regret",
    "losing_move",
    "moves",
)


def cells(row: AgentSummary) -> tuple[str, ...]:
    """A row of the table as text, one cell a column."""
    return (
        row.name,
        f"{row.win_rate:.1%}",
        f"{100 * row.win_low:.1f}-{row.win_high:.1%}",
        "-" if row.winnable_won is None else f"{row.winnable_won:.1%}",
        f"{row.mean_cards:.2f}",
        "-" if row.regret is None else f"{row.regret:.2f}",
        "-" if row.lost_at is None else f"{row.lost_at:.0f}",
        _duration(row.seconds_per_move),
    )


def headline(comparison: Comparison) -> str:
    """One sentence: which deals, how many can be won, how many stayed open."""
    deals = [optimum.deal for optimum in comparison.optima]
    n_deals = len(deals)
    text = (
        f"{comparison.rules_name} rules, deals {deals[0]} to {deals[-1]}: {comparison.n_winnable}"
        f" of {n_deals} ({comparison.n_winnable / n_deals:.1%}) can be won"
    )
    return text + (f", {comparison.n_unproved} not decided" if comparison.n_unproved else "")


def rich_table(comparison: Comparison) -> Table:
    """The comparison for a terminal, agents that see hidden cards set apart."""
    table = Table(title=headline(comparison), title_justify="left")
    for i, column in enumerate(COLUMNS):
        heading = "\n".join(column.rsplit(" ", 1))  # two lines, so that 80 characters are enough
        table.add_column(heading, justify="left" if i == 0 else "right", no_wrap=True)
    fair, privileged = split(comparison)
    for row in fair:
        table.add_row(*cells(row))
    if fair and privileged:
        table.add_section()
    for row in privileged:
        table.add_row(*cells(row), style="italic")
    if privileged:
        table.caption = "Below the line (italics): agents that see the hidden cards."
    return table


def markdown(comparison: Comparison) -> str:
    """The comparison as Markdown, agents that see hidden cards in a table of their own."""
    fair, privileged = split(comparison)
    parts = [headline(comparison) + "."]
    for title, rows in (("Fair agents", fair), ("Agents that see the hidden cards", privileged)):
        if rows:
            lines = [f"**{title}**", "", "| " + " | ".join(COLUMNS) + " |"]
            lines.append("|---|" + "---:|" * (len(COLUMNS) - 1))
            lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def split(comparison: Comparison) -> tuple[list[AgentSummary], list[AgentSummary]]:
    """The rows of fair agents, and of those that see the hidden cards."""
    rows = comparison.summaries
    return [row for row in rows if not row.privileged], [row for row in rows if row.privileged]


def write_report(comparison: Comparison, out: Path, versions: dict[str, str]) -> list[Path]:
    """Write ``comparison.json``, ``games.csv``, ``comparison.md`` and ``comparison.png``."""
    out.mkdir(parents=True, exist_ok=True)
    summary: dict[str, Any] = {
        "rules_name": comparison.rules_name,
        "rules": dataclasses.asdict(comparison.rules),
        "first_deal": comparison.optima[0].deal,
        "n_deals": len(comparison.optima),
        "n_winnable": comparison.n_winnable,
        "n_unproved": comparison.n_unproved,
        "agents": [
            {**dataclasses.asdict(row), "win_rate": row.win_rate} for row in comparison.summaries
        ],
        "versions": versions,
    }
    json_text = json.dumps(summary, indent=2) + "\n"
    writers: dict[str, Callable[[Path], object]] = {
        "comparison.json": lambda path: path.write_text(json_text, encoding="utf-8"),
        "games.csv": lambda path: path.write_text(_games_csv(comparison), encoding="utf-8"),
        "comparison.md": lambda path: path.write_text(markdown(comparison), encoding="utf-8"),
        "comparison.png": lambda path: _draw_chart(comparison, path),
    }
    for name, write in writers.items():
        with replacing(out / name) as draft:
            write(draft)
    return [out / name for name in writers]


def _games_csv(comparison: Comparison) -> str:
    """One row a game: what the agent reached, what could be reached, and all its moves."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(GAME_COLUMNS)
    for agent, games in comparison.games.items():
        for game, optimum, losing_move in zip(
            games, comparison.optima, comparison.losing_moves[agent], strict=True
        ):
            most = optimum.most_cards
            writer.writerow(
                [
                    agent,
                    game.deal,
                    int(game.won),
                    game.cards,
                    None if optimum.winnable is None else int(optimum.winnable),
                    most,
                    None if most is None else most - game.cards,
                    losing_move,
                    " ".join(game.moves),
                ]
            )
    return text.getvalue()


def _draw_chart(comparison: Comparison, path: Path) -> None:
    """Win rates with their intervals, and how many pyramid cards each agent removes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fair, privileged = split(comparison)
    rows = [*fair, *privileged]
    figure = Figure(figsize=(10, 1.6 + 0.6 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    names = [
        f"{row.name}{' (sees all)' if row.privileged else ''}\n{row.win_rate:.1%}" for row in rows
    ]
    colours = ["#b07aa1" if row.privileged else "#4e79a7" for row in rows]
    rates = [100 * row.win_rate for row in rows]
    errors = [
        [100 * (row.win_rate - row.win_low) for row in rows],
        [100 * (row.win_high - row.win_rate) for row in rows],
    ]
    left.barh(names, rates, color=colours, xerr=errors, capsize=3)
    winnable = 100 * comparison.n_winnable / len(comparison.optima)
    left.axvline(winnable, color="#444444", linestyle="--", linewidth=1)
    left.annotate(
        "can be won",
        (winnable, 1),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="bottom",
        fontsize=9,
    )
    left.set_xlabel("deals won, % (95 % Wilson interval)")
    left.set_xlim(0, max(100 * max(row.win_high for row in rows), winnable) * 1.08 + 1)
    cards = [[game.cards for game in comparison.games[row.name]] for row in rows]
    boxes = right.boxplot(
        cards,
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        whis=(5, 95),
        showfliers=False,
    )
    for box, colour in zip(boxes["boxes"], colours, strict=True):
        box.set_facecolor(colour)
    for median in boxes["medians"]:
        median.set_color("black")
    right.set_yticklabels([])
    right.set_xlim(0, 28.5)
    right.set_xlabel("pyramid cards removed (box: quartiles, whiskers: 5-95 %)")
    for axes in (left, right):
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(headline(comparison), fontsize=11)
    figure.savefig(path, dpi=120, format="png")


def _duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms"
