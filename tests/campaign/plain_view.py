"""What players see of plain games, how the games stand, and chance moves for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.jit import kernel
from tests.campaign.plain_game import KING, is_won, passes_left, pyramid_cards_removed


@kernel
def position_of(game: Any, rules: Any) -> Any:
    """The position as one integer, in the form that the engine documents."""
    position = np.uint64(0)
    for i in range(28 + rules.reserve):
        position |= np.uint64(game["there"][i]) << np.uint64(i)
    for i in range(game["n_stock"]):
        position |= np.uint64(1) << np.uint64(game["stock"][i])
    for i in range(game["n_waste"]):
        position |= np.uint64(1) << np.uint64(game["waste"][i])
    first_stock = 28 + rules.reserve
    drawn = (game["stock"][0] if game["n_stock"] > 0 else 52) - first_stock
    passed = game["recycles"] if rules.passes else min(game["recycles"], 1)
    return position | np.uint64(drawn) << np.uint64(52) | np.uint64(passed) << np.uint64(57)


@kernel
def show(games: Any, rules: Any, observations: Any, masks: Any) -> None:
    """Write what each player sees, and the action mask: all ones when no action means anything."""
    for row in range(len(games)):
        game = games[row]
        _observe(game, rules, observations[row])
        means_nothing = game["is_over"] or game["n_legal"] == 0
        for action in range(len(rules.kinds)):
            masks[row, action] = means_nothing or game["legal"][action]


@kernel
def _observe(game: Any, rules: Any, observation: Any) -> None:
    """Pyramid, reserve, waste from its top, stock (14 is face down), passes left, unseen ranks."""
    observation[:] = 0
    first_stock = 28 + rules.reserve
    size = 24 - rules.reserve
    for i in range(first_stock):
        observation[i] = game["rank"][i] if game["there"][i] else 0
    for i in range(game["n_waste"]):
        observation[first_stock + i] = game["rank"][game["waste"][game["n_waste"] - 1 - i]]
    sees_all = rules.thoughtful or game["recycles"] > 0
    for i in range(game["n_stock"]):
        rank = game["rank"][game["stock"][i]]
        if sees_all or (i == 0 and rules.stock_playable):
            observation[first_stock + size + i] = rank
        else:
            observation[first_stock + size + i] = 14
            observation[first_stock + 2 * size + rank] += 1
    left = passes_left(game, rules)
    observation[first_stock + 2 * size] = 9 if left < 0 or left > 9 else left


@kernel
def figures(games: Any, rules: Any, results: Any) -> None:
    """Write into int64[n, 3]: pyramid cards removed, passes left, whether the game is won."""
    for row in range(len(games)):
        results[row, 0] = pyramid_cards_removed(games[row])
        results[row, 1] = passes_left(games[row], rules)
        results[row, 2] = is_won(games[row], rules)


@kernel
def positions(games: Any, rules: Any, results: Any) -> None:
    """Write the positions into uint64[n]."""
    for row in range(len(games)):
        results[row] = position_of(games[row], rules)


@kernel
def choose(
    games: Any, chances: Any, eager: float, illegal: float, rules: Any, actions: Any
) -> None:
    """Choose actions by three `chances` a row: removals with chance `eager` where there are any.

    With chance `illegal`, or where no action means anything, any id is taken.
    """
    n_actions = len(rules.kinds)
    for row in range(len(games)):
        game = games[row]
        actions[row] = np.int64(chances[row, 2] * n_actions)
        if game["is_over"] or game["n_legal"] == 0 or chances[row, 0] < illegal:
            continue
        n_removals = 0
        for action in range(n_actions):
            n_removals += game["legal"][action] and rules.kinds[action] <= KING
        only_removals = n_removals > 0 and chances[row, 1] < eager
        count = n_removals if only_removals else game["n_legal"]
        nth = np.int64(chances[row, 2] * count)
        for action in range(n_actions):
            if game["legal"][action] and (rules.kinds[action] <= KING or not only_removals):
                if nth == 0:
                    actions[row] = action
                nth -= 1
