"""`PyramidEnv`: the game as a `gymnasium.Env`. Glue only; see `pyramid_env.episode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.deals import Deal, get_deal, random_training_number
from pyramid_env.engine import Position
from pyramid_env.episode import Episodes, IllegalAction, Outputs, Result, read_options
from pyramid_env.game import Game
from pyramid_env.observation import Information, observation_space
from pyramid_env.rendering import Window, render_image, render_text
from pyramid_env.rules import Rules, get_rules

RewardFunction = Callable[[Position, Position, Rules], float]
"""From the positions before and after a legal move, and the rules, to the reward."""

Reward = Literal["cards", "win"] | RewardFunction

_ALL_ROWS = np.ones(1, dtype=np.bool_)


class PyramidEnv(gymnasium.Env[NDArray[np.int16], np.int64]):
    """Pyramid Solitaire, one game at a time.

    ## Description
    28 cards lie face up in a pyramid of seven rows, 24 more are the stock. Remove exposed cards
    in pairs that sum to 13 (jack 11, queen 12; a king, 13, goes alone). The stock is drawn to the
    waste card by card, and the tops of both can be played too. With the default rules there are
    three passes through the stock, and the game is won when the pyramid is gone.

    ## Action Space
    `Discrete(285)` under the default rules: one id for every pair and king that could ever be
    removed, then draw and recycle; `pyramid_env.actions` has the table. `info["action_mask"]` and
    `action_masks()` say which are legal now.

    ## Observation Space
    `MultiDiscrete`, int16, 90 numbers under the default rules: ranks of the pyramid, the reserve,
    the waste and the stock (14 is face down), passes left, and how many cards of each rank are
    face down. `pyramid_env.observation` names the slices.

    ## Starting State
    A deal drawn from the training numbers (2^32 and above) by the environment's generator, or the
    one given by `reset(options={"deal": ...})`.

    ## Rewards
    - `"cards"` (default): cards removed that the goal counts; the return is the score.
    - `"win"`: 1 for the move that wins, else 0.
    - a function of the positions before and after and the rules.

    An illegal action costs -1 and changes nothing (`illegal_action="penalty"`).

    ## Episode End
    Terminated when the game is won or lost. Truncated after `pyramid_env.episode.step_limit` steps
    (1,000 for every preset), which only illegal actions or endless turning can reach.

    ## Information
    At every reset and step: `action_mask` (int8[n_actions], all ones once the episode is over),
    `pyramid_cards_removed`, `passes_left` (after the current one; -1 unlimited), `deal_number`
    (uint64; missing for a deal given by its cards). After a step also `illegal_action`, and at
    the end `is_success`.

    ## Arguments
    - `rules`: a preset's name or `Rules`.
    - `information`: `"fair"`, or `"thoughtful"` to see the whole stock.
    - `reward`: see Rewards.
    - `render_mode`: `"ansi"`, `"rgb_array"` or `"human"`.
    - `illegal_action`: `"penalty"`, or `"raise"` for a `ValueError` with the reason.

    `reset(options=...)` takes `deal` (a number, a `Deal` or its text) and `rules` (for this one
    episode, with the same places); `reset(seed=...)` makes all following deals reproducible.

    ## References
    The rules follow kawu's Pyramid and a Swedish rule page; see `docs/rules.md`.

    ## Version History
    - v0: first version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Rules = "kawu",
        *,
        information: Information = "fair",
        reward: Reward = "cards",
        render_mode: str | None = None,
        illegal_action: IllegalAction = "penalty",
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"render_mode={render_mode!r} is not allowed: None or one of"
                f" {', '.join(self.metadata['render_modes'])}"
            )
        self.rules = get_rules(rules)
        self.render_mode = render_mode
        self._reward_function = reward if callable(reward) else None
        self._episodes = Episodes(
            1,
            self.rules,
            information=information,
            reward="cards" if callable(reward) else reward,
            illegal_action=illegal_action,
        )
        self._raises = illegal_action == "raise"
        self._thoughtful = bool(self._episodes.settings["thoughtful"][0])
        self._mask = np.empty(0, dtype=np.int8)
        self._has_begun = False
        self._is_over = True
        self._window: Window | None = None
        self._n_actions = len(action_table(self.rules))
        self.action_space = Discrete(self._n_actions)
        self.observation_space = observation_space(self.rules)  # type: ignore[assignment]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int16], dict[str, Any]]:
        """Start an episode; see the class for `options`."""
        deal, rules = self._read_options(options)
        super().reset(seed=seed)
        number = random_training_number(self.np_random)  # drawn even where a deal is given
        self._episodes.set_rules(rules)
        if deal is None:
            self._episodes.deal_numbers(np.array([number], dtype=np.uint64), _ALL_ROWS)
        else:
            self._episodes.deal_given([deal], _ALL_ROWS)
        outputs = self._episodes.empty_outputs()
        self._episodes.begin(_ALL_ROWS, outputs)
        self._mask = outputs.action_masks[0]
        self._has_begun = True
        self._is_over = False
        if self.render_mode == "human":
            self.render()
        return outputs.observations[0], self._info(_result(outputs))

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.int16], float, bool, bool, dict[str, Any]]:
        """Play one action; `ValueError` for one that is no id (or is illegal, if so chosen)."""
        if self._is_over:
            raise ResetNeeded("no episode is running: call reset() before the next step")
        checked = self._read_action(action)
        before = self.position if self._reward_function else Position(0)
        observation, self._mask, result = self._episodes.step_one(checked)
        self._is_over = result.terminated or result.truncated
        info = self._info(result)
        info["illegal_action"] = result.illegal_action
        if self._is_over:
            info["is_success"] = result.is_success
        reward = result.reward
        if self._reward_function and before != self.position:
            reward = float(self._reward_function(before, self.position, self._episodes.rules))
        if self.render_mode == "human":
            self.render()
        return observation, reward, result.terminated, result.truncated, info

    def action_masks(self) -> NDArray[np.int8]:
        """The action mask as it stands, int8[n_actions]: the hook of sb3-contrib."""
        self._check_begun()
        return self._mask.copy()

    @property
    def position(self) -> Position:
        """Where the game stands, as one unsigned 64-bit integer."""
        self._check_begun()
        return Position(int(self._episodes.states[0]["position"]))

    @property
    def deal(self) -> Deal:
        """The deal being played."""
        self._check_begun()
        state = self._episodes.states[0]
        number = int(state["deal_number"]) if state["has_number"] else None
        return Deal(tuple(state["cards"].tolist()), number=number)

    def render(self) -> Any:
        """A text (`ansi`), a picture uint8[height, width, 3] (`rgb_array`), or a window."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode")
            return None
        shown = (self.position, self.deal, self._episodes.rules, self._thoughtful)
        if self.render_mode == "ansi":
            return render_text(*shown)
        image = render_image(*shown)
        if self.render_mode == "rgb_array":
            return image
        if self._window is None:
            self._window = Window()
        self._window.show(image, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _info(self, result: Result) -> dict[str, Any]:
        info: dict[str, Any] = {
            "action_mask": self.action_masks(),
            "pyramid_cards_removed": result.pyramid_cards_removed,
            "passes_left": result.passes_left,
        }
        if result.has_number:
            info["deal_number"] = np.uint64(result.deal_number)  # int64 holds not all of them
        return info

    def _check_begun(self) -> None:
        if not self._has_begun:
            raise ResetNeeded("no episode has begun: call reset() first")

    def _read_options(self, options: dict[str, Any] | None) -> tuple[Deal | None, Rules]:
        options = read_options(options, ("deal", "rules"))
        rules = get_rules(options.get("rules", self.rules))
        if action_table(rules) is not action_table(self.rules):
            raise ValueError(
                f"{rules} has other places than {self.rules}, so other spaces: make an"
                " environment of these rules"
            )
        deal = options.get("deal")
        return (None if deal is None else get_deal(deal)), rules

    def _read_action(self, action: Any) -> int:
        is_integer = type(action) is int or isinstance(action, np.integer)
        if not is_integer:  # an array without dimensions is one too
            array = np.asarray(action)
            is_integer = array.ndim == 0 and array.dtype.kind in "iu"
        if not is_integer:
            raise ValueError(f"action {action!r} is no integer: 0 to {self._n_actions - 1}")
        number = int(action)
        is_id = 0 <= number < self._n_actions
        if not is_id or (self._raises and self._episodes.first_refused(np.array([number])) >= 0):
            raise ValueError(self._why_refused(number))
        return number

    def _why_refused(self, action: int) -> str:
        move = action_table(self._episodes.rules)[action]  # raises for an id out of range
        game = Game(self.deal, self._episodes.rules, position=self.position)
        return f"illegal action {action}, {game.describe(move)}: {game.why_illegal(move)}"


def _result(outputs: Outputs) -> Result:
    return Result(*outputs.results[0].item())
