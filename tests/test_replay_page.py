"""The replay page as a file: what is in it, and that nothing in it can break out of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyramid_env.actions import action_table
from pyramid_env.cards import card_face
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.replay import write_replay
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import analyse, solve

LOSING = ("draw", "G1+G7", "draw")
"""Of deal 20: the second move throws the win away."""


class Reader(HTMLParser):
    """Reads a page as a browser does: its title and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title = ""
        self.scripts: dict[str, str] = {}
        self.tags: list[str] = []
        self.references: list[str] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.tags.append(tag)
        self.references += [named[name] or "" for name in ("src", "href") if name in named]
        self._open.append((tag, named.get("id") or "program"))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, text: str) -> None:
        tag, name = self._open[-1] if self._open else ("", "")
        if tag == "title":
            self.title += text
        if tag == "script":
            self.scripts[name] = self.scripts.get(name, "") + text


def page_of(tmp_path: Path, *arguments: Any, **settings: Any) -> Reader:
    path = tmp_path / "game.html"
    write_replay(path, *arguments, **settings)
    assert list(tmp_path.iterdir()) == [path]
    return Reader(path.read_text(encoding="utf-8"))


def data_of(tmp_path: Path, *arguments: Any, **settings: Any) -> dict[str, Any]:
    return json.loads(page_of(tmp_path, *arguments, **settings).scripts["data"])  # type: ignore[no-any-return]


def played(deal: int, rules: str | Rules) -> Game:
    game = Game(deal, rules)
    while not game.is_over:
        game.play(game.hint())
    return game


@pytest.mark.parametrize("rules", [*PRESETS, Rules(draw=2, reserve=3, passes=2)])
def test_every_state_is_where_the_game_stood(rules: str | Rules, tmp_path: Path) -> None:
    game = played(11, rules)
    data = data_of(tmp_path, rules, 11, game.history)
    cards = game.deal.cards
    assert data["cards"] == [card_face(card) for card in cards]
    assert data["stockPlayable"] == game.rules.stock_playable
    assert (len(data["states"]), len(data["moves"])) == (len(game.history) + 1, len(game.history))
    again = Game(11, rules)
    for move, state in zip([*game.history, None], data["states"], strict=True):
        for name in ("pyramid", "reserve", "stock", "waste", "unseen"):
            shown = tuple(None if i is None else cards[i] for i in state[name])
            assert shown == getattr(again, name), name
        assert state["exposed"] == [slot for slot in range(28) if again.is_exposed(slot)]
        assert (state["score"], state["passesLeft"]) == (again.score, again.passes_left)
        if move is not None:
            again.play(move)


def test_the_solver_s_values_stand_by_each_state_and_move(tmp_path: Path) -> None:
    data = data_of(tmp_path, "kawu", 20, LOSING, agent="me")
    game = Game(20)
    for i, state in enumerate(data["states"]):
        assert state["winnable"] == solve(game).value
        assert state["most"] == solve(game, "cards").value
        if i < len(LOSING):
            game.play(LOSING[i])
    assert data["losingMove"] == 1
    assert data["title"] == "me: deal 20, kawu"
    assert data["result"].startswith("Not finished after 3 moves, 2 of 28 pyramid cards removed.")
    assert "Move 2 threw the win away." in data["result"]
    assert [move["verdict"] for move in data["moves"]] == [
        judged.verdict for judged in analyse("kawu", 20, LOSING).moves
    ]


