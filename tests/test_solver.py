"""`solve` and `solve_batch` against an exhaustive search, known answers, and the rules' words."""

import time
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from plain_search import late_games, plain_answers, random_rules
from positions import game_at

from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.rules import PRESETS, Rules
from pyramid_env.solver import Objective, Solution, Status, solve, solve_batch, solve_position

OBJECTIVES: tuple[Objective, ...] = ("win", "cards", "moves")
DRAW_3 = Rules(passes=2, draw=3, stock_playable=False)
PEER_DEALS = Path(__file__).parents[2] / "shared" / "data" / "peer_deals.csv"


def replayed(game: Game, solution: Solution) -> Game:
    """A game that stands where the solution's line leads; every move is checked on the way."""
    twin = Game(game.deal, game.rules, game.position)
    for move in solution.moves:
        twin.play(move)
    return twin


def assert_line_shows_value(game: Game, solution: Solution) -> None:
    """The line reaches what is claimed, or what is known of it."""
    end = replayed(game, solution)
    if solution.objective == "cards":
        assert end.score == solution.lower
    elif solution.objective == "win":
        assert end.is_won == (solution.lower == 1)
        assert end.is_won or not solution.moves
    elif solution.upper is None:
        assert not solution.moves
    else:
        assert end.is_won
        assert len(solution.moves) == solution.upper


def assert_equals_plain_search(rules: Rules, seed: int, n_games: int, limit: int) -> int:
    """Hold all three answers against the plain search; returns how many games could be won."""
    generator = np.random.default_rng(seed)
    n_wins = 0
    for game, answers in islice(late_games(rules, generator, limit), n_games):
        n_wins += answers.win
        for objective in OBJECTIVES:
            solution = solve(game, objective)
            assert solution.status is Status.PROVED
            assert solution.value == getattr(answers, objective), (objective, game)
            assert_line_shows_value(game, solution)
    return n_wins


# Against the exhaustive search


@pytest.mark.parametrize("name", PRESETS)
def test_answers_equal_the_plain_search_on_late_positions(name: str) -> None:
    assert assert_equals_plain_search(PRESETS[name], seed=1, n_games=60, limit=10_000) > 0


def test_answers_equal_the_plain_search_under_any_rules() -> None:
    generator = np.random.default_rng(2)
    n_wins = sum(
        assert_equals_plain_search(random_rules(generator), seed=i, n_games=1, limit=10_000)
        for i in range(250)
    )
    assert 25 <= n_wins <= 225


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_answers_equal_the_plain_search_on_large_positions(name: str) -> None:
    assert_equals_plain_search(PRESETS[name], seed=3, n_games=1000, limit=100_000)


@pytest.mark.slow
def test_answers_equal_the_plain_search_under_thousands_of_rules() -> None:
    generator = np.random.default_rng(4)
    for i in range(5000):
        assert_equals_plain_search(random_rules(generator), seed=i, n_games=1, limit=50_000)


# Against the answers of another solver


def peer_deals(step: int = 1) -> list[tuple[Deal, int]]:
    """Deals with their fewest moves under `kawu`, 0 where the pyramid cannot be cleared."""
    if not PEER_DEALS.exists():
        pytest.skip(f"known answers are not there: {PEER_DEALS.name}")
    lines = [line for line in PEER_DEALS.read_text().splitlines() if not line.startswith("#")]
    rows = (line.split(",") for line in lines[1::step])
    return [(Deal.parse(deal), int(moves)) for deal, moves in rows]


def test_wins_agree_with_another_solver_on_all_its_deals() -> None:
    deals = peer_deals()
    solutions = solve_batch((deal for deal, _ in deals), "kawu")
    assert [solution.value for solution in solutions] == [moves > 0 for _, moves in deals]
    for (deal, _), solution in zip(deals, solutions, strict=True):
        assert_line_shows_value(Game(deal), solution)


def assert_fewest_moves_agree(deals: list[tuple[Deal, int]]) -> None:
    for (deal, moves), solution in zip(
        deals, solve_batch((deal for deal, _ in deals), "kawu", "moves"), strict=True
    ):
        assert solution.value == (moves or None)
        assert_line_shows_value(Game(deal), solution)


def test_fault_18_fewest_moves_agree_with_another_solver() -> None:
    assert_fewest_moves_agree(peer_deals(step=25))


@pytest.mark.slow
def test_fault_18_fewest_moves_agree_with_another_solver_on_all_its_deals() -> None:
    assert_fewest_moves_agree(peer_deals())


# Faults seen elsewhere, and limits


