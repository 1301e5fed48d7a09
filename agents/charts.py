"""The charts of a comparison. Each agent has the same colour and line in all of them."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from agents.comparison import Comparison, GroupFigures
from agents.registry import group_of
from agents.statistics import wilson_interval
from pyramid_env.pyramid import N_SLOTS

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777")
"""Told apart by the colour-blind too (Okabe and Ito, "Color Universal Design", 2008)."""

LINES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))
"""Solid, dashed, dotted: for as many times the colours."""

_WIDTH = 9.0
_LABEL_WIDTH = 22


def draw_charts(comparison: Comparison) -> dict[str, Any]:
    """The charts for which there is something, as Matplotlib figures by the name of a file."""
    charts = {"win-rates.png": _win_rates(comparison)}
    if any(group.still_winnable for group in comparison.groups):
        charts["still-winnable.png"] = _still_winnable(comparison)
    charts["cards-removed.png"] = _cards_removed(comparison)
    charts["profiles.png"] = _profiles(comparison)
    if comparison.curves:
        charts["learning-curves.png"] = _learning_curves(comparison)
    return charts


def headline(comparison: Comparison) -> str:
    """Which deals were played, how many can be won, how many stayed open."""
    deals = comparison.settings.deals
    n_deals = len(deals)
    text = (
        f"{comparison.settings.rules_name} rules, deals {deals[0]} to {deals[-1]}:"
        f" {comparison.n_winnable} of {n_deals} ({comparison.n_winnable / n_deals:.1%}) can be won"
    )
    return text + (f", {comparison.n_open} not decided" if comparison.n_open else "")


def _figure(height: float, title: str, rows: int = 1, columns: int = 1, **options: Any) -> Any:
    """A figure and its axes, which have no frame above and at the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axes in all_axes.flat:
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0, 0].set_title(title, loc="left", fontsize=11, pad=10)
    return figure, all_axes


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    """Colour and line of each name."""
    return {
        name: {"color": COLOURS[i % len(COLOURS)], "linestyle": LINES[i // len(COLOURS) % 3]}
        for i, name in enumerate(dict.fromkeys(names))
    }


def _group_styles(comparison: Comparison) -> dict[str, dict[str, Any]]:
    return _styles([group.name for group in comparison.groups] + _curve_groups(comparison))


def _label(group: GroupFigures) -> str:
    seeds = f" ({len(group.seeds)} seeds)" if len(group.seeds) > 1 else ""
    return _wrapped(f"{group.name}{seeds}{' (sees all)' if group.privileged else ''}")


def _wrapped(label: str) -> str:
    return textwrap.fill(label, _LABEL_WIDTH)


def _legend(figure: Any) -> None:
    figure.legend(loc="outside right upper", frameon=False, handlelength=2.6)


def _win_rates(comparison: Comparison) -> Any:
    """A row an agent: its win rate with the interval, and the seeds it is the mean of."""
    groups = sorted(comparison.groups, key=lambda group: (group.privileged, -group.win_rate.value))
    figure, [[axes]] = _figure(1.5 + 0.42 * len(groups), headline(comparison))
    n_deals = len(comparison.settings.deals)
    styles = _group_styles(comparison)
    for row, group in enumerate(groups):
        rate, low, high = group.win_rate.value, group.win_rate.low, group.win_rate.high
        if len(group.seeds) == 1:
            low, high = wilson_interval(round(rate * n_deals), n_deals)
        colour = styles[group.name]["color"]
        axes.plot([100 * low, 100 * high], [row, row], color=colour, linewidth=2.5)
        axes.plot([100 * rate], [row], "D" if group.privileged else "o", color=colour)
        if len(group.seeds) > 1:
            seeds = [100 * seed for seed in group.win_rates]
            axes.plot(seeds, [row + 0.27] * len(seeds), "|", color=colour, markersize=7)
    axes.set_yticks(range(len(groups)), [_label(group) for group in groups])
    axes.set_ylim(len(groups) - 0.4, -0.6)
    values = axes.secondary_yaxis("right")
    values.set_yticks(range(len(groups)), [f"{group.win_rate.value:.1%}" for group in groups])
    values.spines["right"].set_visible(False)
    values.tick_params(length=0)
    _mark_winnable(axes, 100 * comparison.n_winnable / n_deals)
    axes.set_title(headline(comparison), loc="left", fontsize=11, pad=20)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    seeds_note = "; ticks: seeds" if any(len(group.seeds) > 1 for group in groups) else ""
    axes.set_xlabel(f"deals won, % (line: 95 % interval{seeds_note})")
    return figure


def _mark_winnable(axes: Any, winnable: float) -> None:
    """A line at the share of deals that can be won, in per cent."""
    axes.set_xlim(0, 1.06 * max(winnable, axes.dataLim.x1) + 0.1)
    axes.axvline(winnable, color="#666666", linestyle="--", linewidth=1, zorder=0)
    axes.annotate(
        "can be won",
        (winnable, 1),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="bottom",
        fontsize=9,
        color="#444444",
    )


def _still_winnable(comparison: Comparison) -> Any:
    """How long each agent keeps the wins that there are."""
    figure, [[axes]] = _figure(4.6, headline(comparison))
    styles = _group_styles(comparison)
    groups = [group for group in comparison.groups if group.still_winnable]
    longest = max(len(group.still_winnable) for group in groups)
    for group in sorted(groups, key=lambda group: -group.still_winnable[-1]):
        # A game keeps what it has once it has ended.
        curve = [*group.still_winnable, *[group.still_winnable[-1]] * longest][: longest + 1]
        shares = [100 * share for share in curve]
        axes.step(
            range(len(shares)), shares, where="post", label=_label(group), **styles[group.name]
        )
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 102)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_xlabel("moves made")
    axes.set_ylabel("winnable deals still winnable, %")
    _legend(figure)
    return figure


def _cards_removed(comparison: Comparison) -> Any:
    """A row of bars an agent; 28 cards are far more frequent than other numbers."""
    groups = comparison.groups
    figure, all_axes = _figure(
        1.5 + 0.62 * len(groups), headline(comparison), rows=len(groups), sharex=True, sharey=True
    )
    styles = _group_styles(comparison)
    top = 1.2 * max(max(group.card_counts[:-1]) for group in groups) or 1.0
    for axes, group in zip(all_axes[:, 0], groups, strict=True):
        colour = styles[group.name]["color"]
        axes.bar(range(N_SLOTS + 1), group.card_counts, width=0.85, color=colour)
        axes.set_ylim(0, top)
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        axes.tick_params(bottom=axes is all_axes[-1, 0])
        axes.set_ylabel(_label(group), rotation=0, ha="right", va="center")
        if group.card_counts[-1] > top:  # cut through
            ends = [N_SLOTS - 0.5, N_SLOTS + 0.5]
            axes.plot(ends, [0.7 * top, 0.8 * top], color="white", linewidth=2.5)
        axes.annotate(
            f"{group.card_counts[-1]:.1%}",
            (1.01, 0.5),
            xycoords="axes fraction",
            ha="left",
            va="center",
        )
        axes.axvline(
            group.cards.value, ymax=0.9, color="#222222", linewidth=1.2, linestyle=(0, (3, 2))
        )
    last = all_axes[-1, 0]
    last.set_xlim(-0.6, N_SLOTS + 0.6)
    last.set_xticks(range(0, N_SLOTS + 1, 4))
    last.set_xlabel(
        "pyramid cards removed, share of games\n"
        "(dashed: the mean; at the right: games with all 28; a bar with a gap is longer)"
    )
    return figure


def _profiles(comparison: Comparison) -> Any:
    """The share of games in which at least so many cards went."""
    figure, [[axes]] = _figure(4.6, headline(comparison))
    styles = _group_styles(comparison)
    cards = range(N_SLOTS + 1)
    for group in sorted(comparison.groups, key=lambda group: -group.cards.value):
        style = styles[group.name]
        axes.plot(cards, [100 * p.value for p in group.profile], label=_label(group), **style)
        low, high = ([100 * getattr(p, end) for p in group.profile] for end in ("low", "high"))
        axes.fill_between(cards, low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.set_xlim(0, N_SLOTS)
    axes.set_ylim(0, 102)
    axes.set_xticks(range(0, N_SLOTS + 1, 4))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_xlabel("pyramid cards removed")
    axes.set_ylabel("games with at least so many, %")
    _legend(figure)
    return figure


def _curve_groups(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(group_of(name) for name in comparison.curves))


def _learning_curves(comparison: Comparison) -> Any:
    """Win rate and cards on held-out deals while training, a line a run."""
    title = f"{comparison.settings.rules_name} rules: held-out deals while training"
    figure, [[left, right]] = _figure(4.2, title, columns=2)
    styles = _group_styles(comparison)
    most = max((curve[:, 0].max(initial=0) for curve in comparison.curves.values()), default=0)
    unit, scale = ("million steps", 1e6) if most >= 1e6 else ("steps", 1.0)
    labelled: set[str] = set()
    for name, curve in comparison.curves.items():
        group = group_of(name)
        label = None if group in labelled else _wrapped(group)
        labelled.add(group)
        marker = "." if len(curve) <= 40 else None
        for axes, column, factor in ((left, 1, 100), (right, 2, 1)):
            axes.plot(
                curve[:, 0] / scale,
                factor * curve[:, column],
                marker=marker,
                label=label if axes is left else None,
                **styles[group],
            )
    left.set_ylabel("deals won, %")
    right.set_ylabel("mean pyramid cards removed")
    for axes in (left, right):
        axes.set_xlabel(unit)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_xlim(0, max(most / scale, np.finfo(float).eps))
    _legend(figure)
    return figure
