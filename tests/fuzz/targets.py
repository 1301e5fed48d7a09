"""What reads outside data, each reader as a function of bytes, with inputs that are in order.

A bad input has to be a `ValueError` of one line that is not too long and names the file.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from agents import learned, results
from agents.network import PolicyConfig
from agents.results import Entry
from pyramid_env.__main__ import main
from pyramid_env.actions import Move
from pyramid_env.cards import parse_card
from pyramid_env.commands.arguments import add_rules, rules_of
from pyramid_env.commands.deal_lists import deals_of_words, read_deals
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.play.saves import Saves
from pyramid_env.play.session import Session
from pyramid_env.replay.results import find_game
from pyramid_env.rules import Rules
from pyramid_env.solver import Solution, Status, sweep_files

LONGEST_MESSAGE = 1000


@dataclass(frozen=True)
class Target:
    """A reader under test."""

    read: Callable[[bytes], Any]
    """Reads the bytes; raises anything but a proper complaint where there is a fault."""

    seeds: Callable[[], Sequence[bytes]]
    """Inputs that are in order, to begin with."""


def complains(read: Callable[[], Any], name: str = "") -> None:
    """Call a reader: it returns, or says in one line what is wrong with which file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Kernels that are not compiled say so; compiled ones count modulo 2^64, as they should.
        warnings.filterwarnings("ignore", "overflow encountered in scalar")
        try:
            read()
        except ValueError as error:
            check_message(str(error), name)


def check_message(message: str, name: str) -> None:
    """Whether an error's text is one line, not too long, and has the name of the file."""
    assert message, "it says nothing"
    assert len(message.splitlines()) == 1, f"several lines: {message!r}"
    assert len(message) <= LONGEST_MESSAGE, f"{len(message)} characters: {message[:200]!r}..."
    assert name in message, f"{name} is not named: {message!r}"


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@cache
def folder() -> Path:
    """A folder of this process; it goes when the process ends."""
    _folders.append(tempfile.TemporaryDirectory())
    return Path(_folders[-1].name)


_folders: list[tempfile.TemporaryDirectory[str]] = []


def file_with(data: bytes, name: str) -> Path:
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# Texts


def read_deal_text(data: bytes) -> None:
    complains(lambda: Deal.parse(text_of(data)))


def read_move_text(data: bytes) -> None:
    complains(lambda: Move.parse(text_of(data)))
    complains(lambda: _game().find_move(text_of(data)))
    complains(lambda: parse_card(text_of(data)))


@cache
def _game() -> Game:
    return Game.replay("kawu", 7, ["draw"] * 3)


def read_rules_words(data: bytes) -> None:
    """The words of a command line: rules, and deals."""
    words = text_of(data).split()
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_rules(parser)
    with redirect_stderr(io.StringIO()):
        try:
            known, rest = parser.parse_known_args(words)
        except (argparse.ArgumentError, SystemExit):
            return
    complains(lambda: rules_of(known))
    complains(lambda: deals_of_words(rest))


def run_command(data: bytes) -> None:
    """A command line: it works, or says in one line why not, with exit code 2."""
    words = text_of(data).split()
    if words[:1] != ["solve"] or "-o" in " ".join(words):
        words = ["solve", *words]
    errors = io.StringIO()
    with redirect_stderr(errors), redirect_stdout(io.StringIO()):
        try:
            code = main([*words, "--node-limit", "10"])
        except SystemExit as stop:
            code = int(stop.code or 0)
    assert code in (0, 2), code
    if code == 2:
        check_message(errors.getvalue().strip(), "pyramid_env")


# Files


def read_deal_file(data: bytes) -> None:
    path = file_with(data, "deals.txt")
    complains(lambda: read_deals(str(path)), path.name)


def read_saved_game(data: bytes) -> None:
    path = file_with(data, "saves/games/a.json")
    complains(lambda: Saves(folder() / "saves").last(), path.name)
    for aside in path.parent.glob("*.damaged*"):
        aside.unlink()


def read_daily_scores(data: bytes) -> None:
    path = file_with(data, "saves/daily.json")
    complains(lambda: Saves(folder() / "saves")._best_scores(), path.name)
    for aside in path.parent.glob("*.damaged*"):
        aside.unlink()


@cache
def evaluation() -> Path:
    """A finished evaluation of three deals by one agent."""
    home = folder() / "evaluation"
    settings = results.Settings("kawu", Rules(), range(3), batch=2, chunk=2)
    home.mkdir()
    results.write_settings(home, settings, [Entry("greedy", "greedy", "0", privileged=False)])
    optima, games = results.optima_table(home), results.games_table(home, "greedy")
    rows = [(deal, 1, 3, "", 0.5, "", "draw draw G1+G7") for deal in range(3)]
    for deals in settings.chunks:
        optima.write(deals, [(deal, 1, 28) for deal in deals])
        games.write(deals, [rows[deal] for deal in deals])
    optima.finish(settings.chunks)
    games.finish(settings.chunks)
    (home / "curves").mkdir()
    (home / "curves" / "greedy.csv").write_text("steps,win_rate,mean_cards\n1,0.5,20\n")
    return home


