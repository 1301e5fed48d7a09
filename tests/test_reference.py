"""The reference held against the rules' words, by hand-made positions."""

import pytest
from reference import PYRAMID, ReferenceGame, ReferenceRules

DECK = [rank + suit for suit in "CDHS" for rank in "A23456789TJQK"]


def position(
    table: dict[str, str], stock: str = "", waste: str = "", rules: ReferenceRules | None = None
) -> ReferenceGame:
    """A game with only these cards left: stock from the next card on, waste up to its top."""
    game = ReferenceGame(DECK, rules or ReferenceRules())
    game.table, game.stock, game.waste = dict(table), stock.split(), waste.split()
    return game


def test_a_deal_is_pyramid_then_reserve_then_stock() -> None:
    game = ReferenceGame(DECK, ReferenceRules(reserve=2))
    assert (game.table["A1"], game.table["B1"], game.table["G7"]) == ("AC", "2C", "2H")
    assert (game.table["R1"], game.table["R2"], game.stock[0]) == ("3H", "4H", "5H")
    # Row G holds 9D TD JD QD KD AH 2H; with 3H and 4H beside it and 5H on the stock.
    assert game.legal_moves() == {"G4+G6", "G3+G7", "G5", "G2+R1", "G1+R2", "draw"}


@pytest.mark.parametrize("place", PYRAMID)
def test_a_lone_king_goes_from_every_slot(place: str) -> None:
    game = position({place: "KS"}, rules=ReferenceRules(passes=1))
    assert not game.is_lost
    assert game.legal_moves() == {place}
    game.play(place)
    assert game.is_won
    assert game.score == 28
    assert game.legal_moves() == set()


def test_every_partner_counts_and_pairs_are_named_in_order() -> None:
    game = position({"G1": "AS", "G7": "QH", "R2": "QD"}, "QC KH", "AC", ReferenceRules(reserve=2))
    queens_with_ace_g1 = {"G1+G7", "G1+S", "G1+R2"}
    queens_with_ace_on_waste = {"G7+W", "W+S", "W+R2"}
    assert game.legal_moves() == queens_with_ace_g1 | queens_with_ace_on_waste | {"draw"}


@pytest.mark.parametrize(
    ("table", "moves"),
    [
        ({"B1": "6S", "C1": "7H"}, {"B1+C1"}),
        ({"B1": "6S", "C1": "7H", "C2": "2D"}, set()),  # C2 covers B1 too
        ({"B1": "6S", "B2": "6D", "C2": "7H"}, {"B1+C2", "B2+C2"}),
        ({"B1": "6S", "C1": "7H", "D1": "2D"}, set()),  # C1 is not available itself
        ({"A1": "6S", "B1": "2D", "C1": "7H"}, set()),  # not the row above C1
        ({"B1": "KS", "C1": "7H"}, set()),  # a covered king stays
    ],
)
def test_a_covered_card_stays_unless_the_rule_pairs_it_with_its_only_cover(
    table: dict[str, str], moves: set[str]
) -> None:
    assert position(table, rules=ReferenceRules(covered_pairs=True)).legal_moves() == moves
    without_the_rule = position(table)
    assert without_the_rule.is_lost
    with pytest.raises(ValueError, match="not legal"):
        without_the_rule.play("B1+C1")


def test_three_passes_are_two_recycles_in_the_same_order_and_the_last_waste_card_can_go() -> None:
    game = position({"G1": "2S"}, "5C 6C KC")
    for passes_left in (2, 1, 0):
        assert game.passes_left == passes_left
        assert game.stock == ["5C", "6C", "KC"]
        for _ in range(3):
            assert "recycle" not in game.legal_moves()
            game.play("draw")
        assert "draw" not in game.legal_moves()
        if passes_left:
            game.play("recycle")
    assert game.legal_moves() == {"W"}
    game.play("W")
    assert game.is_lost
    assert game.is_over
    assert not game.is_won


