"""Episodes: what the scalar and the vector environment share.

Rewards, ends, the answer to illegal actions and autoreset are stated here, once, as kernels over
one record of state an environment. `Episodes` holds the records; the environments are glue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.cards import N_CARDS, N_RANKS
from pyramid_env.deals import Deal, shuffle, training_number
from pyramid_env.engine import (
    MAX_LEGAL,
    apply,
    compile_rules,
    find_rank_bits,
    goal_cards_removed,
    is_won,
    legal_actions,
    passes_left,
    pyramid_cards_removed,
    start_position,
)
from pyramid_env.jit import kernel
from pyramid_env.observation import Information, encode, is_thoughtful, observation_size
from pyramid_env.rules import Rules

IllegalAction = Literal["penalty", "raise"]

ILLEGAL_REWARD = -1.0
MIN_STEP_LIMIT = 1000

STATE_DTYPE = np.dtype(
    [
        ("position", np.uint64),
        ("key", np.uint64),  # with the episode's index it fixes the deal
        ("n_episodes", np.uint64),  # episodes begun
        ("deal_number", np.uint64),
        ("has_number", np.bool_),  # a deal given by its cards has none
        ("is_over", np.bool_),  # the episode has ended
        ("n_steps", np.int64),
        ("n_legal", np.int64),
        ("legal", np.int16, (MAX_LEGAL,)),
        ("rank_bits", np.uint64, (N_RANKS + 1,)),
        ("cards", np.uint8, (N_CARDS,)),
    ],
    align=True,
)
"""One environment: all that its next step needs lies side by side."""

RESULT_DTYPE = np.dtype(
    [
        ("reward", np.float64),
        ("pyramid_cards_removed", np.int64),
        ("passes_left", np.int64),
        ("deal_number", np.uint64),
        ("has_number", np.bool_),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("illegal_action", np.bool_),
        ("is_success", np.bool_),
    ],
    align=True,
)
"""What one step says besides the observation and the action mask; one `Result`."""


class Result(NamedTuple):
    """A record of `RESULT_DTYPE` as Python values."""

    reward: float
    pyramid_cards_removed: int
    passes_left: int
    deal_number: int
    has_number: bool
    terminated: bool
    truncated: bool
    illegal_action: bool
    is_success: bool


SETTINGS_DTYPE = np.dtype(
    [
        ("step_limit", np.int64),
        ("thoughtful", np.bool_),
        ("reward_is_win", np.bool_),
        ("raise_illegal", np.bool_),
        ("next_step", np.bool_),  # autoreset modes; neither: disabled
        ("same_step", np.bool_),
    ],
    align=True,
)


def step_limit(rules: Rules) -> int:
    """Steps after which an episode is truncated, illegal actions counted.

    At least 1,000, and no less than the longest legal game where passes are limited.
    """
    return max(MIN_STEP_LIMIT, rules.longest_game or 0)


def read_options(options: dict[str, Any] | None, known: Sequence[str]) -> dict[str, Any]:
    """The options of a reset, none of them unknown; `ValueError` otherwise."""
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"options={options!r} is no dict: {' and '.join(known)} are known")
    for name in options:
        if name not in known:
            raise ValueError(f"unknown reset option {name!r}: {' and '.join(known)} are known")
    return options


class Episodes:
    """`n` games side by side, stepped by one kernel call."""

    def __init__(
        self,
        n: int,
        rules: Rules,
        *,
        information: Information = "fair",
        reward: str = "cards",
        illegal_action: IllegalAction = "penalty",
        autoreset_mode: AutoresetMode = AutoresetMode.DISABLED,
    ) -> None:
        if reward not in ("cards", "win"):
            raise ValueError(f"reward={reward!r} is not allowed: 'cards' or 'win'")
        if illegal_action not in ("penalty", "raise"):
            raise ValueError(
                f"illegal_action={illegal_action!r} is not allowed: 'penalty' or 'raise'"
            )
        self.settings = np.zeros(1, dtype=SETTINGS_DTYPE)
        self.settings["thoughtful"] = is_thoughtful(information)
        self.settings["reward_is_win"] = reward == "win"
        self.settings["raise_illegal"] = illegal_action == "raise"
        self.settings["next_step"] = autoreset_mode == AutoresetMode.NEXT_STEP
        self.settings["same_step"] = autoreset_mode == AutoresetMode.SAME_STEP
        self.states = np.zeros(n, dtype=STATE_DTYPE)
        self.results = np.zeros(n, dtype=RESULT_DTYPE)
        self.n_final = n if autoreset_mode == AutoresetMode.SAME_STEP else 0
        self.final_results = np.zeros(self.n_final, dtype=RESULT_DTYPE)
        self.set_rules(rules)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take on a pickled or copied state, with the shared record of the rules.

        A copy of that record would be writable: another type to numba, which would compile anew.
        """
        self.__dict__.update(state)
        self.compiled_rules = compile_rules(self.rules)

    def set_rules(self, rules: Rules) -> None:
        """Play by these rules from the next reset on."""
        self.rules = rules
        self.compiled_rules = compile_rules(rules)
        self.observation_size = observation_size(rules)
        self.n_actions = len(action_table(rules))
        self.settings["step_limit"] = step_limit(rules)

    def empty_outputs(self, n: int) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
        """Room for observations (int16[n, size]) and action masks (int8[n, n_actions])."""
        return (
            np.empty((n, self.observation_size), dtype=np.int16),
            np.empty((n, self.n_actions), dtype=np.int8),
        )

    def seed(self, keys: NDArray[np.uint64], rows: NDArray[np.bool_]) -> None:
        """Start the chosen rows' sequences of training deals anew, one key a row."""
        self.states["key"][rows] = keys[rows]
        self.states["n_episodes"][rows] = 0

    def deal_training(self, rows: NDArray[np.bool_]) -> None:
        """Give the chosen rows the next deals of their sequences."""
        deal_next(self.states, rows)

    def deal_numbers(self, numbers: NDArray[np.uint64], rows: NDArray[np.bool_]) -> None:
        """Give the chosen rows numbered deals, one number a row."""
        self.states["n_episodes"][rows] += np.uint64(1)
        deal_numbered(self.states, numbers, rows)

    def deal_given(self, deals: Sequence[Deal], rows: NDArray[np.bool_]) -> None:
        """Give the chosen rows these deals, one a row."""
        self.states["n_episodes"][rows] += np.uint64(1)
        cards = np.array([deal.cards for deal in deals], dtype=np.uint8)
        self.states["cards"][rows] = cards[rows]
        numbers = np.array([deal.number or 0 for deal in deals], dtype=np.uint64)
        self.states["deal_number"][rows] = numbers[rows]
        self.states["has_number"][rows] = np.array([deal.number is not None for deal in deals])[
            rows
        ]

    def begin(
        self, rows: NDArray[np.bool_], observations: NDArray[np.int16], masks: NDArray[np.int8]
    ) -> None:
        """Start the chosen rows' episodes; write what every row shows."""
        begin(
            self.states, rows, self.compiled_rules, self.settings, observations, masks, self.results
        )

    def step(
        self,
        actions: NDArray[np.int64],
        observations: NDArray[np.int16],
        masks: NDArray[np.int8],
        final_observations: NDArray[np.int16],
    ) -> int:
        """Step every row; the first row whose action is refused (and nothing done), or -1.

        `observations` and `masks` are written for all rows, `final_observations` (SAME_STEP only)
        for those whose episode ended.
        """
        refused = step(
            self.states,
            actions,
            self.compiled_rules,
            self.settings,
            observations,
            masks,
            self.results,
            final_observations,
            self.final_results,
        )
        return int(refused)


