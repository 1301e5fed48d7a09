"""Episodes: what the scalar and the vector environment share.

`Episodes` holds one record of state an environment and steps them by the kernels of
`pyramid_env.stepping`; the environments are glue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.deals import Deal
from pyramid_env.engine import compile_rules
from pyramid_env.observation import Information, is_thoughtful, observation_size
from pyramid_env.rules import Rules
from pyramid_env.stepping import (
    RESULT_DTYPE,
    SETTINGS_DTYPE,
    STATE_DTYPE,
    begin,
    deal_next,
    deal_numbered,
    first_refused,
    step,
    step_one,
)
from pyramid_env.threads import StepThreads

IllegalAction = Literal["penalty", "raise"]

MIN_STEP_LIMIT = 1000


class Outputs(NamedTuple):
    """What all rows show: observations, action masks and records of `RESULT_DTYPE`."""

    observations: NDArray[np.int16]
    """int16[n, `observation_size`]."""

    action_masks: NDArray[np.int8]
    """int8[n, n_actions], 1 is legal."""

    results: NDArray[np.void]
    """`RESULT_DTYPE`[n]."""


class Result(NamedTuple):
    """A record of `RESULT_DTYPE` as Python values."""

    reward: float
    pyramid_cards_removed: int
    passes_left: int
    deal_number: int
    has_number: bool
    terminated: bool
    truncated: bool
    ended: bool
    illegal_action: bool
    is_success: bool
    is_step: bool


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
        num_threads: int = 1,
        max_episode_steps: int | None = None,
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
        self._num_threads = min(num_threads, n)
        self._threads: StepThreads | None = None
        self._result = np.zeros(1, dtype=RESULT_DTYPE)
        self._max_steps = max_episode_steps
        self.set_rules(rules)
        n_final = n if autoreset_mode == AutoresetMode.SAME_STEP else 0
        self.final_observations = np.empty((n_final, self.observation_size), dtype=np.int16)
        self.final_results = np.zeros(n_final, dtype=RESULT_DTYPE)

    def __getstate__(self) -> dict[str, Any]:
        """Threads are not pickled or copied: the next step starts some."""
        return self.__dict__ | {"_threads": None}

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
        limit = step_limit(rules)
        self.settings["step_limit"] = min(limit, self._max_steps or limit)

    def empty_outputs(self) -> Outputs:
        """Room for what all rows show."""
        n = len(self.states)
        return Outputs(
            np.empty((n, self.observation_size), dtype=np.int16),
            np.empty((n, self.n_actions), dtype=np.int8),
            np.empty(n, dtype=RESULT_DTYPE),
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

    def begin(self, rows: NDArray[np.bool_], outputs: Outputs) -> None:
        """Start the chosen rows' episodes; write what every row shows."""
        begin(self.states, rows, self.compiled_rules, self.settings, *outputs)

    def first_refused(self, actions: NDArray[np.int64]) -> int:
        """The first row that refuses its action (so that nothing may be stepped), or -1."""
        return int(first_refused(self.states, actions, self.compiled_rules, self.settings))

    def step(self, actions: NDArray[np.int64], outputs: Outputs) -> int:
        """Step every row, none of which may refuse its action; how many episodes ended.

        `outputs` are written for all rows. Under SAME_STEP they show the next episode of a row that
        ended, and `final_observations` and `final_results` the end of the last.
        """
        arguments = (
            self.states,
            actions,
            self.compiled_rules,
            self.settings,
            *outputs,
            self.final_observations,
            self.final_results,
        )
        if self._num_threads == 1:
            return int(step(0, len(self.states), *arguments))
        if self._threads is None or not self._threads.are_of_this_process:
            self._threads = StepThreads(len(self.states), self._num_threads)
        try:
            return self._threads.step(*arguments)
        except BaseException:  # Ctrl-C, with others still at work
            self.close()
            raise

    def step_one(self, action: int) -> tuple[NDArray[np.int16], NDArray[np.int8], Result]:
        """Step the only row, which may not refuse its action: observation, mask and result."""
        observation = np.empty(self.observation_size, dtype=np.int16)
        mask = np.empty(self.n_actions, dtype=np.int8)
        fields = step_one(
            self.states, action, self.compiled_rules, self.settings, observation, mask, self._result
        )
        return observation, mask, Result(*fields)

    def close(self) -> None:
        """End the threads, if there are any; the next step starts them anew."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None
            self._threads = None
