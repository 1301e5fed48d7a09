"""How fast other environments step, on one core: `python benchmarks/peers.py NAME` measures one.

Each measure gives decisions a CPU second, with the observation and, where the peer has one, the
mask of legal actions. Random (legal) actions are drawn beforehand. Resets are not counted and,
where they are calls of their own, not timed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from pyramid_env.actions import action_table
from pyramid_env.observation import observation_size, observation_space
from pyramid_env.rules import Rules

N_ENVS = 1024
N_REPEATS = 5

ONE_CORE = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""What keeps JAX to one core, next to the affinity of the process."""


def fastest(run: Callable[[], tuple[int, float]]) -> float:
    """The most steps a CPU second of `N_REPEATS` runs after one to warm up."""
    run()
    return max(n_steps / seconds for n_steps, seconds in (run() for _ in range(N_REPEATS)))


class Idle(gymnasium.Env[Any, Any]):
    """Does nothing in the spaces of ours, and so shows what its vector environment costs."""

    def __init__(self) -> None:
        self.observation_space = observation_space(Rules())
        self.action_space = gymnasium.spaces.Discrete(len(action_table(Rules())))
        self._observation = np.zeros(observation_size(Rules()), np.int16)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """The same observation as ever."""
        return self._observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The same observation as ever, no reward and no end."""
        return self._observation, 0.0, False, False, {}


def gymnasium_idle(_: str) -> float:
    env: Any = SyncVectorEnv([Idle] * N_ENVS)
    env.reset()
    actions = np.zeros(N_ENVS, np.int64)

    def run() -> tuple[int, float]:
        started = time.process_time()
        for _ in range(50):
            env.step(actions)
        return 50 * N_ENVS, time.process_time() - started

    return fastest(run)


def envpool(game: str) -> float:
    """EnvPool's own autoreset takes a step of its own, as Gymnasium's default does."""
    import envpool as library

    env = library.make_gymnasium(game, num_envs=N_ENVS, num_threads=1)
    generator = np.random.default_rng(0)
    actions = generator.integers(env.action_space.n, size=(200, N_ENVS), dtype=np.int32)
    env.reset()

    def run() -> tuple[int, float]:
        ends = []
        started = time.process_time()
        for chosen in actions:
            _, _, terminated, truncated, _ = env.step(chosen)
            ends.append((terminated, truncated))
        seconds = time.process_time() - started
        n_resets = sum(int((terminated | truncated).sum()) for terminated, truncated in ends)
        return actions.size - n_resets, seconds

    return fastest(run)


def pgx(game: str) -> float:
    """The faster of a compiled call a step, and of one for all steps (`lax.scan`).

    An ended game begins anew in the step that ends it, so no row only resets.
    """
    import jax
    import pgx as library
    from pgx.experimental.wrappers import auto_reset

    env = library.make(game)
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    keys = jax.random.split(jax.random.PRNGKey(0), (65, N_ENVS))
    start = state = jax.jit(jax.vmap(env.init))(keys[0])
    draw = jax.jit(jax.vmap(lambda key, mask: jax.random.categorical(key, jax.numpy.log(mask))))
    recorded = []
    for key in keys[1:]:
        recorded.append((draw(key, state.legal_action_mask), key))
        state = step(state, *recorded[-1])
    actions = jax.numpy.stack([action for action, _ in recorded])

    def run_one_by_one() -> tuple[int, float]:
        started = time.process_time()
        state = start
        for action, key in recorded:
            state = step(state, action, key)
        jax.block_until_ready(state)
        return actions.size, time.process_time() - started

    def steps(state: Any, actions: Any, keys: Any) -> Any:
        def body(state: Any, inputs: Any) -> Any:
            state = step(state, *inputs)
            return state, (state.observation, state.legal_action_mask, state.rewards)

        return jax.lax.scan(body, state, (actions, keys))

    all_at_once = jax.jit(steps)

    def run_at_once() -> tuple[int, float]:
        started = time.process_time()
        jax.block_until_ready(all_at_once(start, actions, keys[1:]))
        return actions.size, time.process_time() - started

    return max(fastest(run_one_by_one), fastest(run_at_once))


def open_spiel(game: str) -> float:
    """The deal and what chance turns up later are replayed, too."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    rules = pyspiel.load_game(game)
    observation = make_observation(rules)
    generator = np.random.default_rng(0)
    histories = [_open_spiel_history(rules, generator) for _ in range(20)]

    def run() -> tuple[int, float]:
        n_steps, seconds = 0, 0.0
        for history in histories:
            state = rules.new_initial_state()
            first = next(i for i, played in enumerate(history) if played.player >= 0)
            for played in history[:first]:
                state.apply_action(played.action)
            started = time.process_time()
            for played in history[first:]:
                state.apply_action(played.action)
                if not (state.is_terminal() or state.is_chance_node()):
                    observation.set_from(state, 0)
                    state.legal_actions_mask()
            seconds += time.process_time() - started
            n_steps += sum(played.player >= 0 for played in history)
        return n_steps, seconds

    return fastest(run)


