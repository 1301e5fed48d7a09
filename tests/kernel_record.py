"""What every kernel answers, in games of one preset, as plain data.

With NUMBA_DISABLE_JIT=1 the kernels run as the Python they are written in:
``python tests/kernel_record.py kawu`` prints the same record, slowly.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

from agents.agent import Agent
from agents.baselines import GreedyAgent
from agents.search import SearchAgent
from agents.training.labelling import LabelledGames
from pyramid_env import (
    PRESETS,
    Deal,
    Game,
    PyramidEnv,
    PyramidVectorEnv,
    Rules,
    action_table,
    sample_actions,
    solve,
)
from pyramid_env.deals import training_number
from pyramid_env.engine import compile_rules
from pyramid_env.solver.judge import can_win, new_judge, take_up

N_STEPS = 50
NODE_LIMIT = 40


def record(preset: str) -> dict[str, Any]:
    """The answers, which only the rules and fixed numbers decide."""
    rules = PRESETS[preset]
    return {
        "vector": vector_steps(rules, illegal_action="penalty"),
        "strict": vector_steps(rules, illegal_action="raise", autoreset_mode="SameStep"),
        "scalar": scalar_steps(rules),
        "solver": [solved(game) for game in late_games(rules)],
        "agents": agent_moves(rules),
        "labels": labels(rules),
    }


def vector_steps(rules: Rules, **settings: Any) -> list[Any]:
    """Some steps of some games, with illegal actions among them where they are no error."""
    env = PyramidVectorEnv(3, rules, **settings)
    observations, infos = env.reset(seed=1)
    generator = np.random.default_rng(2)
    steps = []
    for turn in range(N_STEPS):
        actions = sample_actions(infos["action_mask"], generator)
        if turn % 10 == 9 and settings["illegal_action"] == "penalty":
            actions[:] = 0
        observations, rewards, terminated, _, infos = env.step(actions)
        legal = [np.flatnonzero(mask).tolist() for mask in infos["action_mask"]]
        steps.append([observations.tolist(), rewards.tolist(), terminated.tolist(), legal])
    return steps


def scalar_steps(rules: Rules) -> list[Any]:
    """The first game of an environment, by its hints."""
    env = PyramidEnv(rules, information="thoughtful")
    observation, info = env.reset(seed=3)
    steps: list[Any] = [observation.tolist()]
    game = Game(Deal.from_number(info["deal_number"]), rules)
    while not game.is_over and len(steps) < N_STEPS:
        move = game.hint()
        steps.append([str(move), float(env.step(action_table(rules).action(move))[1])])
        game.play(move)
    return steps


def late_games(rules: Rules) -> list[Game]:
    """Games of which little is left, and so little to be searched."""
    games = []
    for number in range(3):
        game = Game(Deal.from_number(int(training_number(np.uint64(7), np.uint64(number)))), rules)
        while not game.is_over and game.position.bit_count() > 16:
            game.play(game.hint())
        games.append(game)
    return games


def solved(game: Game) -> list[Any]:
    """The solver's words."""
    answers: list[Any] = [bool(game.is_lost)]
    for objective in ("win", "cards", "moves"):
        solution = solve(game, objective, node_limit=NODE_LIMIT)  # type: ignore[arg-type]
        answers.append([solution.status.value, solution.value, [str(m) for m in solution.moves]])
    judge = new_judge(game.rules)
    take_up(game.deal.array, judge)
    rules = compile_rules(game.rules)
    answers.append(int(can_win(np.uint64(game.position), NODE_LIMIT, rules, judge)))
    return answers


def agent_moves(rules: Rules) -> list[Any]:
    """What agents with kernels choose, at first and in the middle of games."""
    env = PyramidVectorEnv(1, rules)
    observations, infos = env.reset(seed=4)
    generator = np.random.default_rng(5)
    seen = [(observations, infos["action_mask"])]
    for _ in range(20):
        observations, _, _, _, infos = env.step(sample_actions(infos["action_mask"], generator))
        seen.append((observations, infos["action_mask"]))
    players: list[Agent] = [
        GreedyAgent(rules),
        SearchAgent(rules, samples=20, node_limit=NODE_LIMIT),
    ]
    return [p.act_batch(*seen[turn]).tolist() for p in players for turn in (0, 10, 20)]


def labels(rules: Rules) -> list[Any]:
    """What a network would be taught."""
    games = LabelledGames(2, rules, seed=5, node_limit=NODE_LIMIT, easy=500, by_hint=500)
    taught: list[Any] = []
    for _ in range(3):
        games.advance(games.words.argmax(axis=1) if taught else np.zeros(2, np.int64))
        taught += [games.observations.tolist(), games.words.tolist(), games.hints.tolist()]
    return taught


if __name__ == "__main__":
    # Numbers of 64 bits wrap around, as they are meant to; outside of kernels, NumPy warns of it.
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
    print(json.dumps(record(sys.argv[1])))
