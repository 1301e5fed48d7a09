"""The game once more from the rules' words alone, plain but compiled: for millions of comparisons.

It shares nothing with the package but how it is compiled, and nothing with the slow reference
(`tests/reference.py`), to which the campaign holds it too. A game is lists of cards. A card is its
place in the deal: 0-27 the pyramid row by row, then the reserve, then the stock. The places of
moves have the numbers of `PLACES`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_env.jit import inline_kernel, kernel

PYRAMID = [f"{row}{column + 1}" for i, row in enumerate("ABCDEFG") for column in range(i + 1)]
PLACES = [*PYRAMID, "W", "S", *(f"R{number}" for number in range(1, 8))]
WASTE, STOCK, RESERVE = 28, 29, 30
PAIR, KING, DRAW, RECYCLE = range(4)
MOST_ACTIONS = 600

GAME_DTYPE = np.dtype(
    [
        ("number", np.uint64),
        ("rank", np.int64, (52,)),
        ("there", np.uint8, (35,)),  # the cards on the table: pyramid and reserve
        ("stock", np.int64, (24,)),  # the next card to be drawn comes first
        ("n_stock", np.int64),
        ("waste", np.int64, (24,)),  # the top card comes last
        ("n_waste", np.int64),
        ("recycles", np.int64),
        ("steps", np.int64),
        ("legal", np.uint8, (MOST_ACTIONS,)),
        ("n_legal", np.int64),
        ("is_over", np.bool_),  # ended or cut off
        # What the last step did
        ("reward", np.float64),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("illegal", np.bool_),
    ],
    align=True,
)


class PlainRules(NamedTuple):
    """The rules, what is shown and rewarded, and the actions by their id."""

    goal_all: bool
    passes: int  # 0: unlimited
    draw: int
    stock_playable: bool
    covered_pairs: bool
    reserve: int
    thoughtful: bool
    reward_is_win: bool
    step_limit: int
    kinds: NDArray[np.int64]
    firsts: NDArray[np.int64]  # places; -1 for none
    seconds: NDArray[np.int64]


def read_actions(texts: list[str]) -> tuple[NDArray[np.int64], ...]:
    """The kind and the two places of each action, from the texts of the moves."""
    rows = []
    for text in texts:
        places = [] if text in ("draw", "recycle") else [PLACES.index(n) for n in text.split("+")]
        kind = {2: PAIR, 1: KING}.get(len(places), DRAW if text == "draw" else RECYCLE)
        rows.append([kind, *places, *[-1] * (2 - len(places))])
    kinds, firsts, seconds = np.array(rows, np.int64).T
    return kinds.copy(), firsts.copy(), seconds.copy()


@kernel
def _mix(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _shuffle(number: Any) -> Any:
    """The cards of a numbered deal, as docs/deals.md says."""
    key = _mix(number)
    n_words = np.uint64(0)
    cards = np.arange(52)
    for last in range(51, 0, -1):
        bound = np.uint64(last + 1)
        while True:
            n_words += np.uint64(1)
            word = _mix(key + n_words * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
            product = word * bound
            if product % np.uint64(2**32) >= np.uint64(2**32) % bound:
                break
        chosen = np.int64(product >> np.uint64(32))
        cards[last], cards[chosen] = cards[chosen], cards[last]
    return cards


@kernel
def deal(games: Any, rows: Any, numbers: Any, rules: Any) -> None:
    """Begin the chosen games with their numbered deals."""
    for row in range(len(games)):
        if not rows[row]:
            continue
        game = games[row]
        game["number"] = numbers[row]
        cards = _shuffle(numbers[row])
        for i in range(52):
            game["rank"][i] = cards[i] % 13 + 1
        on_table = 28 + rules.reserve
        for i in range(35):
            game["there"][i] = i < on_table
        game["n_stock"] = 52 - on_table
        for i in range(52 - on_table):
            game["stock"][i] = on_table + i
        game["n_waste"] = game["recycles"] = game["steps"] = 0
        game["is_over"] = game["terminated"] = game["truncated"] = game["illegal"] = False
        game["reward"] = 0.0
        _find_legal(game, rules)


@kernel
def play(games: Any, rows: Any, actions: Any, rules: Any) -> None:
    """Play one action in each of the chosen games, none of which is over."""
    for row in range(len(games)):
        if not rows[row]:
            continue
        game, action = games[row], actions[row]
        game["reward"], game["illegal"] = 0.0, False
        if game["n_legal"] > 0 and not game["legal"][action]:
            game["reward"], game["illegal"] = -1.0, True
        elif game["n_legal"] > 0:
            removed_before = goal_cards_removed(game, rules)
            _move(game, action, rules)
            game["reward"] = goal_cards_removed(game, rules) - removed_before
            if rules.reward_is_win:
                game["reward"] = 1.0 if is_won(game, rules) else 0.0
            _find_legal(game, rules)
        game["steps"] += 1
        game["terminated"] = game["n_legal"] == 0
        game["truncated"] = not game["terminated"] and game["steps"] >= rules.step_limit
        game["is_over"] = game["terminated"] or game["truncated"]


# What the cards allow


@inline_kernel
def _is_exposed(game: Any, row: int, column: int) -> Any:
    """Whether the card of a row and column (from 0) is there and no card of the next row covers it.

    The first card of a row follows 1 + 2 + ... + row others; the two below are in the next row at
    the same column and the next.
    """
    there = game["there"]
    below = (row + 1) * (row + 2) // 2 + column
    if not there[row * (row + 1) // 2 + column]:
        return False
    return row == 6 or (not there[below] and not there[below + 1])


@inline_kernel
def _card_at(game: Any, place: int) -> int:
    """The card of a place; -1 for none."""
    if place == WASTE:
        return game["waste"][game["n_waste"] - 1] if game["n_waste"] > 0 else -1
    if place == STOCK:
        return game["stock"][0] if game["n_stock"] > 0 else -1
    card = place if place < WASTE else 28 + place - RESERVE
    return card if game["there"][card] else -1


@inline_kernel
def _find_available(game: Any, rules: Any, available: Any, ranks: Any) -> None:
    """For each place whether its card can be played, and the card's rank (0 for none)."""
    for place in range(37):
        card = _card_at(game, place)
        ranks[place] = game["rank"][card] if card >= 0 else 0
        available[place] = card >= 0
    available[STOCK] = available[STOCK] and rules.stock_playable
    place = 0
    for row in range(7):
        for column in range(row + 1):
            available[place] = _is_exposed(game, row, column)
            place += 1


