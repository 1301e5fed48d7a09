"""How well scoring rules for the greedy hint play whole games.

``python benchmarks/hint.py choose`` compares the rules that were tried, on training deals, which is
where the hint was chosen. ``python benchmarks/hint.py report`` plays the hint that was kept, the
lowest legal action and random moves on evaluation deals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.statistics import wilson_interval
from pyramid_env.cards import N_CARDS, N_RANKS
from pyramid_env.deals import mix, shuffle, training_number
from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    find_rank_bits,
    is_won,
    legal_actions,
    pyramid_cards_removed,
    start_position,
)
from pyramid_env.hint import Weights, best_action
from pyramid_env.jit import kernel
from pyramid_env.rules import get_rules

CHOSEN_ON = ("kawu", "kawu-2", "par", "tuts-tomb", "reserve")
REPORTED_ON = ("kawu", "kawu-2", "kawu-1", "classic", "par", "covered", "tuts-tomb", "reserve")

Numbers = NDArray[np.uint64]

KEY = np.uint64(20)
"""The training deals that the rules are compared on."""

NEVER = 1000
"""A price of waiting that no removal costs."""

KINGS = Weights(card=0, uncovered=0, ready=0, waiting=NEVER, scarcity=(0, 0, 0), hopeless=0)
HINT = Weights()
PARTNERS = KINGS._replace(scarcity=HINT.scarcity, hopeless=HINT.hopeless)

TRIED: Mapping[str, Weights] = {
    "kings at once, else the lowest id": KINGS,
    "+ removed cards": KINGS._replace(card=1),
    "+ pyramid before stock and waste": KINGS._replace(card=2, waiting=-1),
    "+ uncovered cards": KINGS._replace(uncovered=1),
    "+ ready pairs": KINGS._replace(ready=1),
    "+ no card without a partner": KINGS._replace(hopeless=1),
    "+ partners (scarcity and hopeless)": PARTNERS,
    "+ partners, and wait": PARTNERS._replace(waiting=2),
    "all, never wait": HINT._replace(waiting=NEVER),
    "all, wait at no price": HINT._replace(waiting=0),
    "all, wait at 1": HINT._replace(waiting=1),
    "all, wait at 2: the hint": HINT,
    "all, wait at 3": HINT._replace(waiting=3),
    "all, wait at 5": HINT._replace(waiting=5),
    "the hint without removed cards": HINT._replace(card=0),
    "the hint without uncovered cards": HINT._replace(uncovered=0),
    "the hint without ready pairs": HINT._replace(ready=0),
    "the hint without scarcity": HINT._replace(scarcity=(0, 0, 0)),
    "the hint without hopeless": HINT._replace(hopeless=0),
    "the hint, hopeless 20": HINT._replace(hopeless=20),
    "the hint, uncovered 1": HINT._replace(uncovered=1),
    "the hint, uncovered 3": HINT._replace(uncovered=3),
    "the hint, scarcity 3 2 1": HINT._replace(scarcity=(3, 2, 1)),
    "the hint, scarcity 6 3 0": HINT._replace(scarcity=(6, 3, 0)),
    "the hint, scarcity 8 4 2": HINT._replace(scarcity=(8, 4, 2)),
}


@kernel
def play_best(numbers: Any, rules: Any, weights: Any, results: Any) -> None:
    """Play each deal (uint64[n]) to its end, always the action that some `Weights` like best.

    Writes into `results` (int64[n, 2]) whether it was won, and the pyramid cards removed.
    """
    cards = np.empty(N_CARDS, np.uint8)
    rank_bits = np.empty(N_RANKS + 1, np.uint64)
    for i in range(numbers.size):
        shuffle(numbers[i], cards)
        find_rank_bits(cards, rank_bits)
        position = start_position()
        while True:
            action = best_action(position, rank_bits, rules[0], weights)
            if action < 0:
                break
            position = apply(position, action, rules[0])
        results[i, 0] = is_won(position, rules[0])
        results[i, 1] = pyramid_cards_removed(position)


@kernel
def play_simply(numbers: Any, rules: Any, at_random: Any, results: Any) -> None:
    """As `play_best`, but with random moves, or always the legal action of the lowest id."""
    cards = np.empty(N_CARDS, np.uint8)
    rank_bits = np.empty(N_RANKS + 1, np.uint64)
    actions = np.empty(MAX_LEGAL, np.int16)
    for i in range(numbers.size):
        shuffle(numbers[i], cards)
        find_rank_bits(cards, rank_bits)
        position = start_position()
        chance = mix(~numbers[i])
        while True:
            n_legal = np.uint64(legal_actions(position, rank_bits, rules[0], actions))
            if n_legal == 0:
                break
            chance = mix(chance + np.uint64(1))
            drawn = actions[chance % n_legal] if at_random else actions[:n_legal].min()
            position = apply(position, np.int64(drawn), rules[0])
        results[i, 0] = is_won(position, rules[0])
        results[i, 1] = pyramid_cards_removed(position)


def show(name: str, play: Callable[..., None], numbers: Numbers, rules: Any, how: Any) -> None:
    results = np.empty((len(numbers), 2), dtype=np.int64)
    play(numbers, rules, how, results)
    n_won, n_cards = results.sum(axis=0).tolist()
    low, high = wilson_interval(n_won, len(numbers))
    print(
        f"  {name:37s} {n_won / len(numbers):7.2%} ({low:6.2%} to {high:6.2%})"
        f" {n_cards / len(numbers):6.2f} cards",
        flush=True,
    )


def choose(n_deals: int) -> None:
    """Compare the rules that were tried, on training deals alone."""
    numbers = np.array([training_number(KEY, np.uint64(i)) for i in range(n_deals)], np.uint64)
    for preset in CHOSEN_ON:
        print(f"{preset}, {n_deals} training deals")
        rules = compile_rules(get_rules(preset))
        for name, weights in TRIED.items():
            show(name, play_best, numbers, rules, weights)


def report(n_deals: int) -> None:
    """Play the hint, the lowest legal action and random moves on evaluation deals."""
    numbers = np.arange(n_deals, dtype=np.uint64)
    for preset in REPORTED_ON:
        print(f"{preset}, deals 0 to {n_deals - 1}")
        rules = compile_rules(get_rules(preset))
        show("the hint", play_best, numbers, rules, HINT)
        show("lowest legal action", play_simply, numbers, rules, False)
        show("random", play_simply, numbers, rules, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("choose", "report"))
    parser.add_argument(
        "--deals", type=int, default=10_000, help="deals a rule set (default 10000)"
    )
    arguments = parser.parse_args()
    {"choose": choose, "report": report}[arguments.command](arguments.deals)


if __name__ == "__main__":
    main()
