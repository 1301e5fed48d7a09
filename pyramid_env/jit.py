"""How kernels are compiled and cached, and the bit operations they are written with.

A kernel is a Python function that numba compiles: `kernel` is the one decorator for all of them.
Machine code is cached on disk. Numba's own cache looks at the one file that holds a function, and
keeps code that was inlined from another; two processes that compile at once can exchange each
other's code in it; and before it loads anything it sets up all that a compiler needs, for half a
second. Here each piece of code is a file of its own, and its name is a digest of all that the code
depends on: a file is right or it is not there.

Positions are unsigned 64-bit integers, and in numba an unsigned meeting a signed one turns into a
float or a signed integer. So kernels name their constants `np.uint64`, and index with unsigned
integers, which also spares the check for negative indices.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import pickle
import re
import stat
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types.misc import unliteral
from numba.extending import intrinsic, lower_cast, overload

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGES = Path(__file__).parents[1]
"""The folder that holds this package."""

_PACKAGE = Path(__file__).parent.name

_UNUSED_SECONDS = 30 * 24 * 3600
"""Machine code that nobody has loaded for so long is of sources that are gone."""

_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n;]*)", re.MULTILINE
)
"""An import: the module in front, if there is one, and the names. It may find too many."""

_notices: list[str] = []
"""What is still to be said when something has to be compiled."""


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
        source = _read(file)
        digest.update(b"%s %d " % (os.fsencode(os.path.relpath(file, _PACKAGES)), len(source)))
        digest.update(source)
    return digest.hexdigest()


@cache
def _read(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported_files(path: Path) -> frozenset[Path]:
    """The files of this package, and of its own, that a file imports.

    Parsing it would take ten times as long. A file too many costs a compilation that was not
    needed, one too few could hide a change. Where packages are installed, others lie beside this
    one: numpy and numba import hundreds of files, and the kernels of none.
    """
    packages = {_PACKAGE, Path(os.path.relpath(path, _PACKAGES)).parts[0]}
    code = re.sub(rb"#.*", b"", _read(path)).replace(b"\\\n", b" ")
    modules: set[str] = set()
    for home, names in _IMPORT.findall(code):
        found = [name.decode() for name in re.findall(rb"[\w.]+", names)]
        modules.update(
            [home.decode(), *(f"{home.decode()}.{name}" for name in found)] if home else found
        )
    parts = [module.split(".") for module in modules]
    stems = [_PACKAGES.joinpath(*names) for names in parts if names[0] in packages]
    files = {file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")}
    return frozenset(file for file in files if file.is_file())


class _KernelCache(NullCache):  # type: ignore[misc]
    """The machine code of one kernel, a file for each signature and kind of machine."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__name__}"
        # Taken now, not when the code is saved: by then the file may say something else.
        sources = source_digest(Path(function.__code__.co_filename))
        self._identity = (
            sources,
            function.__qualname__,
            function.__code__.co_firstlineno,
            sys.implementation.cache_tag,
            numba.__version__,
        )

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None.

        Only the runtime's symbols are set up: the compiler needs more, and sees to it itself.
        """
        file = self._file(sig, target_context.codegen())
        content = b""
        with suppress(OSError):
            content = file.read_bytes()
            os.utime(file)
        digest, data = content[:32], content[32:]
        # A file can be cut short where a disk is full or a machine fails.
        if digest == hashlib.sha256(data).digest():
            rtsys.initialize(target_context)
            result = CompileResult._rebuild(target_context, *pickle.loads(data))
            if result.signature.args == normalize_signature(sig)[0]:
                return result
        if _notices:
            print(_notices.pop(), file=sys.stderr, flush=True)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save code; where that is not possible, the next process compiles again."""
        if data.library.has_dynamic_globals:
            warnings.warn(f"{self._name} holds an address, so it is not cached", stacklevel=2)
            return
        content = dumps(data._reduce())
        file = self._file(sig, data.codegen)
        draft = file.with_suffix(f".{uuid.uuid4().hex}")
        with suppress(OSError):
            try:
                draft.write_bytes(hashlib.sha256(content).digest() + content)
                draft.replace(file)
            finally:
                draft.unlink(missing_ok=True)
            self._drop_unused()

    def _file(self, sig: Any, codegen: Any) -> Path:
        key = repr((*self._identity, sig, codegen.magic_tuple()))
        return cache_folder() / f"{self._name}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.code"

    def _drop_unused(self) -> None:
        """Remove this kernel's files of old; loading one makes it young."""
        for file in cache_folder().glob(f"{self._name}.*"):
            if file.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                file.unlink()


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept.

    ``NUMBA_CACHE_DIR`` where set, else the user's cache folder, else one in the temporary folder,
    unless others can write to that.
    """
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = Path(numba.config.CACHE_DIR or home / "pyramid-env")
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError):  # a user without a home is the second
        user = getattr(os, "getuid", getpass.getuser)()
        folder = Path(tempfile.gettempdir()) / f"pyramid-env-{user}"
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours_alone(folder):
            folder = Path(os.devnull)  # holds no file: kernels are not kept
    return folder


def _is_ours_alone(folder: Path) -> bool:
    """Whether nobody else can put files into a folder: what is kept in it is run."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True  # Windows has a temporary folder for each user
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not others_write


def announce_compiling() -> None:
    """For scripts: say once, if stderr is a terminal, when there are kernels to be compiled."""
    if sys.stderr.isatty():
        _notices[:] = ["compiling the game's kernels for this machine, once: about half a minute"]


def kernel(function: F) -> F:
    """Compile a function with numba: cached on disk, and without the interpreter lock."""
    return _compiled(function, forceinline=False)


def inline_kernel(function: F) -> F:
    """Like `kernel`, but compiled into each caller.

    For what is called once a position in a search, or once a game in a step: passing its arrays
    would take as long as its work.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, forceinline: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline)(function)
    dispatcher._cache = _KernelCache(function)
    template_of = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: template_of(
        [_plain(type_) for type_ in args], {name: _plain(type_) for name, type_ in kws.items()}
    )
    return dispatcher  # type: ignore[no-any-return]


def _plain(given: Any) -> Any:
    """The type as which a kernel hands an argument to another.

    Numba would compile the called kernel anew for a constant, a small integer, and an array in a
    record of each length; what depends on the caller, inlining sees in any case.
    """
    plain: Any = unliteral(given)
    if isinstance(plain, types.NestedArray):
        return types.Array(plain.dtype, plain.ndim, "C", readonly=not plain.mutable)
    return types.int64 if plain in types.signed_domain else plain


@lower_cast(types.NestedArray, types.Array)  # type: ignore[untyped-decorator]
def _array_in_record_to_array(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    """The two are represented alike; numba itself has no reason to turn one into the other."""
    return value


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
