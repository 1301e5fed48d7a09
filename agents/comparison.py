"""Compare agents on the same deals with each other and with the optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import median

from agents.agent import Agent
from agents.playing import PlayedGame, play_deals
from agents.statistics import wilson_interval
from pyramid_env.pyramid import N_SLOTS
from pyramid_env.rules import Rules
from pyramid_env.solver import Undecided, first_losing_move, solve_batch


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

    lost_at: float | None
    """Median number, from 1, of the move that threw the win away, over the winnable deals that it
    lost; None without one."""

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

    losing_moves: dict[str, tuple[int | None, ...]]
    """By agent, in the order of the deals: the number, from 1, of the move that threw the win away;
    None where there was no win to lose, or the solver gave up."""

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


def find_losing_moves(
    games: dict[str, tuple[PlayedGame, ...]],
    optima: Sequence[Optimum],
    rules: Rules,
    progress: Callable[[int, int], object],
) -> dict[str, tuple[int | None, ...]]:
    """For each game the number, from 1, of the move that threw the win away.

    None where there was no win to lose, or the solver gave up. Games and optima are in the same
    order; `progress` is told (games done, games in all).
    """
    n_games = len(games) * len(optima)
    found: list[int | None] = []
    for played in games.values():
        for game, optimum in zip(played, optima, strict=True):
            found.append(_losing_move(game, rules) if optimum.winnable and not game.won else None)
            progress(len(found), n_games)
    numbers = iter(found)
    return {name: tuple(islice(numbers, len(played))) for name, played in games.items()}


def _losing_move(game: PlayedGame, rules: Rules) -> int | None:
    try:
        index = first_losing_move(rules, game.deal, game.moves)
    except Undecided:
        return None
    return None if index is None else index + 1


def compare(
    agents: Sequence[Agent],
    deals: Sequence[int],
    rules_name: str,
    rules: Rules,
    *,
    batch: int,
    progress: Callable[[str, int, int], object],
) -> Comparison:
    """Solve the deals, let every agent play all of them, judge the games, and sum up.

    `progress` is told (what is under way, done, total).
    """
    optima = find_optima(deals, rules, partial(progress, "exact solver: the optimum"))
    games: dict[str, tuple[PlayedGame, ...]] = {}
    seconds_per_move: list[float] = []
    for agent in agents:
        n_done = 0

        def advance(n_ended: int, name: str = agent.name) -> None:
            nonlocal n_done
            n_done += n_ended
            progress(name, n_done, len(deals))

        played, seconds = play_deals(agent, deals, rules, batch=batch, progress=advance)
        games[agent.name] = tuple(played)
        seconds_per_move.append(seconds)
    losing_moves = find_losing_moves(
        games, optima, rules, partial(progress, "exact solver: lost wins")
    )
    summaries = tuple(
        summarise(agent, games[agent.name], optima, losing_moves[agent.name], seconds)
        for agent, seconds in zip(agents, seconds_per_move, strict=True)
    )
    return Comparison(rules_name, rules, optima, games, losing_moves, summaries)


def summarise(
    agent: Agent,
    games: Sequence[PlayedGame],
    optima: Sequence[Optimum],
    losing_moves: Sequence[int | None],
    seconds_per_move: float,
) -> AgentSummary:
    """One row of the comparison, from an agent's games, and the optima and losing moves of each."""
    n_won = sum(game.won for game in games)
    won_winnable = [
        game.won for game, optimum in zip(games, optima, strict=True) if optimum.winnable
    ]
    shortfalls = [
        optimum.most_cards - game.cards
        for game, optimum in zip(games, optima, strict=True)
        if optimum.most_cards is not None
    ]
    lost_at = [number for number in losing_moves if number is not None]
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
        lost_at=median(lost_at) if lost_at else None,
        seconds_per_move=seconds_per_move,
    )