@inline_kernel
def _is_last_cover(there: Any, upper: int, lower: int, available: Any) -> Any:
    """Whether of the two cards that cover `upper` only `lower` is left, itself available."""
    place = 0
    for row in range(6):
        for column in range(row + 1):
            if place == upper:
                left = (row + 1) * (row + 2) // 2 + column
                other = left if lower == left + 1 else left + 1
                is_cover = lower == left or lower == left + 1
                return is_cover and available[lower] and not there[other]
            place += 1
    return False


@inline_kernel
def _can_remove(
    first: int, second: int, there: Any, covered: Any, available: Any, ranks: Any
) -> Any:
    """Whether a pair may be removed, or a king, which has no second place."""
    if second < 0:
        return first >= 0 and available[first] and ranks[first] == 13
    if ranks[first] == 0 or ranks[second] == 0 or ranks[first] + ranks[second] != 13:
        return False
    if available[first] and available[second]:
        return True
    if not covered or first >= WASTE or second >= WASTE:
        return False
    return _is_last_cover(there, first, second, available) or _is_last_cover(
        there, second, first, available
    )


@inline_kernel
def _find_removals(game: Any, rules: Any, legal: Any) -> int:
    """Write which pairs and kings may be removed, and return how many."""
    available, ranks = np.empty(37, np.bool_), np.empty(37, np.int64)
    _find_available(game, rules, available, ranks)
    there, firsts, seconds, covered = (
        game["there"],
        rules.firsts,
        rules.seconds,
        rules.covered_pairs,
    )
    n_removals = 0
    for action in range(len(firsts)):
        legal[action] = _can_remove(
            firsts[action], seconds[action], there, covered, available, ranks
        )
        n_removals += legal[action]
    return n_removals