def _open_spiel_history(rules: Any, generator: np.random.Generator) -> list[Any]:
    state = rules.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(generator.choice(outcomes, p=chances)))
        else:
            state.apply_action(int(generator.choice(state.legal_actions())))
    return list(state.full_history())


def rlcard(game: str) -> float:
    import rlcard as library

    env = library.make(game)
    generator = np.random.default_rng(0)
    games: list[list[int]] = []
    for seed in range(200):
        env.seed(seed)
        state, _ = env.reset()
        games.append([])
        while not env.is_over():
            games[-1].append(int(generator.choice(list(state["legal_actions"]))))
            state, _ = env.step(games[-1][-1])

    def run() -> tuple[int, float]:
        seconds = 0.0
        for seed, actions in enumerate(games):
            env.seed(seed)
            env.reset()
            started = time.process_time()
            for action in actions:
                env.step(action)
            seconds += time.process_time() - started
        return sum(map(len, games)), seconds

    return fastest(run)


@dataclass(frozen=True)
class Peer:
    """An environment of another library."""

    title: str
    package: str
    """The installed package, whose version is reported."""

    measure: Callable[[str], float]
    game: str
    has_mask: bool

    @property
    def is_installed(self) -> bool:
        """Whether its library is there."""
        return importlib.util.find_spec(self.package) is not None


PEERS: dict[str, Peer] = {
    "idle": Peer(
        "SyncVectorEnv, an environment that does nothing", "gymnasium", gymnasium_idle, "", False
    ),
    "envpool-catch": Peer("EnvPool, Catch", "envpool", envpool, "Catch-v0", False),
    "envpool-cartpole": Peer("EnvPool, CartPole", "envpool", envpool, "CartPole-v1", False),
    "pgx-tic-tac-toe": Peer("PGX, tic-tac-toe", "pgx", pgx, "tic_tac_toe", True),
    "pgx-2048": Peer("PGX, 2048", "pgx", pgx, "2048", True),
    "open-spiel-2048": Peer("OpenSpiel, 2048", "open_spiel", open_spiel, "2048", True),
    "open-spiel-klondike": Peer("OpenSpiel, Klondike", "open_spiel", open_spiel, "solitaire", True),
    "rlcard-blackjack": Peer("RLCard, blackjack", "rlcard", rlcard, "blackjack", True),
    "rlcard-leduc": Peer("RLCard, Leduc hold'em", "rlcard", rlcard, "leduc-holdem", True),
}


def steps_per_second(name: str) -> float | None:
    """Measure a peer in a process of its own, kept to one core.

    None where it is not installed or does not run; what it complains of then is printed.
    """
    if not PEERS[name].is_installed:
        return None
    command = [sys.executable, __file__, name]
    done = subprocess.run(
        command, env=os.environ | ONE_CORE, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def main() -> None:
    """Print the decisions a CPU second of the peer that the command line names."""
    names = sys.argv[1:]
    if len(names) != 1 or names[0] not in PEERS:
        print(f"peers.py {' '.join(names)}: give one of {', '.join(PEERS)}", file=sys.stderr)
        sys.exit(2)
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peer = PEERS[names[0]]
    print(peer.measure(peer.game))


if __name__ == "__main__":
    main()