def test_the_legal_moves_are_all_there_with_the_better_ones_marked(tmp_path: Path) -> None:
    data = data_of(tmp_path, "kawu", 20, LOSING)
    game = Game(20)
    for text, judged in zip(LOSING, data["moves"], strict=True):
        legal = list(game.legal_moves)
        names = [move["name"].split("  ")[-1].strip("()") for move in judged["legal"]]
        assert names == list(map(str, legal))
        assert [move["played"] for move in judged["legal"]] == [str(m) == text for m in legal]
        for move, shown in zip(legal, judged["legal"], strict=True):
            assert [data["cards"][i] for i in shown["cards"]] == [
                card_face(card)
                for place in move.places
                if (card := game.card_at(place)) is not None
            ]
            after = game.copy()
            after.play(move)
            goal = "win" if solve(game).value else "cards"
            assert shown["best"] == (solve(after, goal).value == solve(game, goal).value)  # type: ignore[arg-type]
            assert shown["probability"] is None
        game.play(text)


def test_probabilities_stand_by_their_moves(tmp_path: Path) -> None:
    table = action_table(Rules())
    probabilities = np.random.default_rng(0).dirichlet(np.ones(len(table)), size=len(LOSING))
    data = data_of(tmp_path, "kawu", 20, LOSING, probabilities=probabilities)
    game = Game(20)
    for row, text, judged in zip(probabilities, LOSING, data["moves"], strict=True):
        shown = [move["probability"] for move in judged["legal"]]
        assert shown == [row[table.action(move)] for move in game.legal_moves]
        game.play(text)


def test_what_a_limit_left_open_is_open(tmp_path: Path) -> None:
    data = data_of(tmp_path, "kawu", 20, ["draw"], node_limit=1)
    assert [state["winnable"] for state in data["states"]] == [None, None]
    assert {move["best"] for move in data["moves"][0]["legal"]} == {None}
    assert data["losingMove"] is None


def test_a_game_without_moves_is_a_page_too(tmp_path: Path) -> None:
    data = data_of(tmp_path, "kawu", 7, [])
    assert (len(data["states"]), data["moves"]) == (1, [])


def test_a_deal_of_cards_is_named_so(tmp_path: Path) -> None:
    data = data_of(tmp_path, "kawu", str(Deal.from_number(3)), ["draw"])
    assert data["title"] == "A game: own cards, kawu"


NASTY = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</title><img src=x onerror=alert(1)>",
    "@DATA@ @TITLE@",
    "\"'&amp;\\ \u2028 \u2029 ♥ é",
    "\\u003c/script>",
]


@pytest.mark.parametrize("agent", NASTY, ids=range(len(NASTY)))
def test_no_name_breaks_out_of_its_place(agent: str, tmp_path: Path) -> None:
    plain = page_of(tmp_path, "kawu", 20, LOSING, agent="plain")
    page = page_of(tmp_path, "kawu", 20, LOSING, agent=agent)
    assert page.title == f"{agent}: deal 20, kawu"
    assert json.loads(page.scripts["data"])["title"] == page.title
    assert page.tags == plain.tags
    assert page.scripts["program"] == plain.scripts["program"]


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = page_of(tmp_path, "kawu", 20, LOSING)
    assert page.references == []
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags)
    text = (tmp_path / "game.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\"' ]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never asked for
    assert not re.search(r"\burl\(|@import|\bfetch\(|XMLHttpRequest|import\(", text)
    assert "default-src 'none'" in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"moves": ["draw", "A1"]}, "move 2: illegal move A1"),
        ({"rules": "chess"}, "unknown rules 'chess'"),
        ({"deal": -1}, "no deal has number -1"),
        ({"probabilities": [[0.5]]}, r"probabilities must have shape \(3, 285\), not \(1, 1\)"),
        ({"probabilities": np.full((3, 285), 1.5)}, "probabilities must be from 0 to 1"),
        ({"probabilities": np.full((3, 285), np.nan)}, "probabilities must be from 0 to 1"),
        ({"node_limit": 0}, "node_limit=0 is not allowed"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_written(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given = {"rules": "kawu", "deal": 20, "moves": LOSING} | settings
    with pytest.raises(ValueError, match=message):
        write_replay(tmp_path / "game.html", **given)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "game.html"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_replay(path, "kawu", 20, LOSING)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"
