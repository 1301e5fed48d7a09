"""The environments against the plain compiled game, step by step: all that they return."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from pyramid_env.actions import Move, action_table
from pyramid_env.env import PyramidEnv
from pyramid_env.rules import Rules
from pyramid_env.vector_env import PyramidVectorEnv
from tests.campaign import plain_game, plain_view
from tests.campaign.cases import Case, Difference, Failed, random_numbers, random_rules
from tests.campaign.plain_game import GAME_DTYPE, PlainRules, read_actions

STEPS_A_BATCH = 200_000
LONGEST = 1500
N_SCALARS = 2


def plain_rules(rules: Rules, settings: dict[str, Any]) -> PlainRules:
    """The rules as the plain game takes them."""
    longest = 0 if rules.passes is None else 52 + rules.passes * (24 - rules.reserve + 1) - 1
    limit = max(1000, longest)
    return PlainRules(
        rules.goal == "all",
        rules.passes or 0,
        rules.draw,
        rules.stock_playable,
        rules.covered_pairs,
        rules.reserve,
        settings.get("information", "fair") == "thoughtful",
        settings.get("reward", "cards") == "win",
        min(limit, settings.get("max_episode_steps") or limit),
        *read_actions([str(move) for move in action_table(rules)]),
    )


@dataclass
class Plain:
    """Plain games side by side, and what they show."""

    rules: PlainRules
    games: NDArray[np.void]

    def __post_init__(self) -> None:
        n, reserve = len(self.games), self.rules.reserve
        self.observations = np.empty((n, 28 + reserve + 2 * (24 - reserve) + 14), np.int16)
        self.masks = np.empty((n, len(self.rules.kinds)), np.int8)
        self.figures = np.empty((n, 3), np.int64)
        self.positions = np.empty(n, np.uint64)

    def deal(self, rows: NDArray[np.bool_], numbers: NDArray[np.uint64]) -> None:
        plain_game.deal(self.games, rows, numbers, self.rules)
        self._show()

    def play(self, rows: NDArray[np.bool_], actions: NDArray[np.int64]) -> None:
        plain_game.play(self.games, rows, actions, self.rules)
        self._show()

    def _show(self) -> None:
        plain_view.show(self.games, self.rules, self.observations, self.masks)
        plain_view.figures(self.games, self.rules, self.figures)
        plain_view.positions(self.games, self.rules, self.positions)


def all_same(what: str, expected: Any, found: Any, rows: Any = None) -> None:
    """Raise `Difference` unless two arrays are equal in these rows, naming the first."""
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.shape == found.shape and np.array_equal(expected, found):
        return
    differs = np.asarray(expected != found).reshape(len(expected), -1).any(axis=1)
    if rows is not None:
        differs &= rows
    if differs.any():
        row = int(differs.argmax())
        raise Difference(what, expected[row].tolist(), found[row].tolist(), row)


class Batch:
    """A vector environment, some scalar ones for its first rows, and the plain games of all."""

    def __init__(
        self, rules: Rules, numbers: NDArray[np.uint64], n_scalars: int, **settings: Any
    ) -> None:
        n = len(numbers)
        self.rules, self.settings = rules, settings
        self.plain = Plain(plain_rules(rules, settings), np.zeros(n, GAME_DTYPE))
        self.envs = PyramidVectorEnv(n, rules, **settings)
        kept = {key: settings[key] for key in ("information", "reward") if key in settings}
        self.scalars = [PyramidEnv(rules, **kept) for _ in range(n_scalars)]
        self.counts: Counter[str] = Counter()
        self.everyone = np.ones(n, np.bool_)
        self._mode = self.envs.autoreset_mode
        self.actions: list[NDArray[np.int64]] = []
        self.begun = np.zeros(n, np.int64)
        self.plain.games["number"] = numbers

    def start(self) -> None:
        """Begin all games."""
        numbers = self.plain.games["number"].copy()
        self.begin(self.everyone, numbers, seed=int(numbers[0] % 2**32))

    def begin(
        self, rows: NDArray[np.bool_], numbers: NDArray[np.uint64], seed: int | None = None
    ) -> None:
        """Reset some games to numbered deals."""
        observations, infos = self.envs.reset(
            seed=seed, options={"deal": numbers, "reset_mask": rows}
        )
        self._deal(rows, numbers)
        self.compare_views(observations, infos)
        all_same("rows in info", rows, infos["_action_mask"])

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play one action a game and compare all that comes of it."""
        plain = self.plain
        was_over = plain.games["is_over"].copy()
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        self.actions.append(actions)
        plain.play(~was_over, actions)
        plain.games["reward"][was_over] = 0
        for name in ("terminated", "truncated", "illegal"):
            plain.games[name][was_over] = False
        for i, env in enumerate(self.scalars):
            if not was_over[i]:
                self.step_scalar(env, int(actions[i]), i)
        all_same("rewards", plain.games["reward"], rewards)
        all_same("terminated", plain.games["terminated"], terminated)
        all_same("truncated", plain.games["truncated"], truncated)
        ended = plain.games["is_over"] & ~was_over
        self.count(was_over, ended)
        if self._mode == AutoresetMode.NEXT_STEP:
            all_same("illegal", plain.games["illegal"], infos["illegal_action"])
            all_same("rows that stepped", ~was_over, infos["_illegal_action"])
            self._compare_success(infos, ended)
            self.go_on(was_over, infos)
        elif self._mode == AutoresetMode.SAME_STEP:
            all_same("illegal", plain.games["illegal"], infos["illegal_action"], ~ended)
            all_same("rows that stepped", ~ended, infos["_illegal_action"])
            self._compare_final(infos, ended)
            self.go_on(ended, infos)
        else:
            all_same("illegal", plain.games["illegal"], infos["illegal_action"])
            self._compare_success(infos, ended)
        self.compare_views(observations, infos)

    def go_on(self, rows: NDArray[np.bool_], infos: dict[str, Any]) -> None:
        """Follow the environment to the deals that it began by itself."""
        if rows.any():
            numbers = infos["deal_number"]
            is_training = (numbers >= 2**32) & (numbers < 2**63)
            all_same("training deals", rows, is_training & rows, rows)
            self._deal(rows, numbers)

    def compare_views(self, observations: Any, infos: dict[str, Any]) -> None:
        """Observations, masks, figures and positions of all games."""
        plain = self.plain
        all_same("positions", plain.positions, self.envs.positions)
        all_same("observations", plain.observations, observations)
        all_same("action masks", plain.masks, infos["action_mask"])
        all_same("pyramid cards removed", plain.figures[:, 0], infos["pyramid_cards_removed"])
        all_same("passes left", plain.figures[:, 1], infos["passes_left"])
        all_same("deal numbers", plain.games["number"], infos["deal_number"])

    def step_scalar(self, env: PyramidEnv, action: int, row: int) -> None:
        """Step a scalar environment, whose answers are those of the plain game of its row."""
        plain = self.plain
        game = plain.games[row]
        observation, reward, terminated, truncated, info = env.step(action)
        expected = {
            "reward": float(game["reward"]),
            "terminated": bool(game["terminated"]),
            "truncated": bool(game["truncated"]),
            "illegal_action": bool(game["illegal"]),
            "position": int(plain.positions[row]),
            "observation": plain.observations[row].tolist(),
            "action_mask": plain.masks[row].tolist(),
            "pyramid_cards_removed": int(plain.figures[row, 0]),
            "passes_left": int(plain.figures[row, 1]),
            "deal_number": int(game["number"]),
            "is_success": bool(plain.figures[row, 2]) if game["is_over"] else None,
        }
        found = {
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
            "illegal_action": info["illegal_action"],
            "position": env.position,
            "observation": observation.tolist(),
            "action_mask": info["action_mask"].tolist(),
            "pyramid_cards_removed": info["pyramid_cards_removed"],
            "passes_left": info["passes_left"],
            "deal_number": int(info["deal_number"]),
            "is_success": info.get("is_success"),
        }
        for key, value in expected.items():
            if value != found[key]:
                raise Difference(f"{key} of the scalar environment", value, found[key], row)
        self.counts["scalar environment's steps"] += 1

    def count(self, was_over: NDArray[np.bool_], ended: NDArray[np.bool_]) -> None:
        """Count what has been compared."""
        self.counts["engine steps"] += int((~was_over).sum())
        self.counts["illegal actions"] += int(self.plain.games["illegal"].sum())
        self.counts["games ended"] += int(ended.sum())
        self.counts["games won"] += int((self.plain.figures[:, 2].astype(bool) & ended).sum())
        self.counts["games cut off"] += int((self.plain.games["truncated"] & ended).sum())

    def _deal(self, rows: NDArray[np.bool_], numbers: NDArray[np.uint64]) -> None:
        self.plain.deal(rows, numbers)
        self.begun[rows] = len(self.actions)
        for i, env in enumerate(self.scalars):
            if rows[i]:
                observation, info = env.reset(options={"deal": int(numbers[i])})
                first = self.plain.observations[i].tolist(), self.plain.masks[i].tolist()
                found = observation.tolist(), info["action_mask"].tolist()
                if first != found:
                    raise Difference("the scalar environment's first view", first, found, i)

    def _compare_success(self, infos: dict[str, Any], ended: NDArray[np.bool_]) -> None:
        if ended.any():
            all_same("success", self.plain.figures[:, 2], infos["is_success"], ended)
            all_same("rows that ended", ended, infos["_is_success"])

    def _compare_final(self, infos: dict[str, Any], ended: NDArray[np.bool_]) -> None:
        """What SAME_STEP says of the games that ended."""
        if not ended.any():
            return
        final, plain = infos["final_info"], self.plain
        last = plain.observations.copy()
        last[ended] = np.stack(infos["final_obs"][ended].tolist())
        all_same("final observations", plain.observations, last)
        all_same("final masks", plain.masks, final["action_mask"], ended)
        all_same("final cards", plain.figures[:, 0], final["pyramid_cards_removed"], ended)
        all_same("final passes left", plain.figures[:, 1], final["passes_left"], ended)
        all_same("success", plain.figures[:, 2], final["is_success"], ended)
        all_same("illegal", plain.games["illegal"], final["illegal_action"], ended)
        all_same("rows that ended", ended, infos["_final_info"])
        all_same("rows that ended", ended, infos["_final_obs"])

    def case_of(self, row: int) -> Case:
        """The game of a row as it was played."""
        table = action_table(self.rules)
        moves = [str(table[int(actions[row])]) for actions in self.actions[self.begun[row] :]]
        kept = {
            key: self.settings[key] for key in ("information", "reward") if key in self.settings
        }
        number = int(self.plain.games["number"][row])
        return Case("environments", self.rules, number, tuple(moves), kept)


