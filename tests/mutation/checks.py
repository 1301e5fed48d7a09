"""What a planted fault has to get past: a small campaign, always the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from pyramid_env import actions, engine
from pyramid_env.actions import Move, action_table, sample_actions
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.observation import (
    decode,
    observation_space,
    observe,
    position_from_observation,
)
from pyramid_env.pyramid import Place
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import facts
from tests.campaign import environments, solving
from tests.campaign.environments import play_batch
from tests.campaign.solving import OBJECTIVES, play_solver
from tests.campaign.words import play_position, play_words
from tests.plain_search import crowded_games

STEPS_A_BATCH = 3000
N_ROUNDS = 8


def forget() -> None:
    """Leave nothing behind of what was worked out from tables without the fault."""
    for cached in (actions._table, engine.compile_rules, facts.meeting_of):
        cached.cache_clear()


def check(times: int) -> int:
    """Play the campaign; raises at a difference, and returns the nodes of all searches."""
    forget()
    environments.STEPS_A_BATCH = STEPS_A_BATCH * times
    nodes = 0
    solve = solving.solve

    def counting(*arguments: Any, **settings: Any) -> Any:
        nonlocal nodes
        solution = solve(*arguments, **settings)
        nodes += solution.nodes
        return solution

    solving.solve = counting
    for step in steps(N_ROUNDS * times):
        step()
    solving.solve = solve
    return nodes


def steps(n_rounds: int) -> Iterator[Any]:
    """The parts of the campaign, and what it does not ask."""
    for number in range(n_rounds):
        generator = np.random.default_rng([2026, number])
        yield lambda generator=generator: play_words(generator)
        yield lambda generator=generator: play_batch(generator)
        for _ in range(3):
            yield lambda generator=generator: play_solver(generator)
    generator = np.random.default_rng(2026)
    for _ in range(400):
        yield lambda: play_position(generator)
    yield lambda: check_few_ranks(400 * n_rounds // N_ROUNDS)
    yield check_sampling
    yield check_spaces
    yield check_decoding
    yield check_positions
    yield check_places
    yield check_tables


def check_few_ranks(n_games: int) -> None:
    """The solver's answers on small positions whose cards share their partners."""
    for game, answers in islice(crowded_games(np.random.default_rng(2026), 2000), n_games):
        for objective in OBJECTIVES:
            solution = solving.solve(game, objective)
            assert solution.value == getattr(answers, objective)


def check_sampling() -> None:
    """Each action drawn is the one that the generator's number names."""
    generator = np.random.default_rng(5)
    for n_actions in (3, 8, 102, 285, 565):
        masks = (generator.random((50, n_actions)) < 0.1).astype(np.int8)
        masks[:, generator.integers(n_actions)] = 1
        drawn = sample_actions(masks, np.random.default_rng(9))
        uniforms = np.random.default_rng(9).random(len(masks))
        for mask, uniform, action in zip(masks, uniforms, drawn, strict=True):
            legal = np.flatnonzero(mask)
            assert action == legal[int(uniform * len(legal))]
    for wrong in (np.zeros((2, 285), np.int8), np.ones((2, 285), np.int64), np.ones(285, np.int8)):
        assert refuses(lambda wrong=wrong: sample_actions(wrong, generator))


def check_spaces() -> None:
    """Each number of an observation has as many values as it can take."""
    for rules in (*PRESETS.values(), Rules(reserve=3)):
        size = 24 - rules.reserve
        categories = [14] * (28 + rules.reserve + size) + [15] * size + [10] + [5] * 13
        junk = [np.full(len(categories), 99) for _ in range(20)]
        del junk  # memory that is handed out again says nothing right by chance
        assert observation_space(rules).nvec.tolist() == categories


def check_decoding() -> None:
    """An observation leads back to what looks the same, also with the apex gone."""
    generator = np.random.default_rng(4)
    for rules in (Rules(goal="all"), Rules(goal="all", reserve=7)) * 30:
        cards = int(generator.integers(2**51)) << 1
        first = 28 + rules.reserve
        drawn = int(generator.choice([*(i for i in range(first, 52) if cards >> i & 1), 52]))
        deal = Deal.from_number(int(generator.integers(2**40)))
        seen = observe(cards | drawn - first << 52, deal, rules, "thoughtful")
        position, again = position_from_observation(seen, rules)
        assert observe(position, again, rules, "thoughtful").tolist() == seen.tolist()
        made_up = np.full(52, 99, np.uint8)
        decode(seen, engine.compile_rules(rules)[0], made_up)
        assert all(made_up[i] == 0 for i in range(52) if not position >> i & 1)


def check_positions() -> None:
    """An integer is a position when its next card is there, and its pass is one of the rules."""
    generator = np.random.default_rng(4)
    for rules in (Rules(), Rules(passes=None, reserve=7), Rules(passes=1)):
        compiled = engine.compile_rules(rules)[0]
        for _ in range(300):
            cards = int(generator.integers(2**52))
            drawn, passed = int(generator.integers(32)), int(generator.integers(4))
            at = 28 + rules.reserve + drawn
            is_next_there = at == 52 or (at < 52 and cards >> at & 1 == 1)
            is_pass = passed < (rules.passes or 2)
            position = np.uint64(cards | drawn << 52 | passed << 57)
            assert bool(engine.is_position(position, compiled)) == (is_next_there and is_pass)
        for action in (compiled["draw_action"], compiled["recycle_action"]):
            assert engine.removed_by(action, np.uint64(2**52 - 1), compiled) == 0


def check_places() -> None:
    """A slot has its card until that is gone, and nobody can write into what is compiled."""
    generator = np.random.default_rng(4)
    for number in range(20):
        game = Game(number)
        while moves := list(game.legal_moves):
            game.play(moves[generator.integers(len(moves))])
            for slot, card in enumerate(game.deal.cards[:28]):
                is_there = game.position >> slot & 1 == 1
                assert game.card_at(Place(slot)) == (card if is_there else None)
    for array in (engine.compile_rules(Rules()), facts.meeting_of(Rules())):
        assert not array.flags.writeable


def check_tables() -> None:
    """Ids and moves are one to one, and nothing else is taken for either."""
    for rules in (*PRESETS.values(), Rules(reserve=3)):
        table = action_table(rules)
        moves = list(table)
        assert [table[i] for i in range(len(table))] == moves
        assert [table.action(Move.parse(str(move))) for move in moves] == list(range(len(table)))
        for wrong in (-1, len(table)):
            assert refuses(lambda wrong=wrong, table=table: table[wrong])
    assert hash(Move("pair", [1, 27])) == hash(Move.parse("G7 b1"))  # type: ignore[arg-type]
    for kind, places in (
        ("pair", (1,)),
        ("king", (1, 2)),
        ("draw", (1,)),
        ("pair", (27, 1)),
        ("pair", (1, 1)),
        ("king", (-1,)),
        ("king", (37,)),
        ("flip", ()),
        ([], ()),
    ):
        assert refuses(lambda kind=kind, places=places: Move(kind, places))
    assert Move("king", (36,)).places == (36,)  # type: ignore[arg-type]
    for text in ("", "A1+B1+C1", "H1", "A1+A1", "draw recycle"):
        assert refuses(lambda text=text: Move.parse(text))
    assert refuses(lambda: action_table(Rules()).action(Move.parse("A1+G1")))


def refuses(call: Any) -> bool:
    """Whether a call ends with `ValueError`."""
    try:
        call()
    except ValueError:
        return True
    return False
