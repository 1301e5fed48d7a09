"""The switch that turns one planted fault on: read at run time, in compiled code too.

So all faults are compiled once, and trying one takes no compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

_CELL = np.full(1, -1, np.int64)


def turn_on(mutant: int) -> None:
    """Turn one fault on, and the others off; -1 turns all off."""
    _CELL[0] = mutant


def is_on(mutant: int) -> bool:
    """Whether this fault is the one turned on."""
    return bool(_CELL[0] == mutant)


@intrinsic
def _read(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pointer = builder.inttoptr(ir.Constant(word, _CELL.ctypes.data), word.as_pointer())
        return builder.load(pointer)

    return types.int64(), generate


@overload(is_on, strict=False)
def _compiled(mutant):  # type: ignore[no-untyped-def]
    return lambda mutant: _read() == mutant
