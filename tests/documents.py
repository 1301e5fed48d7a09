"""The documents as tests read them: their code blocks, and the commands of shell blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "agents" / "weights" / "README.md",
    ROOT / "benchmarks" / "RESULTS.md",
]

_FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)
_BETWEEN_COMMANDS = ("|", "&&", ";")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    line: int
    """Number of the line with the opening fence."""

    language: str
    text: str

    follows: bool
    """Whether nothing but blank lines stands between it and the block before."""


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks, end = [], 0
    for found in _FENCE.finditer(text):
        between = text[end : found.start()]
        line = text.count("\n", 0, found.start()) + 1
        follows = bool(blocks) and not between.strip()
        blocks.append(Block(line, found[2].strip(), dedent(found[3]), follows))
        end = found.end()
    return blocks


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command of a shell block; pipes and `&&` end a command, too."""
    for line in text.replace("\\\n", " ").splitlines():
        command: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        for word in [*lexer, ";"]:
            if word not in _BETWEEN_COMMANDS:
                command.append(word)
            elif command:
                yield command
                command = []
