"""Faults that other implementations of this game have shipped, each as a test of ours.

The numbers are those of the list they come from; the missing ones concern the solver.
"""

import pytest
from positions import deal_with, game_at, legal_texts

from pyramid_env.game import Game
from pyramid_env.observation import Information, observe
from pyramid_env.pyramid import N_SLOTS, Place, place_name
from pyramid_env.rules import Rules

APEX = {"A1": "2C"}
"""A pyramid of one card, which none of the other cards below can be removed with."""


def refuses(game: Game, move: str) -> bool:
    """Whether playing the move raises `ValueError` and leaves the position as it was."""
    before = game.position
    with pytest.raises(ValueError, match="illegal move"):
        game.play(move)
    return game.position == before


def view_of(game: Game, information: Information) -> list[int]:
    numbers: list[int] = observe(game.position, game.deal, game.rules, information).tolist()
    return numbers


def draw_all(game: Game) -> None:
    while game.stock:
        game.play("draw")


def test_fault_01_one_pair_is_one_move_and_one_undo() -> None:
    game = Game(deal_with({"G1": "QS", "G7": "AH"}))
    start = game.position
    game.play("G1+G7")
    assert (len(game.history), game.score) == (1, 2)
    game.undo()
    assert (game.position, game.history, game.score) == (start, (), 0)


@pytest.mark.parametrize("information", ["fair", "thoughtful"])
def test_fault_02_undo_restores_stock_waste_pass_cards_and_what_is_seen(
    information: Information,
) -> None:
    game = Game(deal_with({"G1": "KS", "G2": "QH"}, "AC KC 5C"))

    def everything() -> tuple[object, ...]:
        table = (game.pyramid, game.stock, game.waste, game.unseen)
        return (*table, game.passes_left, game.score, view_of(game, information))

    line = ["G1", "draw", "G2+W", "S", *["draw"] * 22, "recycle", "draw", "draw"]
    before = []
    for move in line:
        before.append(everything())
        game.play(move)
    while before:
        game.undo()
        assert everything() == before.pop()


def test_fault_03_the_last_card_of_the_waste_can_be_played_when_no_pass_is_left() -> None:
    rules = Rules(goal="all", passes=1)
    king = game_at({}, "", "KC", rules)
    king.play("W")
    assert king.is_won
    pair = game_at({"A1": "QC"}, "", "AC", rules)
    pair.play("A1+W")
    assert pair.is_won


def test_fault_04_the_goal_names_the_cards_that_count() -> None:
    reserve = {"R1": "5C"}
    for goal, won in (("pyramid", True), ("all", False)):
        for table, stock, waste in ((reserve, "", ""), ({}, "5C", ""), ({}, "", "5C")):
            rules = Rules(goal=goal, reserve=1)  # type: ignore[arg-type]
            assert game_at(table, stock, waste, rules).is_won == won
    assert game_at({}, rules=Rules(goal="all", reserve=1)).is_won


def test_fault_05_an_empty_stock_is_not_drawn_from_and_an_empty_waste_not_recycled() -> None:
    empty_stock = game_at(APEX, "", "3C")
    assert refuses(empty_stock, "draw")
    assert legal_texts(empty_stock) == {"recycle"}
    empty_waste = game_at(APEX | {"G1": "KC"})
    assert refuses(empty_waste, "draw")
    assert refuses(empty_waste, "recycle")
    stock_left = game_at(APEX, "3C", "4C")
    assert refuses(stock_left, "recycle")
    no_pass_left = game_at(APEX | {"G1": "KC"}, "", "3C", recycles=2)
    assert refuses(no_pass_left, "recycle")


@pytest.mark.parametrize("waste", ["3C", "3C 4C", "3C 4C 5C"])
def test_fault_06_a_waste_of_any_size_is_turned_back(waste: str) -> None:
    game = game_at(APEX, "", waste)
    cards = game.waste
    game.play("recycle")
    assert (game.stock, game.waste) == (cards, ())


def test_fault_07_no_pair_is_not_stuck_while_a_draw_or_a_recycle_is_left() -> None:
    for stock, waste, move in (("3C", "", "draw"), ("", "3C", "recycle")):
        game = game_at(APEX, stock, waste)
        assert legal_texts(game) == {move}
        assert not game.is_lost
    rules = Rules(reserve=2)
    everywhere = game_at({"G1": "6C", "R1": "7S", "R2": "6D"}, "7C 3C", "6S", rules)
    pairs = {"G1+S", "W+S", "S+R2", "G1+R1", "W+R1", "R1+R2"}
    assert legal_texts(everywhere) == pairs | {"draw"}


