"""The solver's three questions answered by looking at every position that can be reached.

Breadth first over the engine's kernels, with no pruning and no bound: slow, plain, and what the
solver is held to. With the games on which it is.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from pyramid_env import engine
from pyramid_env.actions import Move
from pyramid_env.cards import KING, N_CARDS, N_RANKS, Card
from pyramid_env.deals import Deal
from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    is_won,
    legal_actions,
    removed_by,
)
from pyramid_env.game import Game
from pyramid_env.jit import kernel
from pyramid_env.pyramid import N_ROWS, N_SLOTS, Slot, lies_above
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver.facts import FACTS_DTYPE, fill_facts

_WEIGHTS = np.repeat(np.arange(N_ROWS, 0, -1), np.arange(1, N_ROWS + 1))
_NEAR_THE_TOP = _WEIGHTS / _WEIGHTS.sum()
SAMPLES = [*PRESETS, "random rules", "few ranks"]


class Answers(NamedTuple):
    """What the plain search found."""

    win: bool
    cards: int
    moves: int | None
    n_positions: int


def plain_answers(game: Game, limit: int = 100_000, never: int = 0) -> Answers | None:
    """All three answers; None where more than `limit` positions can be reached.

    The removal of the cards `never` (bits) is left out, so these never go together.
    """
    rank_bits = np.empty(14, np.uint64)
    engine.find_rank_bits(game.deal.array, rank_bits)
    met = np.zeros(2 ** (2 * limit).bit_length(), np.uint64)
    queue = np.empty(limit + MAX_LEGAL, np.uint64)
    n_positions, cards, moves = _walk(
        np.uint64(game.position),
        rank_bits,
        compile_rules(game.rules)[0],
        limit,
        np.uint64(never),
        met,
        queue,
    )
    if n_positions > limit:
        return None
    return Answers(moves >= 0, cards, moves if moves >= 0 else None, n_positions)


@kernel
def _walk(
    position: Any, rank_bits: Any, rules: Any, limit: int, never: Any, met: Any, queue: Any
) -> Any:
    """Positions reached, most pyramid cards removed, fewest moves to the goal (-1: none)."""
    actions = np.empty(MAX_LEGAL, np.int16)
    queue[0] = position
    met[_place(met, position)] = position
    n_met, n_done, n_moves, level_end = 1, 0, 0, 1
    cards, fewest_moves = 0, -1
    while n_done < n_met <= limit:
        if n_done == level_end:
            n_moves, level_end = n_moves + 1, n_met
        position = queue[n_done]
        n_done += 1
        cards = max(cards, engine.pyramid_cards_removed(position))
        if fewest_moves < 0 and is_won(position, rules):
            fewest_moves = n_moves
        for i in range(legal_actions(position, rank_bits, rules, actions)):
            action = np.int64(actions[i])
            removed = removed_by(action, position, rules)
            if removed != np.uint64(0) and removed == never:
                continue
            child = apply(position, action, rules)
            place = _place(met, child)
            if met[place] != child:
                met[place] = child
                queue[n_met] = child
                n_met += 1
    return n_met, cards, fewest_moves


@kernel
def _place(met: Any, position: Any) -> Any:
    """Where a position is in the table, or belongs; 0 marks an empty place."""
    mask = np.uint64(met.size - 1)
    place = (position * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(30) & mask
    while met[place] != np.uint64(0) and met[place] != position:
        place = (place + np.uint64(1)) & mask
    return place


def random_rules(generator: np.random.Generator) -> Rules:
    """Any combination of the fields, the harder ones about as often as the plain."""
    passes = generator.choice([1, 1, 2, 3, 4, 0])
    return Rules(
        goal="all" if generator.random() < 0.5 else "pyramid",
        passes=int(passes) or None,
        draw=int(generator.choice([1, 1, 2, 3, 5])),
        stock_playable=bool(generator.random() < 0.6),
        covered_pairs=bool(generator.random() < 0.4),
        reserve=int(generator.choice([0, 0, 1, 3, 7])),
    )


def late_games(
    rules: Rules, generator: np.random.Generator, limit: int = 100_000
) -> Iterator[tuple[Game, Answers]]:
    """Random games, each as soon as the plain search can tell all that may come, and the answers.

    The play-outs draw or recycle rarely at first, so that few passes are gone when the game is
    small enough; positions that are already over are left out.
    """
    while True:
        game = Game(Deal.from_number(int(generator.integers(2**40))), rules)
        n_played = 0
        shyness = generator.random()
        while not game.is_over:
            answers = plain_answers(game, limit) if n_played >= 8 else None
            if answers is not None:
                yield game, answers
                break
            moves = list(game.legal_moves)
            removals = [move for move in moves if move.kind in ("pair", "king")]
            if removals and generator.random() < shyness:
                moves = removals
            game.play(moves[generator.integers(len(moves))])
            n_played += 1


def crowded_games(
    generator: np.random.Generator, limit: int = 100_000
) -> Iterator[tuple[Game, Answers]]:
    """Small positions of few ranks, each of other rules, and the answers.

    No moves have led to them. Most cards have several partners and share them with others, as
    seldom at the end of a random game. Positions that are already over are left out.
    """
    while True:
        rules = random_rules(generator)
        position = _small_position(rules, generator)
        kept = [bit for bit in range(N_CARDS) if position >> bit & 1]
        lows = generator.choice(6, int(generator.integers(1, 4)), replace=False) + 1
        ranks = [*lows, *(KING - lows), *[KING] * int(generator.random() < 0.3)]
        crowd = generator.permutation(
            [N_RANKS * suit + rank - 1 for rank in ranks for suit in range(4)]
        )
        if len(kept) > len(crowd):
            continue
        others = iter(generator.permutation(list(set(range(N_CARDS)) - {*crowd[: len(kept)]})))
        cards = dict(zip(kept, crowd, strict=False))
        deal = Deal(
            tuple(Card(int(cards[i] if i in cards else next(others))) for i in range(N_CARDS))
        )
        game = Game(deal, rules, position)
        answers = None if game.is_over else plain_answers(game, limit)
        if answers is not None:
            yield game, answers


def _small_position(rules: Rules, generator: np.random.Generator) -> int:
    """A few cards of the pyramid with all above them, and some of the reserve and the stock."""
    position = 0
    for slot in generator.choice(N_SLOTS, int(generator.integers(1, 4)), p=_NEAR_THE_TOP):
        position |= 1 << int(slot)
        position |= sum(1 << i for i in range(N_SLOTS) if lies_above(Slot(i), Slot(int(slot))))
    first_stock = N_SLOTS + rules.reserve
    for bit in range(N_SLOTS, first_stock):
        position |= int(generator.random() < 0.4) << bit
    size = rules.stock_size
    stock = sorted(generator.choice(size, int(generator.integers(0, 9)), replace=False).tolist())
    position |= sum(1 << first_stock + i for i in stock)
    drawn = int(generator.choice([*stock, size]))
    passed = int(generator.integers(rules.passes or 2))
    return position | drawn << 52 | passed << 57


def sample(name: str, n_games: int, limit: int) -> Iterator[tuple[Game, Answers]]:
    """Late games of a preset, or each of other rules, with what the plain search says."""
    generator = np.random.default_rng(7)
    if name in PRESETS:
        games = late_games(PRESETS[name], generator, limit)
        yield from islice(games, n_games)
    elif name == "few ranks":
        yield from islice(crowded_games(generator, limit), 4 * n_games)
    else:
        for _ in range(2 * n_games):
            yield next(late_games(random_rules(generator), generator, limit))


def facts_of(game: Game) -> Any:
    """What the solver's kernels know of a game's deal."""
    facts = np.empty(1, FACTS_DTYPE)
    fill_facts(game.deal.array, game.rules, facts)
    return facts[0]


def after(game: Game, move: Move) -> Game:
    """A copy of the game in which the move has been played."""
    child = game.copy()
    child.play(move)
    return child
