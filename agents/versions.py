"""The versions that a run's results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "pyramid-env",
    "gymnasium",
    "numba",
    "numpy",
    "sb3-contrib",
    "stable-baselines3",
    "torch",
)


def package_versions() -> dict[str, str]:
    """Python's version and those of the packages that matter, as installed."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions
