"""Write the generated parts of the docs anew: `python docs/tables.py`.

A table, or the text of a docstring, stands between two comments, ``<!-- table: NAME -->`` and
``<!-- end -->``; a test checks that all of them are what this file makes.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from pyramid_env.actions import Move, action_table
from pyramid_env.env import PyramidEnv
from pyramid_env.observation import observation_fields, observation_space
from pyramid_env.pyramid import N_SLOTS, STOCK_TOP, WASTE_TOP, Place
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.vector_env import PyramidVectorEnv

DOCS = Path(__file__).parent

_BLOCK = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def presets() -> str:
    """Every preset's fields, the actions and the observation's size that follow from them."""
    fields = [field.name for field in dataclasses.fields(Rules)]
    rows = []
    for name, rules in PRESETS.items():
        values = [getattr(rules, field) for field in fields]
        shown = ["unlimited" if value is None else value for value in values]
        size = len(observation_space(rules).nvec)
        rows.append([f"`{name}`", *shown, len(action_table(rules)), size])
    return _table(["preset", *(f"`{field}`" for field in fields), "actions", "numbers seen"], rows)


def observation() -> str:
    """Where each part of the default observation lies, and what its numbers can be."""
    meaning = {
        "pyramid": "rank of each slot's card, 0 where it is gone",
        "reserve": "rank of each reserve card, 0 where it is gone (empty under these rules)",
        "waste": "ranks from the waste's top down, then 0",
        "stock": "ranks from the next card on, 14 where it is face down, then 0",
        "passes_left": "passes after the current one; 9 is nine or more, or unlimited",
        "unseen": "how many face-down cards are aces, twos, ... kings",
    }
    nvec = observation_space(Rules()).nvec
    rows = []
    for name, part in observation_fields(Rules())._asdict().items():
        categories = max(nvec[part], default=14)
        rows.append(
            [f"`{name}`", f"{part.start}:{part.stop}", f"0-{categories - 1}", meaning[name]]
        )
    return _table(["field", "slice", "values", "meaning"], rows)


def actions() -> str:
    """The ranges of action ids of the default table."""
    table = action_table(Rules())
    rows = []
    for group, members in groupby(enumerate(table), key=lambda item: _group(item[1])):
        listed = list(members)
        first, last = listed[0], listed[-1]
        ids = f"{first[0]}" if len(listed) == 1 else f"{first[0]}-{last[0]}"
        texts = f"`{first[1]}`" if len(listed) == 1 else f"`{first[1]}` ... `{last[1]}`"
        rows.append([ids, len(listed), group, texts])
    return _table(["ids", "count", "moves", "first and last"], rows)


def all_actions() -> str:
    """Every id of the default table with its move, ten to a row."""
    table = action_table(Rules())
    texts = [f"`{move}`" for move in table]
    rows = [[f"**{i}**", *texts[i : i + 10]] for i in range(0, len(texts), 10)]
    rows[-1] += [""] * (11 - len(rows[-1]))
    return _table(["id", *(f"+{i}" for i in range(10))], rows)


def environment() -> str:
    """The docstring of the scalar environment, a section a heading."""
    return _docstring(PyramidEnv)


def vector_environment() -> str:
    """The docstring of the vector environment, its headings one level lower."""
    return re.sub(r"^## ", "### ", _docstring(PyramidVectorEnv), flags=re.MULTILINE)


def _docstring(described: type) -> str:
    """A class's docstring; blank lines stand around lists, as all readers of Markdown want it."""
    text = re.sub(
        r"^([^-\s].*)\n- ", r"\1\n\n- ", inspect.getdoc(described) or "", flags=re.MULTILINE
    )
    return f"\n{text}\n\n"


def _group(move: Move) -> str:
    if move.kind in ("draw", "recycle"):
        return move.kind
    where = " and ".join(_kind_of_place(place) for place in move.places)
    return f"pair: {where}" if move.kind == "pair" else "king"


def _kind_of_place(place: Place) -> str:
    if place < N_SLOTS:
        return "slot"
    return {WASTE_TOP: "waste", STOCK_TOP: "stock"}.get(place, "reserve")


TABLES: dict[str, Callable[[], str]] = {
    "presets": presets,
    "observation": observation,
    "actions": actions,
    "all-actions": all_actions,
    "environment": environment,
    "vector-environment": vector_environment,
}


def updated(text: str) -> str:
    """A document with all its tables made anew."""
    return _BLOCK.sub(lambda match: match[1] + TABLES[match[2]]() + match[3], text)


def main() -> None:
    """Rewrite the documents whose tables have changed."""
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if updated(text) != text:
            path.write_text(updated(text), encoding="utf-8")
            print(f"updated {path.name}")


if __name__ == "__main__":
    main()