def test_a_waste_of_one_card_recycles_and_an_empty_one_does_not() -> None:
    assert position({"G1": "2S"}, waste="5C").legal_moves() == {"recycle"}
    assert position({"G1": "2S"}).is_lost


def test_the_last_draw_moves_what_is_left_and_a_stock_that_is_not_playable_is_not_played() -> None:
    game = position({"G1": "AS"}, "KC 2C QC KD", rules=ReferenceRules(draw=3, stock_playable=False))
    assert game.legal_moves() == {"draw"}
    game.play("draw")
    assert game.legal_moves() == {"G1+W", "draw"}
    game.play("draw")
    assert game.waste == ["KC", "2C", "QC", "KD"]
    assert game.legal_moves() == {"W", "recycle"}


def test_the_goal_names_the_cards_that_count() -> None:
    left_over = {"R1": "KS"}
    pyramid = position(left_over, "KD", rules=ReferenceRules(reserve=1))
    assert pyramid.is_won
    assert pyramid.legal_moves() == set()
    assert pyramid.goal_cards_removed == 28
    everything = position(left_over, "KD", rules=ReferenceRules(goal="all", reserve=1))
    assert everything.goal_cards_removed == 50
    assert everything.score == 28
    everything.play("R1")
    assert not everything.is_won
    everything.play("S")
    assert everything.is_won
    assert everything.goal_cards_removed == 52


@pytest.mark.parametrize(
    ("stock", "waste", "lost"),
    [
        ("3C", "7H 2C", True),  # tops to come: 2C, 3C; then 3C for ever
        ("3C", "2C 4C 7H 2D", False),  # tops to come: 2D, 3C; then 7H, the third card
        ("3C 4C 7H", "2C", False),  # 7H comes in this pass
    ],
)
def test_unlimited_passes_end_when_no_pass_shows_a_removal(
    stock: str, waste: str, lost: bool
) -> None:
    rules = ReferenceRules(passes=None, draw=3, stock_playable=False)
    game = position({"G1": "6S"}, stock, waste, rules)
    assert game.passes_left is None
    assert game.is_lost == lost
    assert game.legal_moves() == (set() if lost else {"draw"})


def test_the_observation_shows_what_the_player_has_seen() -> None:
    game = position({"A1": "2S", "R7": "3S"}, "5C JC 6D", "4C AC", ReferenceRules(reserve=7))
    table = [2] + [0] * 27 + [0] * 6 + [3]
    waste = [1, 4] + [0] * 15
    nothing_unseen = [0] * 13
    unseen = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]  # the six and the jack
    assert game.observation() == table + waste + [5, 14, 14] + [0] * 14 + [2] + unseen
    shown = table + waste + [5, 11, 6] + [0] * 14 + [2] + nothing_unseen
    assert game.observation(thoughtful=True) == shown

    for move in ("draw", "draw", "draw", "recycle"):
        game.play(move)
    stock = [4, 1, 5, 11, 6] + [0] * 12
    assert game.observation() == table + [0] * 17 + stock + [1] + nothing_unseen


def test_a_stock_that_is_not_playable_is_face_down_and_unlimited_passes_show_as_nine() -> None:
    game = position({"G1": "8S"}, "5C", rules=ReferenceRules(passes=None, stock_playable=False))
    *_, passes = game.observation()[:77]
    assert game.observation()[52:54] == [14, 0]
    assert passes == 9
    assert position({"G1": "8S"}, rules=ReferenceRules(passes=12)).observation()[76] == 9


def test_a_copy_is_played_on_alone() -> None:
    game = position({"G1": "KS", "F1": "2S"}, "5C")
    twin = game.copy()
    twin.play("G1")
    twin.play("draw")
    assert (game.score, twin.score) == (26, 27)
    assert game.stock == ["5C"]
    assert game.legal_moves() == {"G1", "draw"}
