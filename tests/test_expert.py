"""Expert iteration: the student's own games, what lies behind a move, and what the expert plays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.training.expert import ExpertIterationConfig, Rollout, _ExpertIteration, _smoothed
from agents.training.labelling import ILLEGAL
from agents.training.own_games import OwnGames
from pyramid_env import PRESETS, Deal, Game, Rules, solve
from pyramid_env.deals import FIRST_HELD_OUT_NUMBER, FIRST_TRAINING_NUMBER
from pyramid_env.engine import Position
from pyramid_env.observation import observe
from pyramid_env.solver.judge import LOST, UNDECIDED, WON


def begin(n: int, rules: Rules, **settings: int) -> OwnGames:
    games = OwnGames(n, rules, seed=3, **settings)
    games.advance(np.full(n, -1, np.int64))
    return games


def games_of(games: OwnGames, rules: Rules) -> list[Game]:
    return [
        Game(Deal(tuple(row["cards"].tolist())), rules, position=Position(int(row["position"])))
        for row in games.games
    ]


def some_actions(games: OwnGames, words: set[int], generator: np.random.Generator) -> np.ndarray:
    """A random action with one of these words in each game; any legal one where none has."""
    chosen = []
    for row in games.words:
        wanted = np.flatnonzero(np.isin(row, list(words)))
        chosen.append(generator.choice(wanted if wanted.size else np.flatnonzero(row != ILLEGAL)))
    return np.array(chosen)


@pytest.mark.parametrize("preset", ["kawu", "kawu-1", "reserve"])
def test_games_go_on_by_the_actions_alone_and_end_where_the_win_is_thrown_away(
    preset: str,
) -> None:
    rules = PRESETS[preset]
    games = begin(30, rules)
    generator = np.random.default_rng(1)
    ended_by = set()
    for _ in range(40):
        before = games_of(games, rules)
        actions = some_actions(games, {WON, UNDECIDED}, generator)
        some = generator.random(30) < 0.02
        actions[some] = some_actions(games, {LOST}, generator)[some]
        words = games.words[np.arange(30), actions]
        games.advance(actions)
        for i, game in enumerate(before):
            game.play(int(actions[i]))
            while not game.is_over and len(game.legal_actions()) == 1:
                game.play(game.legal_actions()[0])
            if words[i] == LOST:
                assert games.lost[i]
                assert games.ended[i]
            elif game.is_won:
                assert games.ended[i]
                assert not games.lost[i]
            elif not games.ended[i]:
                assert game.position == int(games.games["position"][i])
            ended_by.add((bool(games.ended[i]), bool(games.lost[i])))
    assert ended_by == {(True, True), (True, False), (False, False)}


def test_games_are_winnable_training_deals_at_a_choice() -> None:
    rules = Rules()
    games = begin(40, rules)
    for row, game in enumerate(games_of(games, rules)):
        assert solve(Game(game.deal, rules), "win").value
        legal = game.legal_actions()
        assert len(legal) > 1
        assert np.flatnonzero(games.words[row] != ILLEGAL).tolist() == sorted(legal)
        assert (games.observations[row] == observe(game.position, game.deal, rules)).all()
        number = Deal(game.deal.cards).number
        assert number is None or FIRST_TRAINING_NUMBER <= number < FIRST_HELD_OUT_NUMBER


def test_the_children_are_the_states_after_the_moves_that_do_not_lose() -> None:
    rules = Rules()
    games = begin(20, rules)
    generator = np.random.default_rng(2)
    seen_won = False
    for _ in range(30):
        children = games.children()
        found = set(zip(children.rows.tolist(), children.actions.tolist(), strict=True))
        kept = (games.words != ILLEGAL) & (games.words != LOST)
        assert found == set(zip(*(part.tolist() for part in np.nonzero(kept)), strict=True))
        all_games = games_of(games, rules)
        for k in range(0, len(children.rows), 5):
            game = all_games[children.rows[k]].copy()
            game.play(int(children.actions[k]))
            while not game.is_over and len(game.legal_actions()) == 1:
                game.play(game.legal_actions()[0])
            assert children.won[k] == game.is_won
            seen_won |= game.is_won
            if not game.is_over:
                shown = observe(game.position, game.deal, rules)
                assert (children.observations[k] == shown).all()
        hints = np.maximum(games.hints, 0)
        good = games.words[np.arange(20), hints] == WON
        games.advance(np.where(good, hints, some_actions(games, {WON}, generator)))
    assert seen_won


def test_the_answer_does_not_depend_on_the_threads() -> None:
    one, two = begin(20, Rules()), begin(20, Rules(), threads=2)
    generator = np.random.default_rng(4)
    for _ in range(5):
        actions = some_actions(one, {WON}, generator)
        for games in (one, two):
            games.advance(actions)
    for name in ("observations", "words", "lost", "ended"):
        assert (getattr(one, name) == getattr(two, name)).all()


def test_chances_are_learned_from_how_games_went_on() -> None:
    chances = np.array([[0.5, 0.5], [0.6, 0.2], [0.8, 0.1]], np.float32)
    lost = np.array([[False, True], [False, False]])
    ended = np.array([[False, True], [True, False]])
    exact = _smoothed(chances, lost, ended, 1.0)
    np.testing.assert_allclose(exact, [[1, 0], [1, 0.1]])
    one_step = _smoothed(chances, lost, ended, 0.0)
    np.testing.assert_allclose(one_step, [[0.6, 0], [1, 0.1]])
    mixed = _smoothed(chances, lost, ended, 0.5)
    np.testing.assert_allclose(mixed, [[0.5 * 1 + 0.5 * 0.6, 0], [1, 0.1]])


def test_the_student_is_drawn_to_moves_of_worth() -> None:
    """With everything else equal, a step of learning makes the worthier move likelier."""
    config = ExpertIterationConfig(
        games=8, rollout=2, batch=8, width=16, layers=1, value_states=0, device="cpu"
    )
    run = _ExpertIteration(replace(config, precision="float32", learning_rate=0.01))
    rollout, _ = run._play()
    flat = [torch.as_tensor(part.reshape(-1, *part.shape[2:])) for part in rollout]
    seen = Rollout(*flat)  # type: ignore[arg-type]
    moves = (seen.words[0] != ILLEGAL).nonzero()[:, 0]
    rows = torch.zeros(8, dtype=torch.int64)
    batch = Rollout(*(part[rows] for part in seen))  # type: ignore[arg-type]
    known = batch.observations.clone()
    known[:, run._unseen] = 0  # nothing is face down
    worths = torch.zeros_like(batch.worths)
    worths[:, moves[0]] = 1
    batch = batch._replace(observations=known, worths=worths)

    def share() -> float:
        with torch.no_grad():
            logits, _ = run.net(batch.observations[:1])
        return float(logits[0, moves].softmax(0)[0])

    before = share()
    for _ in range(3):
        run._descend(run._loss(batch))
    assert share() > before
