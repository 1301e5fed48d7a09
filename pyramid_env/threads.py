"""Threads that share the rows of a step, and look out for the next one before they rest.

To wake a thread takes some 0.1 ms, as long as two steps of 1,024 games. So a thread that is done
looks for the next step for a while, and goes back to its pool when none comes. All waiting is in
kernels, which do not hold the interpreter's lock, and what is waited for is said in them, too: so
no thread ever sleeps because another holds the lock for a moment::

    the caller    .... announce | its rows | look until all are done ........ announce | ....
    another       .. look ......... lock | its rows | say so, look for the next ........ lock ..
"""

from __future__ import annotations

import os
import platform
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from operator import is_
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from pyramid_env.jit import kernel
from pyramid_env.simd import pointer_to
from pyramid_env.stepping import step

_LOOKS = 4000
"""How often a thread looks before it rests: about 0.2 ms, where it can pause between two looks."""

_LINE = 8
"""Words from one turn to the next: two threads that wrote to one cache line would slow down."""

_HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64")
"""Whether there is the instruction that leaves a core to its other thread for a moment."""


class StepThreads:
    """Steps `n_rows` games by at most as many threads, of which the caller is one.

    The turns are counted. `_turn` and what goes with it are under the lock. `_turns` says it again
    for those who look: the caller's line holds the turn and since which one the arrays are the
    same, the line of each other the last turn that it has done and how many episodes ended in it.
    """

    def __init__(self, n_rows: int, n_threads: int) -> None:
        bounds = np.linspace(0, n_rows, n_threads + 1).astype(int).tolist()
        self._shares = list(pairwise(bounds))
        self._turns = np.zeros((n_threads, _LINE), np.int64)
        self._lock = Lock()
        self._turn = self._since = 0
        self._arrays: tuple[Any, ...] = ()
        self._actions = np.empty(n_rows, np.int64)
        self._up: dict[int, Future[None]] = {}
        self._pool = ThreadPoolExecutor(n_threads - 1, "pyramid_env")
        self._process = os.getpid()

    @property
    def are_of_this_process(self) -> bool:
        """Whether they can be waited for: a process that has been forked has none of them."""
        return self._process == os.getpid()

    def step(self, states: Any, actions: NDArray[np.int64], *others: Any) -> int:
        """Step all rows, by the arguments of `stepping.step` after its rows; how many ended."""
        self._actions[:] = actions  # one array less that is another each time
        arrays = (states, self._actions, *others)
        with self._lock:
            self._turn += 1
            if not all(map(is_, arrays, self._arrays)) or self._turn == 1:
                self._arrays, self._since = arrays, self._turn
            for other in range(1, len(self._shares)):
                if other not in self._up:
                    self._up[other] = self._pool.submit(self._serve, other)
        turn = self._turn, self._since
        n_ended, n_others_ended = _lead(self._turns, *turn, *self._shares[0], *arrays)
        while n_others_ended < 0:
            for future in [*self._up.values()]:
                if future.done():
                    future.result()  # raises what has ended the thread, if anything has
            n_others_ended = _when_done(self._turns, self._turn)
        return int(n_ended + n_others_ended)

    def _serve(self, other: int) -> None:
        """Step a share of the rows, turn by turn, until none comes for a while."""
        share = self._shares[other]
        while True:
            with self._lock:
                turn, since, arrays = self._turn, self._since, self._arrays
            done = _follow(self._turns, other, turn, since, *share, *arrays)
            with self._lock:
                if self._turn == done:
                    del self._up[other]
                    return

    def close(self) -> None:
        """End the threads, when they are done with their rows."""
        self._pool.shutdown()


@kernel
def _lead(turns: Any, turn: int, since: int, first: int, end: int, *arrays: Any) -> Any:
    """Announce a turn, step the caller's rows, wait; how many ended, and how many of the others."""
    turns[0, 1] = since
    _say(turns, 0, turn)
    n_ended = step(first, end, *arrays)
    return n_ended, _when_done(turns, turn)


@kernel
def _when_done(turns: Any, turn: int) -> Any:
    """How many episodes of the others' rows ended in a turn; -1 where they are not done soon."""
    looks = 0
    n_ended = np.int64(0)
    for other in range(1, turns.shape[0]):
        while _look(turns, other) != turn:
            looks += 1
            if looks == _LOOKS:
                return np.int64(-1)
        n_ended += turns[other, 1]
    return n_ended


@kernel
def _follow(
    turns: Any, other: int, turn: int, since: int, first: int, end: int, *arrays: Any
) -> Any:
    """Step rows, turn by turn, until none comes for a while or the arrays are others; the last."""
    while True:
        turns[other, 1] = step(first, end, *arrays)
        _say(turns, other, turn)
        looks = 0
        while _look(turns, 0) <= turn:  # a turn can be begun before it is announced
            looks += 1
            if looks == _LOOKS:
                return turn
        if turns[0, 1] != since:
            return turn
        turn += 1


def _say(turns: Any, line: Any, turn: Any) -> None:
    """Write a turn, after all that was written before."""
    turns[line, 0] = turn


def _look(turns: Any, line: Any) -> Any:
    """Pause, then read a turn, before all that is read later."""
    return turns[line, 0]


def _turn_of(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    at = builder.mul(args[1], args[1].type(_LINE))
    return pointer_to(context, builder, signature.args[0], args[0], at)


def _emit_say(typing_context: Any, turns: Any, line: Any, turn: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _turn_of(context, builder, signature, args)
        builder.store_atomic(args[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(turns, types.int64, types.int64), generate


def _emit_look(typing_context: Any, turns: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _HAS_PAUSE:
            kind = ir.FunctionType(ir.VoidType(), [])
            pause = get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause")
            builder.call(pause, [])
        return builder.load_atomic(_turn_of(context, builder, signature, args), "acquire", 8)

    return types.int64(turns, types.int64), generate


_emitted_say: Any = intrinsic(_emit_say)
_emitted_look: Any = intrinsic(_emit_look)

overload(_say, strict=False)(
    lambda turns, line, turn: lambda turns, line, turn: _emitted_say(turns, line, turn)
)
overload(_look, strict=False)(lambda turns, line: lambda turns, line: _emitted_look(turns, line))