@kernel
def deal_next(states: Any, rows: Any) -> None:
    """Shuffle the next training deal of each chosen row."""
    for i in range(states.shape[0]):
        if rows[i]:
            _deal_next(states[i])


@kernel
def _deal_next(state: Any) -> None:
    _deal_number(state, training_number(state["key"], state["n_episodes"]))
    state["n_episodes"] += np.uint64(1)


@kernel
def deal_numbered(states: Any, numbers: Any, rows: Any) -> None:
    """Shuffle the deal of its number for each chosen row."""
    for i in range(states.shape[0]):
        if rows[i]:
            _deal_number(states[i], numbers[i])


@kernel
def _deal_number(state: Any, number: Any) -> None:
    state["deal_number"] = number
    state["has_number"] = True
    shuffle(number, state["cards"])


@kernel
def begin(
    states: Any, rows: Any, rules: Any, settings: Any, observations: Any, masks: Any, results: Any
) -> None:
    """Set the chosen rows to the start of their deals; write the outputs of all rows."""
    for i in range(states.shape[0]):
        if rows[i]:
            _begin(states[i], rules[0])
            results[i]["reward"] = 0.0
            results[i]["terminated"] = results[i]["truncated"] = False
            results[i]["illegal_action"] = False
        _show(states[i], rules[0], settings[0], observations[i], masks[i], results[i])


