"""The guard of the step's speed: it passes now, and would not at half the speed."""

from typing import Any

from guard import LIMIT, N_ENVS, lowest_ratio

from pyramid_env import PyramidVectorEnv


class HalfAsFast(PyramidVectorEnv):
    """Takes every step twice: its twin plays the same games."""

    def __init__(self, num_envs: int, *, copy: bool) -> None:
        super().__init__(num_envs, copy=copy)
        self.twin = PyramidVectorEnv(num_envs, copy=copy)

    def reset(self, **arguments: Any) -> Any:
        self.twin.reset(**arguments)
        return super().reset(**arguments)

    def step(self, actions: Any) -> Any:
        self.twin.step(actions)
        return super().step(actions)


def test_the_step_is_as_fast_as_it_was() -> None:
    assert lowest_ratio(PyramidVectorEnv(N_ENVS, copy=False)) <= LIMIT


def test_half_the_speed_would_be_noticed() -> None:
    assert lowest_ratio(HalfAsFast(N_ENVS, copy=False)) > LIMIT
