"""Compiled kernels answer what the Python answers that they are written in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_record import record

from pyramid_env.rules import PRESETS

PROGRAM = Path(__file__).with_name("kernel_record.py")


@pytest.mark.parametrize("preset", PRESETS)
def test_kernels_answer_the_same_whether_compiled_or_not(preset: str) -> None:
    plain = subprocess.run(
        [sys.executable, PROGRAM, preset],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PROGRAM.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(plain.stdout) == record(preset)
