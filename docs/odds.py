"""Make odds.json, odds.md and its charts from sweeps: `python docs/odds.py SWEEPS_FOLDER`.

A sweep is looked for in ``SWEEPS_FOLDER/PRESET-OBJECTIVE``; presets that are the same game share
one. All that the document and the charts show comes from odds.json.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from agents.statistics import Z_95, wilson_interval
from pyramid_env.files import write_bytes
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Objective
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT
from pyramid_env.solver.sweep_files import NONE, read_sweep

DOCS = Path(__file__).parent

Odds = dict[str, Any]
"""By preset, then objective: the deals, the figures and the counts of every value."""

PERCENTILES = (5, 25, 50, 75, 95)

BLUE, ORANGE = "#0072B2", "#E69F00"  # told apart with every kind of colour vision


class Published(NamedTuple):
    """A share of winnable deals that others have found with all cards known."""

    preset: str
    """The preset here that is the same game or comes nearest to it."""

    rules: str
    """The rules there, as far as they differ; empty when they are the same."""

    won: int
    deals: int
    source: str


_RATES = "[Solitaire Win Rates](https://solitairewinrates.com/Pyramid.html)"
PUBLISHED = (
    Published("kawu-1", "", 9_019_243, 100_000_000, _RATES),
    Published("classic", "", 6_795_618, 100_000_000, _RATES),
    Published("covered", "", 15_916_049, 100_000_000, _RATES),
    Published("kawu", "unlimited passes there", 66_865_010, 100_000_000, _RATES),
    Published(
        "kawu", "", 998, 1_500, "[pyramid-solver](https://github.com/mchung94/pyramid-solver)"
    ),
)

TEXT = """# The odds of Pyramid Solitaire

What can be reached in numbered deals by someone who knows all cards, proved deal by deal by the
[exact solver](solver.md). No play can do better; a person who does not see the stock does worse.

## Deals that can be won

{win_table}
{win_chart}
## Pyramid cards that can be removed

The most of the {n_slots} that can go, whether the game is won or not; *all* is the share of deals
in which all {n_slots} can. Whether the goal is all 52 cards makes no difference here.

{cards_table}
{cards_chart}
## Fewest moves to win

Over the deals that can be won. Draws and recycles count as moves.

{moves_table}
{moves_chart}
## What others have found

With all cards known, by other programs:

{published_table}
- **Full information or not.** Every share above is for a player who knows the whole stock, what
  the literature calls *thoughtful* play ([Blake and Gent](https://arxiv.org/abs/1906.12314), who
  give such shares for many other games). The odds of 1 in 50 that
  [Wikipedia](https://en.wikipedia.org/wiki/Pyramid_%28solitaire%29) names for the strictest rules
  are for people who see a card when it is turned up. Morehead and Mott-Smith gave the same for one
  pass and all 52 cards, which is `classic`;
  [Solitaire Laboratory](http://solitairelaboratory.com/pyramidgiza.html) calls it guesswork.
- **Overlap.** Some let a card pair with one that it alone covers, called *overlap discards* there
  and `covered_pairs` here.
- **The stock.** With unlimited passes the shares agree. In a single pass those of Solitaire Win
  Rates are about a twentieth lower than ours, so something about the stock must differ, which its
  pages do not tell. It is not that the stock's top card can be played: without that, `kawu-1` is
  down to 3.9 % (30,000 deals). The wins behind our figures hold: those of deals 0 to 9,999 of
  `kawu-1`, `classic` and `covered` were replayed in a second, slow program of the rules
  (`tests/reference.py`).
- No figures were found for `tuts-tomb`: Microsoft's Tut's Tomb
  [also had the overlap rule](http://www.solitairelaboratory.com/pyramid.html).

## How these figures are made

```sh
{commands}
```

Intervals are at 95 %: Wilson's for shares, normal ones for means. [odds.json](odds.json) holds
the count of every value.
"""


def summarise(sweeps: Path) -> Odds:
    """The figures of all sweeps in a folder. Raises `ValueError` where they cannot be trusted."""
    odds: Odds = {}
    for objective in get_args(Objective):
        for names in _same_game(objective):
            for name in names:
                folder = sweeps / f"{name}-{objective}"
                if folder.is_dir() and objective not in odds.get(names[0], {}):
                    odds.setdefault(names[0], {})[objective] = _figures(folder, name, objective)
    if not odds:
        raise ValueError(f"{sweeps} holds no folder named PRESET-OBJECTIVE, such as kawu-win")
    for preset, figures in odds.items():
        _check(preset, figures)
    return odds


def _same_game(objective: Objective) -> list[list[str]]:
    """The names of the presets, those together whose values are the same in every deal.

    The goal does not bear on how many pyramid cards can be removed.
    """
    names: dict[Rules, list[str]] = {}
    for name, rules in PRESETS.items():
        key = replace(rules, goal="pyramid") if objective == "cards" else rules
        names.setdefault(key, []).append(name)
    return list(names.values())


def _figures(folder: Path, preset: str, objective: str) -> dict[str, Any]:
    sweep = read_sweep(folder)
    settings, answers = sweep.settings, sweep.answers
    if (settings.rules, settings.objective) != (PRESETS[preset], objective):
        raise ValueError(f"{folder} holds a sweep of {settings.rules} for {settings.objective}")
    n_open = int(np.count_nonzero(answers.status != "PROVED"))
    if n_open:
        raise ValueError(f"{folder}: {n_open} deals are not proved; sweep with a higher node limit")
    values, counts = np.unique(answers.value[answers.value != NONE], return_counts=True)
    return {
        "folder": folder.name,
        "deals": [settings.deals.start, settings.deals.stop],
        "node_limit": settings.node_limit,
        "version": settings.version,
        "counts": dict(zip(map(str, values.tolist()), counts.tolist(), strict=True)),
    }


def _check(preset: str, figures: dict[str, Any]) -> None:
    """Refuse sweeps of the same deals that contradict each other."""
    won = {}
    for objective, least in {"win": 1, "moves": 0, "cards": N_SLOTS}.items():
        if objective in figures and (objective != "cards" or PRESETS[preset].goal == "pyramid"):
            deals = tuple(figures[objective]["deals"])
            won[objective] = deals, _at_least(figures[objective], least)
    for deals in {deals for deals, _ in won.values()}:
        found = {objective: n for objective, (of, n) in won.items() if of == deals}
        if len(set(found.values())) > 1:
            raise ValueError(f"{preset}: the sweeps disagree on how many deals are won: {found}")


def _n_deals(figures: dict[str, Any]) -> int:
    first, end = figures["deals"]
    return int(end - first)


def _at_least(figures: dict[str, Any], least: int) -> int:
    """In how many deals the value is not less."""
    return sum(count for value, count in figures["counts"].items() if int(value) >= least)


def _distribution(figures: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values, ascending, and in how many deals each is found."""
    pairs = sorted((int(value), count) for value, count in figures["counts"].items())
    values, counts = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return values, counts


def _rows(odds: Odds, objective: Objective) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of each game with a sweep for the objective, and its figures."""
    for names in _same_game(objective):
        if objective in odds.get(names[0], {}):
            yield ", ".join(f"`{name}`" for name in names), odds[names[0]][objective]


def _percent(successes: int, trials: int) -> str:
    """A share with its interval."""
    low, high = wilson_interval(successes, trials)
    return f"{successes / trials:.2%} ({100 * low:.2f}-{high:.2%})"


def _spread(figures: dict[str, Any]) -> list[str]:
    """The mean with its interval, and the percentiles."""
    values, counts = _distribution(figures)
    n = int(counts.sum())
    if n == 0:
        return ["-"] * (1 + len(PERCENTILES))
    mean = float(values @ counts) / n
    half = Z_95 * np.sqrt(float((values - mean) ** 2 @ counts) / n / n)
    cumulated = np.cumsum(counts)
    ranks = [int(values[np.searchsorted(cumulated, n * p / 100)]) for p in PERCENTILES]
    return [f"{mean:.2f} ± {half:.2f}", *map(str, ranks)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _win_row(name: str, figures: dict[str, Any]) -> list[str]:
    n_deals, won = _n_deals(figures), _at_least(figures, 1)
    first, end = figures["deals"]
    return [name, f"{first:,} to {end - 1:,}", f"{won:,}", _percent(won, n_deals)]


def _cards_row(name: str, figures: dict[str, Any]) -> list[str]:
    n_deals = _n_deals(figures)
    cleared = _percent(_at_least(figures, N_SLOTS), n_deals)
    return [name, f"{n_deals:,}", *_spread(figures), cleared]


def _moves_row(name: str, figures: dict[str, Any]) -> list[str]:
    return [name, f"{_n_deals(figures):,}", f"{_at_least(figures, 0):,}", *_spread(figures)]


def _published_row(published: Published, odds: Odds) -> list[str]:
    figures = odds.get(published.preset, {}).get("win")
    here = "-" if figures is None else _percent(_at_least(figures, 1), _n_deals(figures))
    rules = f"`{published.preset}`" + (f", {published.rules}" if published.rules else "")
    there = _percent(published.won, published.deals)
    return [rules, here, there, f"{published.deals:,}", published.source]


def _commands(odds: Odds) -> str:
    lines = []
    for objective in get_args(Objective):
        for _, figures in _rows(odds, objective):
            folder, (first, end) = figures["folder"], figures["deals"]
            preset = folder.removesuffix(f"-{objective}")
            limit = figures["node_limit"]
            lines.append(
                f"python -m pyramid_env sweep --rules {preset} --objective {objective}"
                f" --deals {first}:{end} --out sweeps/{folder}"
                + (f" --node-limit {limit}" if limit != DEFAULT_NODE_LIMIT else "")
            )
    return "\n".join([*lines, "python docs/odds.py sweeps"])


def markdown(odds: Odds) -> str:
    """The document."""
    percentiles = [f"{p} %" for p in PERCENTILES]
    tables: dict[Objective, tuple[list[str], Any]] = {
        "win": (["rules", "deals, all proved", "won", "share (95 %)"], _win_row),
        "cards": (["rules", "deals, all proved", "mean", *percentiles, "all"], _cards_row),
        "moves": (["rules", "deals, all proved", "won", "mean", *percentiles], _moves_row),
    }
    parts = {}
    for objective, (head, row) in tables.items():
        rows = [row(name, figures) for name, figures in _rows(odds, objective)]
        parts[f"{objective}_table"] = _table(head, rows) if rows else "Not swept.\n"
        picture = f"![{CHARTS[objective]}](images/odds-{objective}.png)\n"
        parts[f"{objective}_chart"] = picture if rows else ""
    head = ["rules", "here", "there", "deals there", "source"]
    published = _table(head, [_published_row(published, odds) for published in PUBLISHED])
    return TEXT.format(
        **parts, published_table=published, commands=_commands(odds), n_slots=N_SLOTS
    )


CHARTS: dict[Objective, str] = {
    "win": "Share of deals that can be won, by rules",
    "cards": "How often each number of pyramid cards is the most that can be removed, by rules",
    "moves": "How often each number of moves is the fewest, by rules",
}


def chart(odds: Odds, objective: Objective) -> bytes:
    """A chart as a PNG picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [(name.replace("`", ""), figures) for name, figures in _rows(odds, objective)]
    height = 3.6 if objective == "win" else 1 + 1.9 * -(-len(rows) // 2)  # two beside each other
    figure = Figure(figsize=(9, height), layout="constrained")
    FigureCanvasAgg(figure)
    if objective == "win":
        _draw_shares(figure.subplots(), rows)
    else:
        _draw_distributions(figure, rows, objective)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format="png", metadata={"Software": None})
    return picture.getvalue()


def _draw_shares(axes: Any, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Bars with intervals."""
    names = [name for name, _ in rows]
    trials = [(_at_least(figures, 1), _n_deals(figures)) for _, figures in rows]
    shares = [100 * won / n for won, n in trials]
    ends = [[100 * end for end in wilson_interval(won, n)] for won, n in trials]
    errors = [
        [max(0.0, share - low) for share, (low, _) in zip(shares, ends, strict=True)],
        [max(0.0, high - share) for share, (_, high) in zip(shares, ends, strict=True)],
    ]
    bars = axes.barh(names, shares, color=BLUE, xerr=errors, capsize=3)
    axes.bar_label(bars, [f"{share:.1f} %" for share in shares], padding=6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("deals that can be won, %")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _draw_distributions(
    figure: Any, rows: Sequence[tuple[str, dict[str, Any]]], objective: str
) -> None:
    """A small chart a rule set, all with the same axes."""
    grid = figure.subplots(-(-len(rows) // 2), 2, sharex=True, squeeze=False)
    for axes, row in zip(grid.flat, [*rows, *[None] * (grid.size - len(rows))], strict=True):
        if row is None:
            axes.set_visible(False)
            continue
        name, figures = row
        values, counts = _distribution(figures)
        best = (objective == "cards") & (values == N_SLOTS)
        shares = 100 * counts / max(int(counts.sum()), 1)
        axes.bar(values, shares, width=0.9, color=np.where(best, ORANGE, BLUE))
        axes.set_title(name, fontsize=10, loc="left")
        axes.set_ylabel("%")
        axes.tick_params(labelbottom=True)
        axes.spines[["top", "right"]].set_visible(False)
    unit = "pyramid cards (orange: all)" if objective == "cards" else "moves"
    figure.supxlabel(unit, fontsize=10)


def main(argv: Sequence[str] | None = None) -> int:
    """Write what the sweeps say; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweeps", type=Path, metavar="SWEEPS_FOLDER")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the document")
    arguments = parser.parse_args(argv)
    try:
        odds = summarise(arguments.sweeps)
        files = {"odds.json": (json.dumps(odds, indent=1) + "\n").encode()}
        files["odds.md"] = markdown(odds).encode()
        for objective in CHARTS:
            if any(_rows(odds, objective)):
                files[f"images/odds-{objective}.png"] = chart(odds, objective)
        (arguments.out / "images").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = arguments.out / name
            write_bytes(path, content)
            print(f"written: {path}")
    except (ValueError, OSError) as error:
        print(f"odds.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