def test_fault_08_a_covered_king_stays() -> None:
    game = game_at({"F1": "KC", "G2": "3C"}, "4C")
    assert refuses(game, "F1")
    uncovered = game_at({"F1": "KC", "G3": "3C"}, "4C")
    uncovered.play("F1")
    assert uncovered.score == N_SLOTS - 1


def test_fault_09_a_card_that_the_pair_itself_would_expose_cannot_be_its_partner() -> None:
    table = {"F1": "6C", "G1": "7C", "F3": "QC", "G3": "AC", "G4": "3C"}
    assert refuses(game_at(table, "4C"), "F1+G1")

    game = game_at(table, "4C", rules=Rules(covered_pairs=True))
    assert refuses(game, "F3+G3")  # covered by G4 as well
    game.play("F1+G1")
    assert game.score == N_SLOTS - 3
    two_rows_up = {"E1": "6C", "F1": "3C", "G1": "7C"}
    assert refuses(game_at(two_rows_up, "4C", rules=Rules(covered_pairs=True)), "E1+G1")
    cover_not_available = {"E1": "6C", "F1": "7C", "G1": "3C"}
    assert refuses(game_at(cover_not_available, "4C", rules=Rules(covered_pairs=True)), "E1+F1")


@pytest.mark.parametrize(
    ("table", "stock", "waste", "king"),
    [
        (APEX | {"G1": "KC"}, "", "", "G1"),
        (APEX | {"R1": "KC"}, "", "", "R1"),
        (APEX, "", "3C KC", "W"),
        (APEX, "KC", "", "S"),
    ],
)
def test_fault_10_a_game_is_not_lost_while_a_king_can_go(
    table: dict[str, str], stock: str, waste: str, king: str
) -> None:
    game = game_at(table, stock, waste, Rules(passes=1, reserve=1))
    assert not game.is_lost
    game.play(king)
    assert game.is_lost


def test_fault_11_a_game_is_won_exactly_when_the_cards_of_the_goal_are_gone() -> None:
    for slot in range(N_SLOTS):
        one_left = game_at({place_name(Place(slot)): "KC"}, "3C")
        assert not one_left.is_won
        one_left.play("KC")
        assert one_left.is_won
        assert one_left.legal_actions() == []
    without_apex = game_at({"B1": "KC"}, "3C")
    assert not without_apex.is_won
    apex_alone = game_at({"A1": "3C"})
    assert not apex_alone.is_won
    assert apex_alone.is_lost


@pytest.mark.parametrize("slot", range(N_SLOTS))
def test_fault_12_a_lone_king_is_seen_in_every_slot(slot: int) -> None:
    name = place_name(Place(slot))
    game = game_at({name: "KC"})
    assert legal_texts(game) == {name}
    assert not game.is_lost


@pytest.mark.parametrize("slots", [(a, b) for b in range(21, 28) for a in range(21, b)])
def test_fault_12_a_pair_is_seen_in_all_slots_of_the_bottom_row(slots: tuple[int, int]) -> None:
    names = [place_name(Place(slot)) for slot in slots]
    assert legal_texts(game_at(dict(zip(names, ("6C", "7C"), strict=True)))) == {"+".join(names)}


def test_fault_13_every_partner_of_a_rank_is_tried() -> None:
    game = game_at({"G1": "AC", "G3": "AD", "G5": "QC", "G7": "QD"})
    assert legal_texts(game) == {"G1+G5", "G1+G7", "G3+G5", "G3+G7"}


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_fault_15_passes_are_trips_through_the_stock(passes: int) -> None:
    # Kings wait in row G, so the game goes on after the last pass.
    game = Game(deal_with({"G1": "KC"}, "2C 3C"), Rules(passes=passes))
    trips = 0
    while True:
        assert game.passes_left == passes - 1 - trips
        draw_all(game)
        trips += 1
        if "recycle" not in game.legal_moves:
            break
        game.play("recycle")
    assert trips == passes
    assert str(game.history).count("recycle") == passes - 1
    assert refuses(game, "recycle")
