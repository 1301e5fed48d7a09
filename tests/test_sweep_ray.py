"""Sweeps on Ray: a local instance, started and stopped by the sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyramid_env.solver.sweep import sweep

ray = pytest.importorskip("ray")


def test_ray_writes_the_same_files(tmp_path: Path) -> None:
    sweep(tmp_path / "loky", "kawu", deals=range(45), chunk=10, jobs=1)
    sweep(tmp_path / "ray", "kawu", deals=range(45), chunk=10, jobs=2, backend="ray")
    assert not ray.is_initialized()
    for path in (tmp_path / "loky").iterdir():
        assert (tmp_path / "ray" / path.name).read_bytes() == path.read_bytes()
    assert len(list((tmp_path / "ray").iterdir())) == len(list((tmp_path / "loky").iterdir()))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:70000"])
def test_a_cluster_that_is_not_there_is_named_before_anything_is_written(
    address: str, tmp_path: Path
) -> None:
    with pytest.raises(ConnectionError, match=f"no Ray cluster answers at {address}"):
        sweep(tmp_path / "new", deals=range(5), backend="ray", ray_address=address)
    assert not (tmp_path / "new").exists()