def damaged_evaluation(name: str) -> Target:
    """The readers of an evaluation, one of whose files is replaced."""

    def read(data: bytes) -> None:
        path = evaluation() / name
        kept = path.read_bytes()
        path.write_bytes(data)
        try:
            complains(lambda: results.read_results(evaluation()), str(evaluation()))
            complains(lambda: find_game(evaluation(), 1), str(evaluation()))
        finally:
            path.write_bytes(kept)

    return Target(read, lambda: [(evaluation() / name).read_bytes()])


@cache
def sweep(file_format: sweep_files.FileFormat) -> Path:
    """A finished sweep of three deals."""
    home = folder() / f"sweep-{file_format}"
    home.mkdir()
    settings = sweep_files.Settings(Rules(), "cards", range(3), 2, 1000, file_format)
    solution = Solution("cards", Status.PROVED, 20, 20, 20, (), 5, 0.1)
    sweep_files.write_settings(home, settings)
    for deals in settings.chunks:
        answers = sweep_files.Answers.of(deals, [solution] * len(deals))
        sweep_files.write_chunk(home, settings, answers)
    return home


def damaged_sweep(file_format: sweep_files.FileFormat, name: str) -> Target:
    """The reader of a sweep, one of whose files is replaced."""

    def read(data: bytes) -> None:
        home = sweep(file_format)
        path = home / name
        kept = path.read_bytes()
        path.write_bytes(data)
        try:
            complains(lambda: sweep_files.read_sweep(home), str(home))
        finally:
            path.write_bytes(kept)

    return Target(read, lambda: [(sweep(file_format) / name).read_bytes()])


@cache
def policy() -> bytes:
    """A small policy file."""
    config = PolicyConfig(Rules(), width=1, layers=1, heads=1)
    path = folder() / "small.safetensors"
    learned.write_policy(path, config, {n: np.zeros(s) for n, s in config.shapes().items()})
    return path.read_bytes()


def read_policy_file(data: bytes) -> None:
    path = file_with(data, "policy.safetensors")
    complains(lambda: learned.read_policy(path), path.name)


def read_policy_config(data: bytes) -> None:
    """The text in a policy file that says what it is for."""
    text = data.decode("utf-8", "replace")
    tensors = {"norm": np.zeros(4, np.float16)}
    read_policy_file(save(tensors, metadata={"policy": text}))


POLICY_CONFIG = (
    b'{"format": "pyramid-env policy 3", "rules": {"goal": "pyramid", "passes": 3, "draw": 1,'
    b' "stock_playable": true, "covered_pairs": false, "reserve": 0}, "width": 4, "layers": 1,'
    b' "heads": 1, "information": "fair"}'
)


def saved_game() -> bytes:
    home = folder() / "saved"
    Saves(home).save(Session(Game.replay("kawu", 7, ["draw", "draw"])))
    return next((home / "games").iterdir()).read_bytes()


DEALS = [str(Deal.from_number(0)).encode(), b"0 1 2", b"6D 5H AH", "10♦ Q♠".encode()]
PYRAMID = "\n".join(
    " ".join(str(Deal.from_number(3)).split()[row * (row + 1) // 2 :][: row + 1])
    for row in range(7)
).encode()

TARGETS: dict[str, Target] = {
    "deal_text": Target(read_deal_text, lambda: DEALS),
    "move_text": Target(read_move_text, lambda: [b"draw", b"G1+G7", b"W", b"QS AH", b"R7+S"]),
    "rules_words": Target(
        read_rules_words,
        lambda: [b"--rules par --passes unlimited 5 6", b"--goal all --draw 3 --no-stock-playable"],
    ),
    "command": Target(
        run_command, lambda: [b"solve 7", b"solve --rules par 1 2 --objective moves", b"solve AS"]
    ),
    "deal_file": Target(
        read_deal_file, lambda: [DEALS[0], b"1\n2 # two\n\n3\n", PYRAMID, b"\xef\xbb\xbf7\n"]
    ),
    "saved_game": Target(read_saved_game, lambda: [saved_game()]),
    "daily_scores": Target(read_daily_scores, lambda: [b'{"2026-07-04": 20}']),
    "evaluation_settings": damaged_evaluation("evaluation.json"),
    "optima": damaged_evaluation("optima.csv"),
    "games": damaged_evaluation("games/greedy.csv"),
    "learning_curve": damaged_evaluation("curves/greedy.csv"),
    "sweep_settings": damaged_sweep("csv", "sweep.json"),
    "sweep_csv": damaged_sweep("csv", "chunk-0000000000.csv"),
    "sweep_parquet": damaged_sweep("parquet", "chunk-0000000000.parquet"),
    "policy_file": Target(read_policy_file, lambda: [policy()]),
    "policy_config": Target(read_policy_config, lambda: [POLICY_CONFIG]),
}
