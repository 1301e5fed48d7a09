"""How kernels are compiled and cached, and the bit operations they are written with.

A kernel is a Python function that numba compiles: `kernel` is the one decorator for all of them.
Machine code is cached on disk. Numba on its own would look at the one file that holds a function,
and keep code that was inlined from another file; here every cached kernel is stamped with a digest
of its file and all files that it imports, so stale machine code is never run.

Positions are unsigned 64-bit integers, and in numba an unsigned meeting a signed one turns into a
float or a signed integer. So kernels name their constants `np.uint64`, and index with unsigned
integers, which also spares the check for negative indices.
"""

from __future__ import annotations

import ast
import getpass
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator
from numba.extending import intrinsic, overload

F = TypeVar("F", bound=Callable[..., Any])


@cache
def source_digest(path: Path) -> str:
    """SHA-256 over a source file and all files of ours that it imports, directly or not."""
    found = {path}
    to_read = [path]
    while to_read:
        for imported in _imported_files(to_read.pop()) - found:
            found.add(imported)
            to_read.append(imported)
    digest = hashlib.sha256()
    for file in sorted(found):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _imported_files(path: Path) -> frozenset[Path]:
    """The files beside this package that a file imports."""
    modules: set[str] = set()
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    root = Path(__file__).parents[1]
    stems = [root.joinpath(*module.split(".")) for module in modules]
    files = {file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")}
    return frozenset(file for file in files if file.is_file())


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements under a node; `ast.walk` would also go through every expression."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            yield child
            yield from _statements(child)


class _KernelCacheLocator(UserWideCacheLocator):  # type: ignore[misc]
    """Cache files outside the (maybe read-only) install, stamped with all sources."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._source = Path(py_file)
        self._cache_path = str(cache_folder() / self.get_suitable_cache_subpath(py_file))

    def get_source_stamp(self) -> tuple[str, Any]:
        return source_digest(self._source), super().get_source_stamp()


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """Files named by their sources: those of older ones are not even opened.

    They may hold types that no longer exist, or be read while they are being replaced.
    """

    _locator_classes = (_KernelCacheLocator,)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        digest = self.locator.get_source_stamp()[0]
        return f"{super().get_filename_base(fullname, abiflags)}.{digest[:16]}"


class _KernelCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept.

    ``NUMBA_CACHE_DIR`` where set, else the user's cache folder, else the temporary folder.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(numba.config.CACHE_DIR or home / "pyramid-env")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"pyramid-env-{getpass.getuser()}"
    return folder


def kernel(function: F) -> F:
    """Compile a function with numba: cached on disk, and without the interpreter lock."""
    return _compiled(function, forceinline=False)


def inline_kernel(function: F) -> F:
    """Like `kernel`, but compiled into each caller.

    For what is called once a position in a search: passing its arrays would take as long as its
    work.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, forceinline: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline)(function)
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher  # type: ignore[no-any-return]


def popcount(bits: Any) -> Any:
    """Number of set bits, as uint64."""
    return np.uint64(int(bits).bit_count())


def lowest(bits: Any) -> Any:
    """Index of the lowest set bit, as uint64; 64 when no bit is set."""
    return np.uint64((int(bits) & -int(bits)).bit_length() - 1) if bits else np.uint64(64)


def highest(bits: Any) -> Any:
    """Index of the highest set bit, as uint64; `bits` must not be 0."""
    return np.uint64(int(bits).bit_length() - 1)


def _compile_as(function: Callable[[Any], Any], emit: Callable[[Any, Any, Any], Any]) -> None:
    """In compiled code, replace a function of uint64 by what `emit(builder, bits, false)` emits."""

    def type_and_generate(typing_context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit(builder, args[0], context.get_constant(types.boolean, False))

        return types.uint64(types.uint64), generate

    instruction = intrinsic(type_and_generate)
    overload(function, strict=False)(lambda bits: lambda bits: instruction(bits))


_compile_as(popcount, lambda builder, bits, false: builder.ctpop(bits))
_compile_as(lowest, lambda builder, bits, false: builder.cttz(bits, false))
_compile_as(
    highest,
    lambda builder, bits, false: builder.sub(bits.type(63), builder.ctlz(bits, false)),
)
