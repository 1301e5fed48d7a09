"""Every figure of a comparison, from the kept games alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from agents.registry import group_of
from agents.results import NONE, Entry, Games, Optima, Results, Settings
from agents.statistics import bootstrap_interval, holm, mcnemar, wilson_interval
from pyramid_env.pyramid import N_SLOTS


@dataclass(frozen=True)
class AgentFigures:
    """What one agent reached."""

    name: str
    privileged: bool
    """Whether it saw the hidden cards."""

    n_deals: int
    n_won: int
    win_rate: float
    win_low: float
    """Lower end of the 95 % Wilson interval of the win rate."""

    win_high: float
    """Its upper end."""

    winnable_won: float | None
    """Share of the winnable deals that it won; None where none is winnable."""

    mean_cards: float
    """Mean pyramid cards removed."""

    regret: float | None
    """Mean pyramid cards short of the optimum, over the deals where that is proved."""

    lost_at: float | None
    """Median number, from 1, of the move that threw the win away, over the winnable deals that it
    lost; None without one."""

    decisions_per_second: float | None
    """None where no time was measured."""

    n_broken_off: int
    """Games in which it raised or answered an illegal action."""

    first_error: str
    """The first of these: deal and reason."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupFigures:
    """What the seeds of one agent reached together; a single agent is a group of one.

    Intervals draw the deals anew, the same ones for every seed: all seeds played the same deals,
    and to draw them for each seed by itself would make the intervals too narrow.
    """

    name: str
    privileged: bool
    seeds: tuple[str, ...]
    """The names of its agents."""

    win_rates: tuple[float, ...]
    """One a seed."""

    win_rate: Estimate
    cards: Estimate
    cards_by_seed: tuple[float, ...]
    still_winnable: tuple[float, ...]
    """Share of the winnable deals that can still be won after 0, 1, 2, ... moves."""

    profile: tuple[Estimate, ...]
    """Share of games with at least 0, 1, ... 28 pyramid cards removed: the performance profile."""

    card_counts: tuple[float, ...]
    """Share of games with exactly 0, 1, ... 28 removed."""


@dataclass(frozen=True)
class PairFigures:
    """Two agents on the same deals; differences are the first less the second."""

    first: str
    second: str
    only_first: float
    """Deals that only the first won; a mean where there are several seeds."""

    only_second: float
    win_rate: Estimate
    """Difference in win rate, with its paired bootstrap interval."""

    cards: Estimate
    """Difference in mean pyramid cards removed."""

    p: float | None
    """Exact McNemar test; None where one has several seeds."""

    p_holm: float | None
    """The same, adjusted by Holm for the number of pairs."""


@dataclass(frozen=True)
class Comparison:
    """All that an evaluation found."""

    settings: Settings
    n_winnable: int
    """Deals proved winnable."""

    n_open: int
    """Deals where the solver gave up."""

    agents: tuple[AgentFigures, ...]
    """One a finished agent, in the order in which they were named."""

    groups: tuple[GroupFigures, ...]
    pairs: tuple[PairFigures, ...]
    unfinished: tuple[str, ...]
    """Agents whose games are not all there."""

    curves: dict[str, NDArray[np.float64]]
    """Learning curves by name: steps, win rate, mean cards."""


def compare(results: Results) -> Comparison:
    """Sum up what was kept."""
    optima = results.optima
    groups: dict[str, list[Entry]] = {}
    for entry in results.entries:
        groups.setdefault(group_of(entry.name), []).append(entry)
    return Comparison(
        settings=results.settings,
        n_winnable=int((optima.winnable == 1).sum()),
        n_open=int(((optima.winnable == NONE) | (optima.most_cards == NONE)).sum()),
        agents=tuple(
            _agent_figures(entry, results.games[entry.name], optima) for entry in results.entries
        ),
        groups=tuple(
            _group_figures(name, entries, results.games, optima) for name, entries in groups.items()
        ),
        pairs=_pairs(
            {name: [results.games[e.name] for e in entries] for name, entries in groups.items()}
        ),
        unfinished=results.unfinished,
        curves=results.curves,
    )