@kernel
def _find_legal(game: Any, rules: Any) -> None:
    """Find the legal actions: none once the game is won, or turning on would be in vain."""
    legal = game["legal"]
    n_removals = _find_removals(game, rules, legal)
    if is_won(game, rules):
        legal[:] = 0
        game["n_legal"] = 0
        return
    game["n_legal"] = n_removals
    if rules.passes == 0 and n_removals == 0 and not _removal_ahead(game, rules):
        return
    is_pass_left = rules.passes == 0 or game["recycles"] < rules.passes - 1
    for action in range(len(rules.kinds)):
        if rules.kinds[action] == DRAW:
            legal[action] = game["n_stock"] > 0
            game["n_legal"] += legal[action]
        elif rules.kinds[action] == RECYCLE:
            legal[action] = game["n_stock"] == 0 and game["n_waste"] > 0 and is_pass_left
            game["n_legal"] += legal[action]


@kernel
def _removal_ahead(game: Any, rules: Any) -> Any:
    """Whether drawing through this pass and one more would ever allow a removal."""
    copies = np.empty(1, GAME_DTYPE)
    copies[0] = game
    ahead = copies[0]
    n_recycles = 0
    while True:
        if ahead["n_stock"] > 0:
            _draw(ahead, rules)
        elif ahead["n_waste"] > 0 and n_recycles == 0:
            _recycle(ahead)
            n_recycles += 1
        else:
            return False
        if _find_removals(ahead, rules, ahead["legal"]) > 0:
            return True


# What the moves do


@kernel
def _move(game: Any, action: int, rules: Any) -> None:
    if rules.kinds[action] == DRAW:
        _draw(game, rules)
    elif rules.kinds[action] == RECYCLE:
        _recycle(game)
    else:
        _remove(game, rules.firsts[action])
        if rules.kinds[action] == PAIR:
            _remove(game, rules.seconds[action])


@kernel
def _remove(game: Any, place: int) -> None:
    if place == WASTE:
        game["n_waste"] -= 1
    elif place == STOCK:
        _take_top(game)
    else:
        game["there"][place if place < WASTE else 28 + place - RESERVE] = False


@inline_kernel
def _take_top(game: Any) -> int:
    """Take the stock's top card away; the others move up."""
    card = game["stock"][0]
    game["n_stock"] -= 1
    for i in range(game["n_stock"]):
        game["stock"][i] = game["stock"][i + 1]
    return card


@inline_kernel
def _draw(game: Any, rules: Any) -> None:
    for _ in range(rules.draw):
        if game["n_stock"] > 0:
            game["waste"][game["n_waste"]] = _take_top(game)
            game["n_waste"] += 1


@inline_kernel
def _recycle(game: Any) -> None:
    """Turn the waste over: its bottom card, the first that was drawn, lies on top again."""
    for i in range(game["n_waste"]):
        game["stock"][i] = game["waste"][i]
    game["n_stock"], game["n_waste"] = game["n_waste"], 0
    game["recycles"] += 1


# How the game stands


@kernel
def pyramid_cards_removed(game: Any) -> int:
    """The score."""
    n = 28
    for i in range(28):
        n -= game["there"][i]
    return n


@kernel
def goal_cards_removed(game: Any, rules: Any) -> int:
    """The removed cards among those that the goal names."""
    if not rules.goal_all:
        return pyramid_cards_removed(game)
    n = 52 - game["n_stock"] - game["n_waste"]
    for i in range(28 + rules.reserve):
        n -= game["there"][i]
    return n


@kernel
def is_won(game: Any, rules: Any) -> Any:
    """Whether all of the goal's cards are gone."""
    return goal_cards_removed(game, rules) == (52 if rules.goal_all else 28)


@kernel
def passes_left(game: Any, rules: Any) -> int:
    """The recycles still to come; -1 when they never end."""
    return -1 if rules.passes == 0 else rules.passes - 1 - game["recycles"]
