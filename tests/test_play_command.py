"""`python -m pyramid_env play`: what it opens, and what it says to wrong arguments."""

from __future__ import annotations

import datetime
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

import pytest

from pyramid_env.__main__ import main
from pyramid_env.deals import Deal
from pyramid_env.play.app import PlayApp
from pyramid_env.play.saves import Saves
from pyramid_env.play.session import Session
from pyramid_env.rules import PRESETS, Rules

ROOT = Path(__file__).parents[1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """The sessions that are opened instead of being shown."""
    sessions: list[Session] = []

    class Spy(PlayApp):
        def __init__(self, saves: Saves, session: Session, message: str = "") -> None:
            sessions.append(session)

        def run(self, *_: Any, **__: Any) -> None:
            pass

    monkeypatch.setattr("pyramid_env.play.app.PlayApp", Spy)
    monkeypatch.setattr("pyramid_env.jit._notices", [])  # which a terminal would be told
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    return sessions


@pytest.mark.parametrize(
    ("arguments", "deal", "rules"),
    [
        (["7"], Deal.from_number(7), Rules()),
        (["7", "--rules", "par"], Deal.from_number(7), PRESETS["par"]),
        (["7", "--passes", "unlimited"], Deal.from_number(7), Rules(passes=None)),
        (str(Deal.from_number(8)).split(), Deal.from_number(8), Rules()),
        (["--daily", "2026-07-04"], Deal.from_number(20260704), Rules()),
        (["--daily", "2026-07-04", "--rules", "kawu"], Deal.from_number(20260704), Rules()),
        (["--rules", "tuts-tomb"], None, PRESETS["tuts-tomb"]),
        (["--passes", "2"], None, PRESETS["kawu-2"]),
        ([], None, Rules()),
    ],
)
def test_it_opens_the_deal_and_rules_that_were_asked_for(
    arguments: list[str],
    deal: Deal | None,
    rules: Rules,
    opened: list[Session],
    tmp_path: Path,
) -> None:
    assert main(["play", *arguments, "--folder", str(tmp_path)]) == 0
    [session] = opened
    assert deal in (None, session.game.deal)
    assert session.game.rules == rules
    assert session.game.history == ()


def test_today_is_the_default_day(opened: list[Session], tmp_path: Path) -> None:
    before = datetime.date.today()
    main(["play", "--daily", "--folder", str(tmp_path)])
    assert opened[0].date in (before, datetime.date.today())


def test_a_saved_game_goes_on_unless_a_new_one_is_wanted(
    opened: list[Session], tmp_path: Path
) -> None:
    main(["play", "7", "--rules", "classic", "--folder", str(tmp_path)])
    opened[0].draw_or_recycle()
    Saves(tmp_path).save(opened[0])
    for arguments, n_moves in (
        ([], 1),
        (["7", "--rules", "classic"], 1),
        (["7"], 0),
        (["--rules", "classic"], 0),
        (["--new"], 0),
        (["7", "--rules", "classic", "--new"], 0),
    ):
        main(["play", *arguments, "--folder", str(tmp_path)])
        assert len(opened[-1].game.history) == n_moves, arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-5"], "no deal has number -5"),
        (["7", "8"], "one deal at a time, not 2"),
        (["KC", "KC"], "KC is there twice"),
        (["--daily", "yesterday"], "'yesterday' is no date such as 2026-07-04"),
        (["7", "--daily"], "--daily is one deal by the kawu rules: give no deal and no rules"),
        (["--daily", "--rules", "par"], "--daily is one deal by the kawu rules"),
        (["--rules", "chess"], "argument --rules: invalid choice: 'chess'"),
        (["--passes", "0"], "passes=0 is not allowed: a whole number from 1 to 127"),
        (["7"], "this is no terminal: play needs one"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: Any = main(["play", *arguments, "--folder", str(tmp_path)])
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("pyramid_env play: ")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_without_textual_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "pyramid_env.play.app")
    monkeypatch.setitem(sys.modules, "textual", None)
    assert main(["play", "7"]) == 2
    assert "pip install 'pyramid-env[play]'" in capsys.readouterr().err


def test_in_a_terminal_moves_are_played_and_saved(tmp_path: Path) -> None:
    """In a pseudo-terminal: K♦ of deal 7 is typed, then Ctrl-Q."""
    terminal, other_end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    arguments = ["play", "7", "--folder", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "pyramid_env", *arguments],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color"},
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
    ) as child:
        os.close(other_end)
        too_late = threading.Timer(300, child.kill)
        too_late.start()
        read_until(terminal, b"Quit")
        os.write(terminal, b"kd")
        read_until(terminal, b"Removed")
        os.write(terminal, b"\x11")
        read_until(terminal, None)
        assert child.wait() == 0
        too_late.cancel()
    os.close(terminal)
    back = Saves(tmp_path).last()
    assert back is not None
    assert [str(move) for move in back.game.history] == ["G6"]


def read_until(terminal: int, text: bytes | None) -> None:
    """Read what a program shows up to a text, or up to its end."""
    shown = b""
    while text is None or text not in shown:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the program has ended
            assert text is None, shown
            return