@pytest.mark.parametrize(
    ("stock", "waste", "recycles", "win", "moves"),
    [
        ("7H 2C", "", 0, True, 1),
        ("7H 2C", "", 2, True, 1),
        ("2C 7H", "", 2, True, 2),  # after one draw the same cards are there
        ("", "7H 2C", 0, True, 2),  # recycle and take the seven
        ("", "7H 2C", 1, True, 2),
        ("", "7H 2C", 2, False, None),  # the seven is buried in the last pass
        ("2C", "7H 3C", 1, True, 3),
        ("2C", "7H 3C", 2, False, None),
    ],
)
def test_fault_14_the_same_cards_are_another_position_by_waste_and_pass(
    stock: str, waste: str, recycles: int, win: bool, moves: int | None
) -> None:
    game = game_at({"A1": "6S"}, stock, waste, "kawu", recycles)
    assert solve(game).value == win
    assert solve(game, "moves").value == moves
    assert solve(game, "cards").value == (28 if win else 27)


@pytest.mark.parametrize(
    ("number", "position"),
    [(617024193796, 81056171683800959), (21941231492, 72057344462094335)],
)
def test_fault_14_a_win_is_found_though_its_cards_were_met_in_a_later_pass(
    number: int, position: int
) -> None:
    game = Game(number, "par", position)
    assert plain_answers(game, 40_000) is not None
    solution = solve(game)
    assert solution.value is True
    assert_line_shows_value(game, solution)


def test_fault_16_a_search_that_gives_up_does_not_know() -> None:
    for number, answer in ((0, True), (128, False)):
        gave_up = solve(Game(number, "kawu-2"), node_limit=5)
        assert gave_up.status is Status.LIMIT
        assert not gave_up.is_proved
        assert (gave_up.value, gave_up.lower, gave_up.upper) == (None, 0, 1)
        assert gave_up.moves == ()
        assert gave_up.nodes == 5
        assert solve(Game(number, "kawu-2")).value is answer


def test_fault_17_a_king_may_have_to_stay_where_three_are_drawn() -> None:
    # In this pass 5S frees the six, but then TD and 4D lie on the seven. In the next one
    # the third card of each draw is KC, then the seven; without the king 2C, then TD.
    table = {"B1": "6S", "C1": "8H"}
    game = game_at(table, "2C 3C 7H TD 4D 5S", "4C 9C KC", DRAW_3)
    assert solve(game).value is True
    assert solve(game, "cards").value == 28
    game.play("W")
    plain = plain_answers(game)
    assert plain is not None
    assert (plain.win, plain.cards) == (False, 27)
    assert solve(game).value is False
    assert solve(game, "cards").value == 27


def test_fault_17_a_pair_without_other_partners_may_have_to_wait_where_three_are_drawn() -> None:
    # As above, with a jack for the king: it is the only partner of the two.
    table = {"B1": "6S", "C1": "8H", "G7": "2S"}
    game = game_at(table, "3C 3D 7H TD 4D 5S", "4C 9C JC", DRAW_3)
    assert solve(game).value is True
    game.play("G7+W")
    assert solve(game).value is False


def test_limits_leave_true_bounds() -> None:
    for name, number in (("kawu", 17), ("kawu-1", 3), ("tuts-tomb", 80), ("reserve", 54)):
        for objective in OBJECTIVES:
            game = Game(number, name)
            value = solve(game, objective).value
            for node_limit in (1, 10, 100, 1000):
                limited = solve(game, objective, node_limit=node_limit)
                assert_line_shows_value(game, limited)
                if limited.is_proved:
                    assert limited.value == value
                    continue
                assert limited.value is None
                assert limited.lower is not None
                if value is not None:
                    assert limited.lower <= value
                    assert limited.upper is None or value <= limited.upper


def test_the_time_limit_is_kept() -> None:
    game = Game(80, "tuts-tomb")
    solve(game, node_limit=1000)  # kernels are compiled now
    started = time.perf_counter()
    solution = solve(game, time_limit=0.05)
    assert solution.status is Status.LIMIT
    assert 0.05 <= solution.seconds <= time.perf_counter() - started < 2


def test_kings_that_block_nothing_cost_moves() -> None:
    game = game_at({"A1": "6S", "R1": "KS"}, "KC 7H", "KD", Rules(reserve=1))
    assert solve(game, "moves").value == 2  # past KC, by draw or removal, to the seven
    everything = game_at({"A1": "6S", "R1": "KS"}, "KC 7H", "KD", Rules(goal="all", reserve=1))
    assert solve(everything, "moves").value == 4


# Positions at the border


def test_a_finished_game_is_solved_by_no_moves() -> None:
    won = game_at({}, "2C")
    for objective, value in zip(OBJECTIVES, (True, 28, 0), strict=True):
        solution = solve(won, objective)
        assert (solution.value, solution.moves, solution.is_proved) == (value, (), True)
    lost = game_at({"A1": "2S", "R1": "3C"}, rules=Rules(reserve=1))
    for objective, lost_value in zip(OBJECTIVES, (False, 27, None), strict=True):
        solution = solve(lost, objective)
        assert (solution.value, solution.moves, solution.is_proved) == (lost_value, (), True)
    assert solve(lost, "moves").lower is None


