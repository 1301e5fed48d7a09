"""Let OpenSpiel's Monte Carlo tree search play numbered deals; it sees what a fair player sees."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pyspiel
from command_line import run
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator

import pyramid_env.integrations.open_spiel  # noqa: F401 (registers the game)
from pyramid_env import Deal
from pyramid_env.deals import FIRST_TRAINING_NUMBER
from pyramid_env.engine import pyramid_cards_removed


@dataclass(frozen=True)
class Arguments:
    """What the command line may say."""

    games: int = 5
    """Deals to play."""

    first: int = FIRST_TRAINING_NUMBER
    """Number of the first deal."""

    simulations: int = 30
    """Simulated games before each move."""

    exploration: float = 5.0
    """Constant of UCT, in pyramid cards: what an unsure move may promise."""

    rules: str = "kawu"
    """Preset to play by."""

    seed: int = 0
    """Seed of the simulated games."""


def play(arguments: Arguments) -> None:
    """Play the deals, one line each, then the mean."""
    game = pyspiel.load_game("python_pyramid", {"rules": arguments.rules})
    generator = np.random.RandomState(arguments.seed)
    bot = MCTSBot(
        game,
        uct_c=arguments.exploration,
        max_simulations=arguments.simulations,
        evaluator=RandomRolloutEvaluator(1, generator),
        solve=False,
        random_state=generator,
    )
    removed = []
    for number in range(arguments.first, arguments.first + arguments.games):
        removed.append(play_deal(game, bot, Deal.from_number(number)))
        print(f"deal {number}: {removed[-1]} pyramid cards", flush=True)
    print(f"removes {fmean(removed):.2f} pyramid cards a game")


def play_deal(game: Any, bot: Any, deal: Deal) -> int:
    """The pyramid cards that the bot removes; what lies face down in the deal, it cannot see."""
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.outcome_of(deal) if state.is_chance_node() else bot.step(state))
    return int(pyramid_cards_removed(np.uint64(state.position)))


if __name__ == "__main__":
    sys.exit(run(play, Arguments))
