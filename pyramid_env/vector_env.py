"""`PyramidVectorEnv`: many games, stepped by one kernel. Glue only; see `pyramid_env.episode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from pyramid_env.actions import action_table
from pyramid_env.deals import N_NUMBERS, Deal, get_deal
from pyramid_env.engine import Position
from pyramid_env.episode import Episodes, IllegalAction, Outputs, read_options
from pyramid_env.game import Game
from pyramid_env.observation import Information, observation_space
from pyramid_env.rendering import render_image, render_text
from pyramid_env.rules import Rules, get_rules
from pyramid_env.texts import as_number, check_whole

Bools = NDArray[np.bool_]


class PyramidVectorEnv(VectorEnv[NDArray[np.int16], NDArray[np.int64], NDArray[Any]]):
    """`num_envs` games of Pyramid Solitaire side by side; the game is that of `PyramidEnv`.

    ## Arguments
    - `num_envs`, and `rules`, `information`, `illegal_action` as in `PyramidEnv`.
    - `reward`: `"cards"` or `"win"`; functions are for the scalar environment.
    - `autoreset_mode`: Gymnasium's `AutoresetMode`. NEXT_STEP (default) resets an ended game at its
      next step, whose action is ignored; SAME_STEP resets at once and gives `final_obs` and
      `final_info`; DISABLED leaves it to `reset(options={"reset_mask": ...})`.
    - `copy`: fresh arrays from every call; False hands out the same buffers every time, for
      callers that are done with them before the next step.
    - `num_threads`: threads that share the games of one step; worth it from some 512 games on.
      Each looks out for the next step for 0.2 ms before it rests.
    - `max_episode_steps`: truncate episodes after so many steps, as `TimeLimit` does; no later than
      `pyramid_env.episode.step_limit` in any case.
    - `render_mode`: `"ansi"` or `"rgb_array"`; `render()` then gives one picture a game.

    ## Reset
    `seed` fixes every following deal of every game. `options` takes `deal` (one for all games, or
    a sequence of `num_envs`, of numbers, `Deal`s or texts) and `reset_mask` (bool[num_envs]).

    ## Information
    That of `PyramidEnv` as arrays, each with its `_key` companion that says for which games it
    holds. `action_mask` is int8[num_envs, n_actions].
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 2,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules = "kawu",
        *,
        information: Information = "fair",
        reward: str = "cards",
        illegal_action: IllegalAction = "penalty",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_whole("num_envs", num_envs, 1)
        check_whole("num_threads", num_threads, 1)
        if max_episode_steps is not None:
            check_whole("max_episode_steps", max_episode_steps, 1)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"render_mode={render_mode!r} is not allowed: None, 'ansi' or 'rgb_array'"
            )
        if not isinstance(reward, str):
            raise ValueError("a reward function is for the scalar environment: 'cards' or 'win'")
        self.num_envs = num_envs
        self.rules = get_rules(rules)
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(self.rules)
        self._n_actions = len(action_table(self.rules))
        self.single_action_space = Discrete(self._n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._copy = copy
        self._episodes = Episodes(
            num_envs,
            self.rules,
            information=information,
            reward=reward,
            illegal_action=illegal_action,
            autoreset_mode=self.autoreset_mode,
            num_threads=num_threads,
            max_episode_steps=max_episode_steps,
        )
        self._buffers = self._episodes.empty_outputs()
        self._infos_of_buffers: dict[str, Any] | None = None
        self._everyone = np.ones(num_envs, dtype=np.bool_)
        self._has_begun = False
        self._is_seeded = False

    def __getstate__(self) -> dict[str, Any]:
        """Copies have buffers of their own."""
        return self.__dict__ | {"_infos_of_buffers": None}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int16], dict[str, Any]]:
        """Start all games, or those of `options["reset_mask"]`; see the class."""
        rows, deals = self._read_options(options)
        super().reset(seed=seed)
        if seed is not None or not self._is_seeded:
            keys = self.np_random.integers(0, 2**64, size=self.num_envs, dtype=np.uint64)
            self._episodes.seed(keys, rows if self._is_seeded else self._everyone)
            self._is_seeded = True
        if deals is None:
            self._episodes.deal_training(rows)
        elif isinstance(deals, np.ndarray):
            self._episodes.deal_numbers(deals, rows)
        else:
            self._episodes.deal_given(deals, rows)
        self._has_begun = True
        outputs = self._outputs()
        self._episodes.begin(rows, outputs)
        return outputs.observations, self._infos(outputs.results, outputs.action_masks, rows)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int16], NDArray[np.float64], Bools, Bools, dict[str, Any]]:
        """Play one action a game: observations, rewards, terminations, truncations, infos."""
        actions = self._read_actions(actions)
        refused = self._episodes.first_refused(actions)
        if refused >= 0:
            raise self._refusal(refused, int(actions[refused]))
        outputs = self._outputs()
        n_ended = self._episodes.step(actions, outputs)
        observations, _, results = outputs
        infos = self._step_infos(outputs)
        if n_ended > 0:
            if self.autoreset_mode == AutoresetMode.SAME_STEP:
                self._add_final(infos, results["ended"])
            else:
                infos |= {"is_success": results["is_success"], "_is_success": results["ended"]}
        flags = results["terminated"], results["truncated"]
        return observations, results["reward"], *flags, infos

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._episodes.close()

    def action_masks(self) -> NDArray[np.int8]:
        """The action masks as they stand, int8[num_envs, n_actions]."""
        self._check_begun()
        outputs = self._episodes.empty_outputs()
        self._episodes.begin(np.zeros_like(self._everyone), outputs)
        return outputs.action_masks

    def get_state(self) -> NDArray[np.uint8]:
        """Where the games and their sequences of deals stand, uint8[num_envs, bytes a game]."""
        self._check_begun()
        states = self._episodes.states
        return states.view(np.uint8).reshape(self.num_envs, -1).copy()

    def set_state(self, state: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Go on from what `get_state` gave, by an environment made alike; the observations."""
        states = self._episodes.states
        room = states.view(np.uint8).reshape(self.num_envs, -1)
        if state.shape != room.shape or state.dtype != np.uint8:
            raise ValueError(
                f"the state must be uint8{list(room.shape)}, not {state.dtype}{list(state.shape)}"
            )
        room[:] = state
        self._has_begun = self._is_seeded = True
        outputs = self._episodes.empty_outputs()
        self._episodes.begin(np.zeros_like(self._everyone), outputs)
        return outputs.observations

    @property
    def positions(self) -> NDArray[np.uint64]:
        """Where the games stand, uint64[num_envs]."""
        self._check_begun()
        return self._episodes.states["position"].copy()

    @property
    def cards(self) -> NDArray[np.uint8]:
        """The deals as uint8[num_envs, 52], hidden cards included, as `Deal.cards` has them."""
        self._check_begun()
        return self._episodes.states["cards"].copy()

    def deals(self) -> list[Deal]:
        """The deals being played."""
        self._check_begun()
        return [
            Deal(tuple(state["cards"].tolist()), int(state["deal_number"]))
            if state["has_number"]
            else Deal(tuple(state["cards"].tolist()))
            for state in self._episodes.states
        ]

    def render(self) -> tuple[Any, ...] | None:
        """One text or picture a game."""
        if self.render_mode is None:
            return None
        self._check_begun()
        draw = render_text if self.render_mode == "ansi" else render_image
        thoughtful = bool(self._episodes.settings["thoughtful"][0])
        return tuple(
            draw(Position(int(position)), deal, self.rules, thoughtful)
            for position, deal in zip(self.positions, self.deals(), strict=True)
        )

    def _outputs(self) -> Outputs:
        return self._episodes.empty_outputs() if self._copy else self._buffers

    def _step_infos(self, outputs: Outputs) -> dict[str, Any]:
        """What all games say after a step; of the same buffers it is the same arrays each time.

        To make them anew takes a fifth of the time of a step of 64 games.
        """
        if self._infos_of_buffers is not None:
            return self._infos_of_buffers.copy()
        _, masks, results = outputs
        infos = self._infos(results, masks, self._everyone)
        infos |= {
            "illegal_action": results["illegal_action"],
            "_illegal_action": results["is_step"],
        }
        if not self._copy:
            self._infos_of_buffers = infos.copy()
        return infos

    def _infos(
        self, results: NDArray[np.void], masks: NDArray[np.int8], rows: Bools
    ) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        self._add(infos, "action_mask", masks, rows)
        for key in ("pyramid_cards_removed", "passes_left"):
            self._add(infos, key, results[key], rows)
        has_number = results["has_number"]
        numbered = has_number if rows is self._everyone else rows & has_number
        return infos | {"deal_number": results["deal_number"], "_deal_number": numbered}

    def _add(self, infos: dict[str, Any], key: str, values: Any, rows: Bools) -> None:
        infos[key] = values
        infos[f"_{key}"] = rows.copy() if self._copy else rows

    def _add_final(self, infos: dict[str, Any], ended: Bools) -> None:
        """What the ended games showed last, before SAME_STEP began the next ones."""
        results = self._episodes.final_results.copy()
        final_obs = np.full(self.num_envs, None, dtype=object)
        last = self._episodes.final_observations[ended]
        final_obs[ended] = np.fromiter(last, dtype=object, count=len(last))
        all_ones = np.ones((self.num_envs, self._n_actions), dtype=np.int8)
        final_info = self._infos(results, all_ones, ended)
        for key in ("illegal_action", "is_success"):
            self._add(final_info, key, results[key], ended)
        self._add(infos, "final_obs", final_obs, ended)
        self._add(infos, "final_info", final_info, ended)

    def _read_options(
        self, options: dict[str, Any] | None
    ) -> tuple[Bools, NDArray[np.uint64] | list[Deal] | None]:
        options = read_options(options, ("deal", "reset_mask"))
        rows = self._read_reset_mask(options.get("reset_mask"))
        return rows, self._read_deals(options.get("deal"))

    def _read_reset_mask(self, mask: Any) -> Bools:
        if mask is None:
            return self._everyone
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != np.bool_
            or mask.shape != (self.num_envs,)
            or not mask.any()
        ):
            raise ValueError(
                f"reset_mask must be a bool array of shape ({self.num_envs},) with at least one"
                f" True, not {mask!r}"
            )
        if not (self._has_begun or mask.all()):
            raise ResetNeeded("the first reset must start every game: leave reset_mask out")
        return mask.copy()

    def _read_deals(self, deal: Any) -> NDArray[np.uint64] | list[Deal] | None:
        if deal is None:
            return None
        if isinstance(deal, (str, Deal)) or not np.iterable(deal):
            return [get_deal(deal)] * self.num_envs
        deals = list(deal)
        if len(deals) != self.num_envs:
            raise ValueError(f"{len(deals)} deals for {self.num_envs} games: give one a game")
        if isinstance(deal, np.ndarray) and deal.dtype == np.uint64 and deal.ndim == 1:
            return deal.copy()
        numbers = [as_number(each) for each in deals]
        if all(0 <= number < N_NUMBERS for number in numbers):
            return np.array(numbers, dtype=np.uint64)
        return [get_deal(each) for each in deals]

    def _read_actions(self, actions: NDArray[np.int64] | Sequence[int]) -> NDArray[np.int64]:
        self._check_begun()
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be integers of shape ({self.num_envs},), not {array.dtype} of shape"
                f" {array.shape}"
            )
        if array.dtype == np.int64 and array.flags.c_contiguous and array.flags.writeable:
            return array
        return array.astype(np.int64)  # numba would compile anew for another kind of array

    def _refusal(self, row: int, action: int) -> Exception:
        if not 0 <= action < self._n_actions:
            return ValueError(f"action {action} of game {row} is no id: 0 to {self._n_actions - 1}")
        if self._episodes.states[row]["is_over"]:
            return ResetNeeded(f"game {row} is over: reset it (reset_mask) before the next step")
        game = Game(self.deals()[row], self.rules, position=int(self.positions[row]))
        move = action_table(self.rules)[action]
        return ValueError(
            f"illegal action {action} of game {row}, {game.describe(move)}:"
            f" {game.why_illegal(move)}"
        )

    def _check_begun(self) -> None:
        if not self._has_begun:
            raise ResetNeeded("no game has begun: call reset() first")