def test_a_game_is_solved_as_it_stands_and_left_as_it_was() -> None:
    game = Game(0)
    while not game.is_over:
        before = repr(game)
        solution = solve(game, "moves")
        assert repr(game) == before
        assert solution.value is not None
        follow = solution.moves[0]
        game.play(follow)
        assert solve(game, "moves").value == solution.value - 1
    assert game.is_won


def test_a_position_and_cards_are_solved_like_the_game() -> None:
    game = Game(12, "covered")
    game.play(next(iter(game.legal_moves)))
    for objective in OBJECTIVES:
        by_game = solve(game, objective)
        by_position = solve_position(game.position, game.deal.array, "covered", objective)
        assert replace(by_game, seconds=0.0) == replace(by_position, seconds=0.0)


# Relations between answers


def values(rules: Rules | str, objective: Objective = "win", n: int = 100) -> list[int]:
    solutions = solve_batch(range(1000, 1000 + n), rules, objective)
    assert all(solution.is_proved for solution in solutions)
    return [int(solution.value or 0) for solution in solutions]


def test_more_passes_never_hurt() -> None:
    for goal in ("pyramid", "all"):
        for objective in ("win", "cards"):
            by_passes = [values(Rules(goal=goal, passes=n), objective) for n in (1, 2, 3, None)]
            for fewer, more in pairwise(by_passes):
                assert all(a <= b for a, b in zip(fewer, more, strict=True))


def test_the_pyramid_alone_never_loses_where_all_cards_can_go() -> None:
    wins = zip(values("classic"), values("pyramid-only"), strict=True)
    assert all(classic <= pyramid for classic, pyramid in wins)


@pytest.mark.parametrize("name", ["kawu-1", "classic", "reserve"])
def test_covered_pairs_and_a_playable_stock_never_hurt(name: str) -> None:
    rules = PRESETS[name]
    plain = values(rules)
    covered = values(replace(rules, covered_pairs=True))
    face_down = values(replace(rules, stock_playable=False))
    assert all(a <= b <= c for a, b, c in zip(face_down, plain, covered, strict=True))


@pytest.mark.parametrize("name", PRESETS)
def test_no_line_to_the_goal_is_shorter_than_the_fewest_moves(name: str) -> None:
    for number, fewest in enumerate(solve_batch(range(1000, 1020), name, "moves"), start=1000):
        line = solve(Game(number, name)).moves
        assert (fewest.value is None) == (not line)
        assert fewest.value is None or fewest.value <= len(line)


@pytest.mark.parametrize("name", [name for name, rules in PRESETS.items() if rules.goal != "all"])
def test_all_28_cards_can_go_exactly_when_the_game_can_be_won(name: str) -> None:
    assert [cards == 28 for cards in values(name, "cards")] == [win == 1 for win in values(name)]


@pytest.mark.parametrize("name", PRESETS)
def test_a_best_move_keeps_the_value_and_no_move_betters_it(name: str) -> None:
    generator = np.random.default_rng(6)
    for game, _ in islice(late_games(PRESETS[name], generator, 2000), 10):
        win, cards, moves = (solve(game, objective).value for objective in OBJECTIVES)
        children = []
        for move in game.legal_moves:
            child = game.copy()
            child.play(move)
            children.append([solve(child, objective).value for objective in OBJECTIVES])
        if children:
            assert any(child[0] for child in children) == win
            assert max(int(child[1] or 0) for child in children) == cards
            lengths = [child[2] for child in children if child[2] is not None]
            assert (min(lengths) + 1 if lengths else None) == moves


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": "score"}, "objective='score' is not allowed: one of win, cards, moves"),
        ({"node_limit": 0}, "node_limit=0 is not allowed"),
        ({"node_limit": 2.5}, "node_limit=2.5 is not allowed"),
        ({"time_limit": 0}, "time_limit=0 is not allowed"),
        ({"time_limit": float("nan")}, "time_limit=nan is not allowed"),
        ({"rules": "pharaoh"}, "unknown rules 'pharaoh'"),
        ({"position": -1}, "position=-1 is none of a game by"),
        ({"position": "3"}, "position='3' is none of a game by"),
        ({"position": 2**64}, "is none of a game by"),
        ({"position": 0}, "position=0 is none of a game by"),
        ({"position": (3 << 57) | 2**52 - 1}, "is none of a game by"),  # a fourth pass
        ({"cards": np.zeros(51, np.uint8)}, r"cards must be uint8\[52\], not uint8 of shape"),
        ({"cards": np.arange(52)}, r"cards must be uint8\[52\], not int64"),
        ({"cards": np.zeros(52, np.uint8)}, "cards must be the 52 of one deck"),
        ({"cards": np.arange(64, 116, dtype=np.uint8)}, "cards must be the 52 of one deck"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, object], message: str) -> None:
    deal = Deal.from_number(0)
    good = {"position": Game(deal).position, "cards": deal.array, "rules": "kawu"}
    with pytest.raises(ValueError, match=message):
        solve_position(**(good | arguments))  # type: ignore[arg-type]
