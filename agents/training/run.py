"""What all ways of training share: a folder for the run, and what is kept in it."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal, TypeVar

import torch
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from agents.learned import LearnedAgent, Weights, read_policy, write_policy
from agents.network import PolicyConfig
from agents.playing import play_deals
from agents.results import CURVE_COLUMNS, CURVE_FILE, read_curve
from agents.training.network import PolicyNet, check_fits
from agents.versions import package_versions
from pyramid_env.deals import FIRST_HELD_OUT_NUMBER
from pyramid_env.files import PART, reading, reason_of, write_bytes, write_text
from pyramid_env.observation import Information
from pyramid_env.rules import get_rules
from pyramid_env.solver.judge import MOST_NODES
from pyramid_env.workers import check_folder, locked

CONFIG_FILE = "config.json"
CHECKPOINT_FILE = "checkpoint.pt"
LOCK_FILE = "run.lock"

_Range = tuple[Callable[[float], bool], str]

_COUNT: _Range = (lambda value: value >= 1, "1 or more")
_FRACTION: _Range = (lambda value: 0 <= value <= 1, "0 to 1")
_SHARE: _Range = (lambda value: 0 < value <= 1, "above 0, at most 1")
_WEIGHT: _Range = (lambda value: 0 <= value < math.inf, "0 or more")
_NODES: _Range = (lambda value: 1 <= value <= MOST_NODES, f"1 to {MOST_NODES}")
_COUNTS = (
    *("width", "layers", "eval_deals", "threads", "steps", "envs", "states", "games"),
    *("rollout", "batch", "epochs", "eval_every"),
)
_RANGES: dict[str, _Range] = {
    **dict.fromkeys(_COUNTS, _COUNT),
    "seed": (lambda value: 0 <= value < 2**32, "0 to 2**32 - 1"),
    "node_limit": _NODES,
    "learning_rate": _FRACTION,
    "worth_of_others": _SHARE,
    "gamma": _SHARE,
    "gae_lambda": _FRACTION,
    "smoothing": _FRACTION,
    "entropy": _WEIGHT,
    "sharpness": _WEIGHT,
}
"""What numbers the arguments may be, in whatever way of training has them."""

Config = TypeVar("Config", bound="RunConfig")


@dataclass(frozen=True)
class RunConfig:
    """The arguments that all ways of training have."""

    out: Path = Path("runs/mine")
    """Folder to write to: policies, configuration, checkpoints, learning curve."""

    rules: str = "kawu"
    """Preset to train on."""

    resume: bool = False
    """Go on with the run in the folder, under its own configuration but for its length."""

    start_from: Path | None = None
    """Policy file whose weights the policy starts with; it may have fewer layers."""

    seed: int = 0
    """Seed of the deals, the weights and the sampling."""

    width: int = 64
    """Numbers in a token of the network."""

    layers: int = 8
    """Blocks of the network."""

    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Numbers of the matrix products; bfloat16 is faster where the processor knows it."""

    eval_deals: int = 1000
    """Held-out deals that an evaluation plays."""

    device: str = "auto"
    """Torch device: auto, cpu or cuda."""

    threads: int = 1
    """Threads that torch and the solver may use."""


@contextmanager
def open_run(config: Config, lengthened_by: str) -> Iterator[Config]:
    """The run's folder, kept to us: with its configuration written, or read when resuming.

    The field `lengthened_by` says how long the run is, and may be another when resuming. Raises
    `ValueError`, before anything is changed, for an argument out of its range, and when the folder
    holds something and `resume` is not set, holds no run of this kind to resume, or one that is
    under way.
    """
    _check(config)
    path = config.out / CONFIG_FILE
    if config.resume:
        if not path.is_file():
            raise ValueError(f"nothing to resume: {path} does not exist")
    else:
        check_folder(config.out, CONFIG_FILE, LOCK_FILE, "training run")
        config.out.mkdir(parents=True, exist_ok=True)
    with locked(config.out / LOCK_FILE, "training run"):
        if config.resume:
            config = _resumed(config, path, lengthened_by)
        elif path.exists():
            raise ValueError(f"{config.out} holds a run: --resume it or choose another --out")
        for left_by_a_kill in config.out.rglob("*" + PART):
            left_by_a_kill.unlink()
        if not config.resume:
            fields, versions = dataclasses.asdict(config), package_versions()
            run = {"kind": type(config).__name__, "config": fields, "versions": versions}
            write_text(path, json.dumps(run, indent=2, default=str) + "\n")
        yield config


