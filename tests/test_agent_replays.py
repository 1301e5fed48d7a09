"""Pages of agents' games, with the probabilities that the agents gave their moves."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agents.commands import evaluate
from agents.playing import play_deals
from agents.registry import load_agent
from agents.replays import probabilities_along, write_replays
from pyramid_env.actions import action_table
from pyramid_env.env import PyramidEnv
from pyramid_env.game import Game
from pyramid_env.rules import Rules

KAWU = Rules()


def moves_of(name: str, deal: int) -> tuple[str, ...]:
    games, _ = play_deals(load_agent(name), [deal], KAWU)
    return games[0].moves


def test_a_learned_agent_plays_what_it_holds_likeliest() -> None:
    moves = moves_of("learned", 5)
    table = probabilities_along(load_agent("learned"), KAWU, 5, moves)
    assert table is not None
    assert table.shape == (len(moves), len(action_table(KAWU)))
    np.testing.assert_allclose(table.sum(axis=1), 1)
    game = Game(5)
    for row, move in zip(table, moves, strict=True):
        legal = game.legal_actions()
        assert (row[legal] > 0).all()
        assert np.delete(row, legal).sum() == 0
        assert action_table(KAWU)[int(row.argmax())] == game.play(move)


def test_probabilities_are_the_policy_s_own() -> None:
    agent: Any = load_agent("learned")
    table = probabilities_along(agent, KAWU, 5, moves_of("learned", 5)[:1])
    legal = Game(5).legal_actions()
    assert table is not None

    logits = agent.logits(PyramidEnv(KAWU).reset(options={"deal": 5})[0][None])[0]
    ratios = np.exp(logits[legal].astype(float) - logits[legal[0]])
    np.testing.assert_allclose(table[0][legal] / table[0][legal[0]], ratios, rtol=1e-6)


def test_random_play_holds_all_legal_moves_the_same_and_others_have_no_figures() -> None:
    moves = moves_of("random", 5)
    table = probabilities_along(load_agent("random"), KAWU, 5, moves)
    assert table is not None
    game = Game(5)
    for row, move in zip(table, moves, strict=True):
        assert set(row[game.legal_actions()]) == {1 / len(game.legal_moves)}
        game.play(move)
    for name in ("greedy", "solver"):
        assert probabilities_along(load_agent(name), KAWU, 5, moves_of(name, 5)) is None
    assert probabilities_along(load_agent("random"), KAWU, 5, []) is None


def test_the_first_games_of_each_agent_become_pages(tmp_path: Path) -> None:
    arguments = evaluate.Arguments(
        agents=("me=learned", "solver"), deals=3, first=50, out=tmp_path, jobs=1
    )
    evaluate.run(arguments, Console(file=io.StringIO()))
    written = write_replays(tmp_path, ["me", "solver"], 2)
    names = [f"{agent}-{deal}.html" for agent in ("me", "solver") for deal in (50, 51)]
    assert written == [tmp_path / "replays" / name for name in names]
    for path in written:
        text = path.read_text(encoding="utf-8")
        [data] = re.findall(r'<script id="data"[^>]*>(.*?)</script>', text)
        moves = json.loads(data)["moves"]
        assert all(
            (move["probability"] is not None) == path.name.startswith("me")
            for judged in moves
            for move in judged["legal"]
        )
    assert len(write_replays(tmp_path, ["solver"], 9)) == 3
    with pytest.raises(ValueError, match="has no games of agent greedy, but of me, solver"):
        write_replays(tmp_path, ["greedy"], 1)
    with pytest.raises(ValueError, match="holds no evaluation"):
        write_replays(tmp_path / "games", ["solver"], 1)


def test_replays_are_pages_of_the_first_deals(tmp_path: Path) -> None:
    out = tmp_path / "results"
    console = Console(file=io.StringIO(), width=80)
    arguments = evaluate.Arguments(
        agents=("greedy", "learned"), deals=4, jobs=1, out=out, replays=2
    )
    evaluate.run(arguments, console)
    pages = sorted(path.name for path in (out / "replays").iterdir())
    assert pages == ["greedy-0.html", "greedy-1.html", "learned-0.html", "learned-1.html"]
    assert "4 pages" in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="replays=5 is not allowed: 0 to 4"):
        evaluate.run(evaluate.Arguments(deals=4, out=tmp_path / "other", replays=5), console)
    assert not (tmp_path / "other").exists()