def check_environments(case: Case) -> Counter[str]:
    """Play a case's moves in a vector environment of one game, a scalar one and the plain game."""
    table = action_table(case.rules)
    batch = Batch(
        case.rules,
        np.array([case.deal], np.uint64),
        1,
        autoreset_mode=AutoresetMode.DISABLED,
        **case.settings,
    )
    batch.start()
    for text in case.moves:
        move = Move.parse(text)
        if move in table and not batch.plain.games["is_over"][0]:
            batch.step(np.array([table.action(move)]))
    return batch.counts


def play_batch(generator: np.random.Generator) -> Counter[str]:
    """Many games at once by chance; `Failed` names the game that shows a difference."""
    batch = _random_batch(generator)
    n = len(batch.everyone)
    eager, illegal = generator.choice([0.0, 0.5, 0.9, 0.98, 1.0]), generator.choice([0, 0.02, 0.2])
    actions = np.empty(n, np.int64)
    try:
        batch.start()
        for _ in range(min(LONGEST, STEPS_A_BATCH // n)):
            over = batch.plain.games["is_over"]
            if batch._mode == AutoresetMode.DISABLED and over.any():
                batch.begin(over.copy(), random_numbers(generator, n))
            chances = generator.random((n, 3))
            plain_view.choose(
                batch.plain.games, chances, eager, float(illegal), batch.plain.rules, actions
            )
            batch.step(actions.copy())
    except Exception as error:
        raise Failed(batch.case_of(getattr(error, "row", 0)), error) from error
    finally:
        batch.envs.close()
    batch.counts["rule sets"] += 1
    return batch.counts


def _random_batch(generator: np.random.Generator) -> Batch:
    rules = random_rules(generator)
    n = int(generator.choice([1, 5, 64, 512, 512, 512, 512, 512]))
    is_cut = generator.random() < 0.2
    return Batch(
        rules,
        random_numbers(generator, n),
        0 if is_cut else min(n, N_SCALARS),
        information="thoughtful" if generator.random() < 0.3 else "fair",
        reward="win" if generator.random() < 0.2 else "cards",
        autoreset_mode=list(AutoresetMode)[generator.integers(3)],
        num_threads=int(generator.choice([1, 1, 1, 3])),
        copy=bool(generator.random() < 0.5),
        max_episode_steps=int(generator.integers(1, 80)) if is_cut else None,
    )