def _check(config: RunConfig) -> None:
    get_rules(config.rules)
    for name, (is_allowed, allowed) in _RANGES.items():
        if hasattr(config, name) and not is_allowed(getattr(config, name)):
            raise ValueError(f"{name}={getattr(config, name)} is not allowed: {allowed}")
    policy = policy_config(config)
    find_device(config.device)
    if config.start_from is not None:
        check_fits(read_policy(config.start_from)[0], policy)


def _resumed(config: Config, path: Path, lengthened_by: str) -> Config:
    """The configuration of the run in a folder, of the length asked for."""
    kind = type(config).__name__
    with reading(path, "is not that of a training run"):
        run = json.loads(path.read_text(encoding="utf-8"))
        found, fields = run["kind"], run["config"]
        if found == kind:
            start = None if (config.out / CHECKPOINT_FILE).exists() else fields["start_from"]
            kept = {
                "out": config.out,
                "resume": True,
                "start_from": start and Path(start),
                lengthened_by: getattr(config, lengthened_by),
            }
            return type(config)(**{**fields, **kept})
    raise ValueError(f"{config.out} holds a run of {found}, not of {kind}")


def check_longer(done: int, length: int, unit: str) -> None:
    """Raise `ValueError` where a resumed run has nothing left to do."""
    if done >= length:
        raise ValueError(f"the run has done {done} {unit} already: ask for more than that")


def next_evaluation(done: int, every: int) -> int:
    """When to evaluate next: where a run is resumed makes no difference."""
    return (done // every + 1) * every


def policy_config(config: RunConfig, information: Information = "fair") -> PolicyConfig:
    """The network that a run trains."""
    return PolicyConfig(
        get_rules(config.rules), config.width, config.layers, information=information
    )


def find_device(name: str) -> torch.device:
    """The torch device of an argument; ``auto`` is a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={name!r} is not there: {error}") from None


def start_from(net: PolicyNet, path: Path | None) -> None:
    """Give the network the weights of a policy file, if one is named."""
    if path is not None:
        net.take(*read_policy(path))


def progress_bars() -> Progress:
    """Bars for the terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn())


class Keeper:
    """Evaluates on held-out deals; keeps the learning curve, the last policy and the best."""

    def __init__(self, out: Path, eval_deals: int, progress: Progress) -> None:
        self.out = out
        self.progress = progress
        self.curve = out / CURVE_FILE
        self._deals = range(FIRST_HELD_OUT_NUMBER, FIRST_HELD_OUT_NUMBER + eval_deals)

    def keep(self, done: int, unit: str, policy: PolicyConfig, weights: Weights) -> None:
        """Let the policy play, add a line to the curve, and write it; `done` counts `unit`."""
        games, _ = play_deals(LearnedAgent(policy, weights), self._deals, policy.rules)
        win_rate = sum(game.won for game in games) / len(games)
        mean_cards = sum(game.cards for game in games) / len(games)
        self.progress.console.print(
            f"{done:,} {unit}: {win_rate:.1%} of {len(games)} held-out deals won,"
            f" {mean_cards:.2f} cards removed"
        )
        rows = self._rows_before(done)
        best_before = max((row[1:] for row in rows), default=[-1.0, -1.0])
        lines = [f"{int(row[0])},{row[1]:.4f},{row[2]:.3f}" for row in rows]
        lines.append(f"{done},{win_rate:.4f},{mean_cards:.3f}")
        write_text(self.curve, "\n".join([",".join(CURVE_COLUMNS), *lines]) + "\n")
        write_policy(self.out / "policy.safetensors", policy, weights)
        if [win_rate, mean_cards] > best_before:
            write_policy(self.out / "best.safetensors", policy, weights)

    def _rows_before(self, done: int) -> list[list[float]]:
        """The curve so far; what came after the checkpoint that a run was resumed from goes."""
        rows = read_curve(self.curve).tolist() if self.curve.exists() else []
        return [row for row in rows if row[0] < done]


def save_checkpoint(state: dict[str, Any], out: Path) -> None:
    """Write what a run can be resumed from: tensors, numbers and texts only, no pickled code."""
    content = io.BytesIO()  # torch's own error for a full disk has no reason
    torch.save(state, content)
    write_bytes(out / CHECKPOINT_FILE, content.getbuffer())


def load_checkpoint(out: Path, device: torch.device, names: set[str]) -> dict[str, Any] | None:
    """The state with these names that a run has saved; None where it was stopped before that.

    Raises `ValueError` for a file that is damaged or of another version.
    """
    path = out / CHECKPOINT_FILE
    if not path.is_file():
        return None
    with reading(path, "is damaged"):
        try:
            state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        except (RuntimeError, EOFError, UnpicklingError) as error:
            raise ValueError(reason_of(error)) from None
    if not isinstance(state, dict) or not names <= state.keys():
        raise ValueError(f"{path} is of another version: it needs {', '.join(sorted(names))}")
    return state
