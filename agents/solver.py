"""The exact solver as a player: it must see the whole stock, and loses nothing that can be won."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.agent import ActionMasks, Actions, Agent, Observations
from pyramid_env.actions import Move, action_table
from pyramid_env.game import Game
from pyramid_env.observation import observe, position_from_observation
from pyramid_env.rules import Rules, get_rules
from pyramid_env.solver import solve


class SolverAgent(Agent):
    """Plays a line that wins, or else one that removes the most pyramid cards.

    The line is found when a game is first seen; its later positions are then looked up by what
    they show. After a line that does not win it plays on with the first legal action.
    """

    privileged = True

    def __init__(self, rules: str | Rules = "kawu") -> None:
        self.name = "solver"
        self._rules = get_rules(rules)
        self._plan: dict[bytes, int] = {}

    def act_batch(self, observations: Observations, action_masks: ActionMasks) -> Actions:
        """The next action of each row's line; the observations must be thoughtful."""
        return np.array(
            [self._act(row, mask) for row, mask in zip(observations, action_masks, strict=True)],
            dtype=np.int64,
        )

    def _act(self, observation: NDArray[np.int16], mask: NDArray[np.int8]) -> int:
        key = observation.tobytes()
        if key not in self._plan:
            self._make_plan(observation)
        # Each entry is used once, so the plan stays as small as the games under way.
        return self._plan.pop(key, int(mask.argmax()))

    def _make_plan(self, observation: NDArray[np.int16]) -> None:
        position, deal = position_from_observation(observation, self._rules)
        game = Game(deal, self._rules, position=position)
        table = action_table(self._rules)
        for move in best_line(game):
            shown = observe(game.position, deal, self._rules, "thoughtful")
            self._plan[shown.tobytes()] = table.action(move)
            game.play(move)


def best_line(game: Game) -> tuple[Move, ...]:
    """A line that wins, where there is one, or else one that removes the most pyramid cards."""
    if game.rules.goal == "all":
        winning = solve(game, "win")
        if winning.value:
            return winning.moves
    return solve(game, "cards").moves
