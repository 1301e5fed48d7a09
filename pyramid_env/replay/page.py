"""`write_replay`: a played game as one HTML file that needs nothing else."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyramid_env.actions import Move, action_table
from pyramid_env.cards import Card, card_face
from pyramid_env.deals import Deal
from pyramid_env.files import write_text
from pyramid_env.game import Game
from pyramid_env.rules import Rules, rules_text
from pyramid_env.solver import DEFAULT_NODE_LIMIT, Analysis, analyse

_TEMPLATE = "replay.html"
_MARK = re.compile(r"@(TITLE|DATA)@")


def write_replay(
    path: str | Path,
    rules: str | Rules,
    deal: Deal | str | int,
    moves: Iterable[Move | str | int],
    *,
    agent: str = "",
    probabilities: ArrayLike | None = None,
    node_limit: int = DEFAULT_NODE_LIMIT,
) -> None:
    """Write a page that plays a game move by move, with what the solver says about each.

    Takes what `Game.replay` takes, the player's name, and the probabilities that the player gave
    the actions before each move: float[n_moves, n_actions], of which the legal ones are shown. Each
    question to the solver has `node_limit`. The page is one file and asks for no network.

    Raises `ValueError` naming the first illegal move, or for probabilities of another shape or
    outside 0 to 1.
    """
    game = Game.replay(rules, deal, list(moves))
    table = None if probabilities is None else _checked(probabilities, game)
    analysis = analyse(game.rules, game.deal, game.history, node_limit=node_limit)
    title = f"{agent or 'A game'}: {_deal_name(game.deal)}, {rules_text(game.rules)}"
    data = {
        "title": title,
        "result": _result(game, analysis),
        "stockPlayable": game.rules.stock_playable,
        "losingMove": analysis.losing_move,
        "cards": [card_face(card) for card in game.deal.cards],
        "states": _states(game, analysis),
        "moves": [
            _move(analysis, number, None if table is None else table[number])
            for number in range(len(analysis.moves))
        ],
    }
    write_text(Path(path), _filled(title, data))


def _filled(title: str, data: dict[str, Any]) -> str:
    """The template with its two marks replaced, in one go: neither text may hold a mark."""
    # Inside a script nothing but `<` can end it or begin a comment.
    texts = {
        "TITLE": html.escape(title),
        "DATA": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    template = (files("pyramid_env.replay") / _TEMPLATE).read_text(encoding="utf-8")
    return _MARK.sub(lambda mark: texts[mark.group(1)], template)


def _checked(probabilities: ArrayLike, game: Game) -> NDArray[np.float64]:
    table = np.asarray(probabilities, dtype=np.float64)
    shape = len(game.history), len(action_table(game.rules))
    if table.shape != shape:
        raise ValueError(f"probabilities must have shape {shape}, not {table.shape}")
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError("probabilities must be from 0 to 1")
    return table


def _states(game: Game, analysis: Analysis) -> list[dict[str, Any]]:
    """Where the game stood before each move and after the last; cards by place in the deal."""
    judged = analysis.moves
    positions = [*(move.position for move in judged), game.position]
    if judged:
        winnable = [judged[0].winnable_before, *(move.winnable_after for move in judged)]
        most = [judged[0].cards_before, *(move.cards_after for move in judged)]
    else:
        winnable, most = [None], [None]
    return [
        _state(Game(game.deal, game.rules, position)) | {"winnable": can_win, "most": cards}
        for position, can_win, cards in zip(positions, winnable, most, strict=True)
    ]


def _state(game: Game) -> dict[str, Any]:
    def indices(cards: Iterable[Card | None]) -> list[int | None]:
        return [None if card is None else game.deal.cards.index(card) for card in cards]

    return {
        "pyramid": indices(game.pyramid),
        "exposed": [slot for slot in range(len(game.pyramid)) if game.is_exposed(slot)],
        "reserve": indices(game.reserve),
        "stock": indices(game.stock),
        "waste": indices(game.waste),
        "unseen": indices(game.unseen),
        "score": game.score,
        "passesLeft": game.passes_left,
    }


def _move(analysis: Analysis, number: int, row: NDArray[np.float64] | None) -> dict[str, Any]:
    judged = analysis.moves[number]
    before = Game(analysis.deal, analysis.rules, judged.position)
    return {
        "name": _name(before, judged.move),
        "verdict": judged.verdict,
        "legal": [
            {
                "name": _name(before, move),
                "cards": _indices(before, move),
                "played": move == judged.move,
                "best": None if judged.best_moves is None else move in judged.best_moves,
                "probability": None if row is None else float(row[action]),
            }
            for action, move in zip(before.legal_actions(), before.legal_moves, strict=True)
        ],
    }


def _indices(game: Game, move: Move) -> list[int]:
    cards = (game.card_at(place) for place in move.places)
    return [game.deal.cards.index(card) for card in cards if card is not None]


def _name(game: Game, move: Move) -> str:
    faces = " + ".join(card_face(game.deal.cards[i]) for i in _indices(game, move))
    return f"{faces}  ({move})" if faces else str(move)


def _deal_name(deal: Deal) -> str:
    return "own cards" if deal.number is None else f"deal {deal.number}"


def _result(game: Game, analysis: Analysis) -> str:
    outcome = "Won" if game.is_won else "Lost" if game.is_lost else "Not finished"
    text = f"{outcome} after {len(game.history)} moves, {game.score} of 28 pyramid cards removed."
    return f"{text} {analysis.summary}"