def _agent_figures(entry: Entry, games: Games, optima: Optima) -> AgentFigures:
    n_deals, n_won = len(games.won), int(games.won.sum())
    low, high = wilson_interval(n_won, n_deals)
    seconds = float(games.seconds.sum())
    known = optima.most_cards != NONE
    deal, error = next(iter(games.errors.items()), (0, ""))
    return AgentFigures(
        name=entry.name,
        privileged=entry.privileged,
        n_deals=n_deals,
        n_won=n_won,
        win_rate=n_won / n_deals,
        win_low=low,
        win_high=high,
        winnable_won=_mean(games.won[optima.winnable == 1]),
        mean_cards=float(games.cards.mean()),
        regret=_mean((optima.most_cards - games.cards)[known]),
        lost_at=_mean(games.losing_move[games.losing_move != NONE], np.median),
        decisions_per_second=float(games.n_moves.sum()) / seconds if seconds > 0 else None,
        n_broken_off=len(games.errors),
        first_error=f"deal {deal}: {error}" if error else "",
    )


def _mean(
    values: NDArray[np.int64], function: Callable[[NDArray[np.int64]], object] = np.mean
) -> float | None:
    return float(function(values)) if len(values) else None  # type: ignore[arg-type]


def _group_figures(
    name: str, entries: Sequence[Entry], games: dict[str, Games], optima: Optima
) -> GroupFigures:
    seeds = [games[entry.name] for entry in entries]
    cards = np.array([seed.cards for seed in seeds])
    return GroupFigures(
        name=name,
        privileged=any(entry.privileged for entry in entries),
        seeds=tuple(entry.name for entry in entries),
        win_rates=tuple(float(seed.won.mean()) for seed in seeds),
        win_rate=_estimate(_over_seeds(seeds, "won")),
        cards=_estimate(cards.mean(axis=0)),
        cards_by_seed=tuple(cards.mean(axis=1).tolist()),
        still_winnable=_still_winnable(seeds, optima),
        profile=tuple(_estimate((cards >= n).mean(axis=0)) for n in range(N_SLOTS + 1)),
        card_counts=tuple(float((cards == n).mean()) for n in range(N_SLOTS + 1)),
    )


def _over_seeds(seeds: Sequence[Games], column: str) -> NDArray[np.float64]:
    """For each deal the mean over the seeds."""
    mean: NDArray[np.float64] = np.mean([getattr(seed, column) for seed in seeds], axis=0)
    return mean


def _estimate(values: NDArray[np.float64]) -> Estimate:
    return Estimate(float(values.mean()), *bootstrap_interval(values))


def _still_winnable(seeds: Sequence[Games], optima: Optima) -> tuple[float, ...]:
    """The share of the winnable deals that can still be won, by the number of moves made.

    Games of which the solver left open when they were lost do not count.
    """
    never = np.iinfo(np.int64).max
    lost_at = []
    for seed in seeds:
        known = (optima.winnable == 1) & ((seed.won == 1) | (seed.losing_move != NONE))
        lost_at.append(np.where(seed.won == 1, never, seed.losing_move)[known])
    moves = np.concatenate(lost_at)
    last = int(moves[moves < never].max(initial=0))
    return tuple(float((moves > n).mean()) for n in range(last + 1)) if len(moves) else ()


def _pairs(groups: dict[str, list[Games]]) -> tuple[PairFigures, ...]:
    pairs = [_pair(*first, *second) for first, second in combinations(groups.items(), 2)]
    tested = [i for i, pair in enumerate(pairs) if pair.p is not None]
    for i, p in zip(tested, holm([pairs[i].p or 0.0 for i in tested]), strict=True):
        pairs[i] = replace(pairs[i], p_holm=p)
    return tuple(pairs)


def _pair(
    first: str, first_seeds: Sequence[Games], second: str, second_seeds: Sequence[Games]
) -> PairFigures:
    won, others = _over_seeds(first_seeds, "won"), _over_seeds(second_seeds, "won")
    cards = _over_seeds(first_seeds, "cards") - _over_seeds(second_seeds, "cards")
    only_first, only_second = float((won * (1 - others)).sum()), float((others * (1 - won)).sum())
    single = len(first_seeds) == len(second_seeds) == 1
    return PairFigures(
        first=first,
        second=second,
        only_first=only_first,
        only_second=only_second,
        win_rate=_estimate(won - others),
        cards=_estimate(cards),
        p=mcnemar(int(only_first), int(only_second)) if single else None,
        p_holm=None,
    )
