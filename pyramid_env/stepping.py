"""Episodes as kernels: rewards, ends, the answer to illegal actions and autoreset, stated once.

Each environment is one record of state; `step` plays one action in each. `pyramid_env.episode`
holds the records.

Speed: here arrays are handed on whole, with an index, and never as a view of a row. A view counts
references, one atomic instruction at each end, in a loop that takes 60 ns a row. Small kernels are
compiled into their callers (`inline_kernel`), which saved a quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_env.cards import N_CARDS, N_RANKS
from pyramid_env.deals import shuffle, training_number
from pyramid_env.engine import (
    ALL_CARDS,
    MAX_LEGAL,
    apply,
    find_rank_bits,
    is_won,
    legal_actions,
    passes_left,
    pyramid_cards_removed,
    start_position,
)
from pyramid_env.jit import inline_kernel, kernel, popcount
from pyramid_env.observation import LAYOUT_DTYPE, encode, lay_out, lift_cards
from pyramid_env.simd import fill_32

ILLEGAL_REWARD = -1.0

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
        ("rank_bits", np.uint64, (N_RANKS + 1,)),
        ("layout", LAYOUT_DTYPE),
        ("legal", np.int16, (MAX_LEGAL,)),
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
        ("ended", np.bool_),  # terminated or truncated
        ("illegal_action", np.bool_),
        ("is_success", np.bool_),
        ("is_step", np.bool_),  # False where an episode has just begun
    ],
    align=True,
)
"""What one step says besides the observation and the action mask; one `Result`."""

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


@kernel
def deal_next(states: Any, rows: Any) -> None:
    """Shuffle the next training deal of each chosen row."""
    for i in range(states.shape[0]):
        if rows[i]:
            _deal_next(states[i])


@inline_kernel
def _deal_next(state: Any) -> None:
    _deal_number(state, training_number(state["key"], state["n_episodes"]))
    state["n_episodes"] += np.uint64(1)


@kernel
def deal_numbered(states: Any, numbers: Any, rows: Any) -> None:
    """Shuffle the deal of its number for each chosen row."""
    for i in range(states.shape[0]):
        if rows[i]:
            _deal_number(states[i], numbers[i])


@inline_kernel
def _deal_number(state: Any, number: Any) -> None:
    state["deal_number"] = number
    state["has_number"] = True
    shuffle(number, state["cards"])


@kernel
def begin(
    states: Any, rows: Any, rules: Any, settings: Any, observations: Any, masks: Any, results: Any
) -> None:
    """Set the chosen rows to the start of their deals; write the outputs of all rows."""
    size, all_observations, all_masks = _flat(observations, masks)
    for row in range(states.shape[0]):
        i = np.uint64(row)
        if rows[i]:
            _begin(states[i], rules[0])
            _clear(results[i])
        _show(i, size, states[i], rules[0], settings[0], all_observations, all_masks, results[i])


@inline_kernel
def _flat(observations: Any, masks: Any) -> Any:
    """The size of an observation, and all numbers of all rows as one array each."""
    return observations.shape[1], observations.reshape(-1), masks.reshape(-1)


@inline_kernel
def _begin(state: Any, rules: Any) -> None:
    find_rank_bits(state["cards"], state["rank_bits"])
    state["position"] = start_position()
    lay_out(state["position"], state["cards"], rules, state["layout"])
    state["n_legal"] = legal_actions(state["position"], state["rank_bits"], rules, state["legal"])
    state["n_steps"] = 0
    state["is_over"] = False


@kernel
def _begin_next(state: Any, rules: Any) -> None:
    """Begin the next training deal."""
    _deal_next(state)
    _begin(state, rules)


@inline_kernel
def _clear(result: Any) -> None:
    """No step led to what the result shows."""
    result["reward"] = 0.0
    result["terminated"] = result["truncated"] = result["ended"] = False
    result["illegal_action"] = result["is_step"] = False


@kernel
def first_refused(states: Any, actions: Any, rules: Any, settings: Any) -> Any:
    """The first row whose action is out of range, or refused as `settings` say; -1 for none.

    Under NEXT_STEP a row that is over begins anew, whatever its action.
    """
    n_out_of_range = 0
    for i in range(actions.shape[0]):
        n_out_of_range += int(np.uint64(actions[i]) >= np.uint64(rules[0]["n_actions"]))
    autoreset = settings[0]["next_step"] or settings[0]["same_step"]
    if autoreset and n_out_of_range == 0 and not settings[0]["raise_illegal"]:
        return -1  # without a look at the states
    for i in range(states.shape[0]):
        if _is_refused(states[i], actions[i], rules[0], settings[0]):
            return i
    return -1


@inline_kernel
def _is_refused(state: Any, action: Any, rules: Any, settings: Any) -> Any:
    if state["is_over"]:
        return not settings["next_step"]
    if action < 0 or action >= rules["n_actions"]:
        return True
    return settings["raise_illegal"] and state["n_legal"] > 0 and not _is_legal(state, action)


@inline_kernel
def _is_legal(state: Any, action: Any) -> Any:
    for i in range(state["n_legal"]):
        if state["legal"][np.uint64(i)] == action:
            return True
    return False


@kernel
def step(
    first: int,
    end: int,
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
    """Step the rows from `first` to before `end` and return how many episodes ended.

    No row may refuse its action: a row that is over begins anew, which is NEXT_STEP.
    """
    size, all_observations, all_masks = _flat(observations, masks)
    n_ended = 0
    for row in range(first, end):
        i = np.uint64(row)
        state, result = states[i], results[i]
        if state["is_over"]:
            _clear(result)
            _begin_next(state, rules[0])
        else:
            _advance(state, actions[i], rules[0], settings[0], result)
            n_ended += state["is_over"]
        _show(i, size, state, rules[0], settings[0], all_observations, all_masks, result)
    if settings[0]["same_step"] and n_ended > 0:
        for row in range(first, end):
            i = np.uint64(row)
            state, result = states[i], results[i]
            if state["is_over"]:
                for at in range(size):
                    final_observations[i, at] = observations[i, at]
                final_results[i] = result
                result["illegal_action"] = result["is_step"] = False
                _begin_next(state, rules[0])
                _show(i, size, state, rules[0], settings[0], all_observations, all_masks, result)
    return n_ended


@kernel
def step_one(
    states: Any, action: Any, rules: Any, settings: Any, observation: Any, mask: Any, results: Any
) -> Any:
    """Step the one row that there is, which may not refuse; the fields of its result.

    The scalar environment's step: handing over fewer arrays halves the time of a call.
    """
    state, result = states[0], results[0]
    _advance(state, action, rules[0], settings[0], result)
    row = np.uint64(0)
    _show(row, observation.shape[0], state, rules[0], settings[0], observation, mask, result)
    return (
        result["reward"],
        result["pyramid_cards_removed"],
        result["passes_left"],
        result["deal_number"],
        result["has_number"],
        result["terminated"],
        result["truncated"],
        result["ended"],
        result["illegal_action"],
        result["is_success"],
        result["is_step"],
    )


@inline_kernel
def _advance(state: Any, action: Any, rules: Any, settings: Any, result: Any) -> None:
    """Play an action: position, reward and end.

    With unlimited passes a game can be lost from the start: then any action just ends it.
    """
    before = state["position"]
    reward = 0.0
    is_illegal = False
    if state["n_legal"] > 0:
        if _is_legal(state, action):
            after = apply(before, action, rules)
            removed = before & ~after & ALL_CARDS
            state["position"] = after
            lift_cards(removed, before, rules, state["layout"])
            state["n_legal"] = legal_actions(after, state["rank_bits"], rules, state["legal"])
            if settings["reward_is_win"]:
                reward = 1.0 if is_won(after, rules) else 0.0
            else:
                reward = np.float64(popcount(removed & rules["goal"]))
        else:
            is_illegal = True
            reward = ILLEGAL_REWARD
    state["n_steps"] += 1
    terminated = state["n_legal"] == 0
    truncated = not terminated and state["n_steps"] >= settings["step_limit"]
    state["is_over"] = terminated or truncated
    result["reward"] = reward
    result["terminated"] = terminated
    result["truncated"] = truncated
    result["ended"] = terminated or truncated
    result["illegal_action"] = is_illegal
    result["is_step"] = True


@inline_kernel
def _show(
    row: Any,
    size: int,
    state: Any,
    rules: Any,
    settings: Any,
    observations: Any,
    masks: Any,
    result: Any,
) -> None:
    """Write the observation, the action mask and the figures of a state to a row.

    The mask is all ones when no action means anything, so that nobody ever meets an empty one.
    """
    position = state["position"]
    encode(
        position,
        state["layout"],
        state["rank_bits"],
        rules,
        settings["thoughtful"],
        observations,
        row * np.uint64(size),
    )
    n_actions = np.uint64(rules["n_actions"])
    start = row * n_actions
    means_nothing = state["is_over"] or state["n_legal"] == 0
    last_run = start + n_actions - np.uint64(32)
    for at in range(start, last_run, 32):
        fill_32(masks, np.uint64(at), np.int8(means_nothing))
    fill_32(masks, last_run, np.int8(means_nothing))
    if not means_nothing:
        for i in range(state["n_legal"]):
            masks[start + np.uint64(state["legal"][np.uint64(i)])] = 1
    result["pyramid_cards_removed"] = pyramid_cards_removed(position)
    result["passes_left"] = passes_left(position, rules)
    result["deal_number"] = state["deal_number"]
    result["has_number"] = state["has_number"]
    result["is_success"] = is_won(position, rules)
