"""Many entries at a time: the compiled instructions do what their Python versions say."""

from typing import Any

import numpy as np
import pytest

from pyramid_env import simd
from pyramid_env.jit import kernel

BYTES = np.arange(1, 41, dtype=np.uint8)


@kernel
def loaded(source: Any, at: Any) -> Any:
    return simd.load_8(source, at)


@kernel
def widened(target: Any, source: Any, at: Any, chosen: Any, other: Any) -> None:
    simd.widen_8(target, np.uint64(2), source, at, chosen, other)


@kernel
def widened_backwards(target: Any, source: Any, at: Any) -> None:
    simd.widen_8_backwards(target, np.uint64(2), source, at)


@kernel
def counted(target: Any, words: Any, at: Any, chosen: Any) -> None:
    simd.count_8(target, np.uint64(2), words, at, chosen)


@kernel
def filled(target: Any, value: Any) -> None:
    simd.fill_32(target, np.uint64(2), np.int8(value))


@pytest.mark.parametrize("at", [0, 1, 13, 32])
def test_eight_bytes_are_loaded_from_anywhere(at: int) -> None:
    expected = sum(int(byte) << 8 * i for i, byte in enumerate(BYTES[at : at + 8]))
    for source in (BYTES, BYTES.reshape(8, 5)):
        assert int(loaded(source, np.uint64(at))) == expected
        assert int(simd.load_8(source, np.uint64(at))) == expected


@pytest.mark.parametrize("other", [0, 77])
@pytest.mark.parametrize("chosen", [0, 1, 0b10110010, 255, 256 + 128])
def test_chosen_bytes_are_widened_and_nothing_else_is_written(chosen: int, other: int) -> None:
    expected = [BYTES[3 + i] if chosen >> i & 1 else other for i in range(8)]
    for run in (widened, lambda target, *rest: simd.widen_8(target, np.uint64(2), *rest)):
        target = np.full(12, -7, np.int16)
        run(target, BYTES, np.uint64(3), np.uint64(chosen), np.uint64(other))
        assert target.tolist() == [-7, -7, *expected, -7, -7]


def test_bytes_are_widened_backwards_from_before_a_place() -> None:
    for run in (
        widened_backwards,
        lambda target, *rest: simd.widen_8_backwards(target, np.uint64(2), *rest),
    ):
        target = np.full(12, -7, np.int16)
        run(target, BYTES, np.uint64(20))
        assert target.tolist() == [-7, -7, *range(20, 12, -1), -7, -7]


@pytest.mark.parametrize("chosen", [0, 1, 2**64 - 1, 0xF0F0_0000_0000_0001])
def test_bits_are_counted_in_eight_words(chosen: int) -> None:
    words = np.array([(3**i * 0x9E3779B97F4A7C15) % 2**64 for i in range(11)], np.uint64)
    expected = [bin(int(word) & chosen).count("1") for word in words[3:]]
    for run in (counted, lambda target, *rest: simd.count_8(target, np.uint64(2), *rest)):
        target = np.full(12, -7, np.int16)
        run(target, words, np.uint64(3), np.uint64(chosen))
        assert target.tolist() == [-7, -7, *expected, -7, -7]


def test_a_run_is_filled_and_nothing_else_is_written() -> None:
    for run in (filled, lambda target, value: simd.fill_32(target, np.uint64(2), value)):
        target = np.full(36, -7, np.int8)
        run(target, 5)
        assert target.tolist() == [-7, -7, *[5] * 32, -7, -7]
