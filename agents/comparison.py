"""Compare agents on the same deals with each other and with the optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.agent import Agent
from agents.playing import PlayedGame, play_deals
from agents.statistics import wilson_interval
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import Rules
from pyramid_env.solver import solve_batch


@dataclass(frozen=True)
class Optimum:
    """What can be reached in one deal by someone who knows all its cards."""

    deal: int
    """The deal's number."""

    winnable: bool | None
    """Whether the goal can be reached; None where the solver gave up."""

    most_cards: int | None
    """The most pyramid cards that can be removed; None where the solver gave up."""


@dataclass(frozen=True)
class AgentSummary:
    """One row of the comparison."""

    name: str
    privileged: bool
    """Whether the agent saw the hidden cards."""

    n_deals: int
    n_won: int
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

    seconds_per_move: float

    @property
    def win_rate(self) -> float:
        """Share of the deals won."""
        return self.n_won / self.n_deals


@dataclass(frozen=True)
class Comparison:
    """All that a comparison found."""

    rules_name: str
    rules: Rules
    optima: tuple[Optimum, ...]
    """One a deal, in the order of the deals."""

    games: dict[str, tuple[PlayedGame, ...]]
    """By agent, in the order of the deals."""

    summaries: tuple[AgentSummary, ...]
    """One an agent, in the order given."""

    @property
    def n_winnable(self) -> int:
        """Deals proved winnable."""
        return sum(optimum.winnable is True for optimum in self.optima)

    @property
    def n_unproved(self) -> int:
        """Deals where the solver gave up."""
        return sum(
            optimum.winnable is None or optimum.most_cards is None for optimum in self.optima
        )


def find_optima(
    deals: Sequence[int], rules: Rules, progress: Callable[[int, int], object]
) -> tuple[Optimum, ...]:
    """Solve each deal for the goal and for the most pyramid cards."""
    cards = solve_batch(deals, rules, "cards", progress=progress)
    if rules.goal == "pyramid":
        winnable = [None if s.value is None else s.value == N_SLOTS for s in cards]
    else:
        winnable = [
            None if s.value is None else bool(s.value) for s in solve_batch(deals, rules, "win")
        ]
    return tuple(
        Optimum(deal, can_win, solution.value)
        for deal, can_win, solution in zip(deals, winnable, cards, strict=True)
    )


def compare(
    agents: Sequence[Agent],
    deals: Sequence[int],
    rules_name: str,
    rules: Rules,
    *,
    batch: int,
    progress: Callable[[str, int, int], object],
) -> Comparison:
    """Solve the deals, let every agent play all of them, and sum up.

    `progress` is told (what is under way, done, total).
    """
    optima = find_optima(
        deals, rules, lambda done, total: progress("exact solver: the optimum", done, total)
    )
    games: dict[str, tuple[PlayedGame, ...]] = {}
    summaries = []
    for agent in agents:
        n_done = 0

        def advance(n_ended: int, name: str = agent.name) -> None:
            nonlocal n_done
            n_done += n_ended
            progress(name, n_done, len(deals))

        played, seconds_per_move = play_deals(agent, deals, rules, batch=batch, progress=advance)
        games[agent.name] = tuple(played)
        summaries.append(summarise(agent, played, optima, seconds_per_move))
    return Comparison(rules_name, rules, optima, games, tuple(summaries))


def summarise(
    agent: Agent,
    games: Sequence[PlayedGame],
    optima: Sequence[Optimum],
    seconds_per_move: float,
) -> AgentSummary:
    """One row of the comparison, from an agent's games and the optima of the same deals."""
    n_won = sum(game.won for game in games)
    won_winnable = [
        game.won for game, optimum in zip(games, optima, strict=True) if optimum.winnable
    ]
    shortfalls = [
        optimum.most_cards - game.cards
        for game, optimum in zip(games, optima, strict=True)
        if optimum.most_cards is not None
    ]
    low, high = wilson_interval(n_won, len(games))
    return AgentSummary(
        name=agent.name,
        privileged=agent.privileged,
        n_deals=len(games),
        n_won=n_won,
        win_low=low,
        win_high=high,
        winnable_won=sum(won_winnable) / len(won_winnable) if won_winnable else None,
        mean_cards=sum(game.cards for game in games) / len(games),
        regret=sum(shortfalls) / len(shortfalls) if shortfalls else None,
        seconds_per_move=seconds_per_move,
    )