@kernel
def _begin(state: Any, rules: Any) -> None:
    find_rank_bits(state["cards"], state["rank_bits"])
    state["position"] = start_position()
    state["n_legal"] = legal_actions(state["position"], state["rank_bits"], rules, state["legal"])
    state["n_steps"] = 0
    state["is_over"] = False


@kernel
def step(
    states: Any,
    actions: Any,
    rules: Any,
    settings: Any,
    observations: Any,
    masks: Any,
    results: Any,
    final_observations: Any,
    final_results: Any,
) -> Any:
    """Step all rows, unless an action is out of range or refused: then return its row.

    Returns -1 when all were stepped. A NEXT_STEP row that is over begins anew, whatever its action.
    """
    for i in range(states.shape[0]):
        if _is_refused(states[i], actions[i], rules[0], settings[0]):
            return i
    for i in range(states.shape[0]):
        state, result = states[i], results[i]
        if state["is_over"] and settings[0]["next_step"]:
            _deal_next(state)
            _begin(state, rules[0])
            result["reward"] = 0.0
            result["terminated"] = result["truncated"] = result["illegal_action"] = False
        else:
            _advance(state, actions[i], rules[0], settings[0], result)
        _show(state, rules[0], settings[0], observations[i], masks[i], result)
        if state["is_over"] and settings[0]["same_step"]:
            final_observations[i] = observations[i]
            final_results[i] = result
            _deal_next(state)
            _begin(state, rules[0])
            _show(state, rules[0], settings[0], observations[i], masks[i], result)
    return -1


@kernel
def _is_refused(state: Any, action: Any, rules: Any, settings: Any) -> Any:
    if state["is_over"]:
        return not settings["next_step"]
    if action < 0 or action >= rules["n_actions"]:
        return True
    return settings["raise_illegal"] and state["n_legal"] > 0 and not _is_legal(state, action)


@kernel
def _is_legal(state: Any, action: Any) -> Any:
    for i in range(state["n_legal"]):
        if state["legal"][np.uint64(i)] == action:
            return True
    return False


@kernel
def _advance(state: Any, action: Any, rules: Any, settings: Any, result: Any) -> None:
    """Play an action: position, reward and end.

    With unlimited passes a game can be lost from the start: then any action just ends it.
    """
    before = state["position"]
    result["reward"] = 0.0
    result["illegal_action"] = False
    if state["n_legal"] > 0:
        if _is_legal(state, action):
            after = apply(before, action, rules)
            state["position"] = after
            state["n_legal"] = legal_actions(after, state["rank_bits"], rules, state["legal"])
            if settings["reward_is_win"]:
                result["reward"] = 1.0 if is_won(after, rules) else 0.0
            else:
                gain = goal_cards_removed(after, rules) - goal_cards_removed(before, rules)
                result["reward"] = np.float64(gain)
        else:
            result["illegal_action"] = True
            result["reward"] = ILLEGAL_REWARD
    state["n_steps"] += 1
    result["terminated"] = state["n_legal"] == 0
    result["truncated"] = not result["terminated"] and state["n_steps"] >= settings["step_limit"]
    state["is_over"] = result["terminated"] or result["truncated"]


@kernel
def _show(state: Any, rules: Any, settings: Any, observation: Any, mask: Any, result: Any) -> None:
    """Write the observation, the action mask and the figures of a state.

    The mask is all ones when no action means anything, so that nobody ever meets an empty one.
    """
    position = state["position"]
    encode(position, state["cards"], state["rank_bits"], rules, settings["thoughtful"], observation)
    if state["is_over"] or state["n_legal"] == 0:
        mask[:] = 1
    else:
        mask[:] = 0
        for i in range(state["n_legal"]):
            mask[np.uint64(state["legal"][np.uint64(i)])] = 1
    result["pyramid_cards_removed"] = pyramid_cards_removed(position)
    result["passes_left"] = passes_left(position, rules)
    result["deal_number"] = state["deal_number"]
    result["has_number"] = state["has_number"]
    result["is_success"] = is_won(position, rules)
