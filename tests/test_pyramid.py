"""The pyramid's geometry and the names of places."""

import re

import pytest

from pyramid_env.pyramid import (
    FIRST_RESERVE,
    N_PLACES,
    N_SLOTS,
    ROW_OF,
    ROW_START,
    STOCK_TOP,
    WASTE_TOP,
    Place,
    Slot,
    covers_of,
    lies_above,
    parse_place,
    place_name,
)

SLOTS = [Slot(i) for i in range(N_SLOTS)]


def test_seven_rows_of_one_to_seven_cards() -> None:
    assert [ROW_OF.count(row) for row in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    assert [ROW_OF[start] for start in ROW_START] == [0, 1, 2, 3, 4, 5, 6]
    assert all(ROW_OF[start - 1] == ROW_OF[start] - 1 for start in ROW_START[1:])


def test_a_card_is_covered_by_its_two_neighbours_of_the_row_below() -> None:
    for slot in SLOTS[:21]:
        name = place_name(Place(slot))
        row_below, column = chr(ord(name[0]) + 1), int(name[1])
        covers = [place_name(Place(cover)) for cover in covers_of(slot)]
        assert covers == [f"{row_below}{column}", f"{row_below}{column + 1}"]
    assert all(covers_of(slot) == () for slot in SLOTS[21:])


def test_every_slot_lies_under_the_apex_and_an_inner_one_under_two() -> None:
    assert all(lies_above(Slot(0), slot) for slot in SLOTS[1:])
    covered_by = [sum(slot in covers_of(upper) for upper in SLOTS) for slot in SLOTS]
    edges = set(ROW_START[1:]) | {start - 1 for start in (*ROW_START[2:], N_SLOTS)}
    assert covered_by == [0 if slot == 0 else 1 if slot in edges else 2 for slot in SLOTS]


def test_a_slot_lies_above_the_triangle_below_it() -> None:
    below = " ".join(place_name(Place(slot)) for slot in SLOTS if lies_above(Slot(4), slot))
    assert below == "D2 D3 E2 E3 E4 F2 F3 F4 F5 G2 G3 G4 G5 G6"
    assert not any(lies_above(slot, slot) for slot in SLOTS)


def test_names_and_places_are_pairs() -> None:
    names = [place_name(Place(place)) for place in range(N_PLACES)]
    assert names[:6] == ["A1", "B1", "B2", "C1", "C2", "C3"]
    assert names[21:28] == ["G1", "G2", "G3", "G4", "G5", "G6", "G7"]
    assert names[28:] == ["W", "S", "R1", "R2", "R3", "R4", "R5", "R6", "R7"]
    assert (names[WASTE_TOP], names[STOCK_TOP], names[FIRST_RESERVE]) == ("W", "S", "R1")
    assert [parse_place(name) for name in names] == list(range(N_PLACES))
    assert [parse_place(f" {name.lower()} ") for name in names] == list(range(N_PLACES))


@pytest.mark.parametrize("name", ["", "A2", "B3", "G8", "H1", "A0", "R0", "R8", "X", "29"])
def test_an_unknown_name_is_an_error_that_lists_the_names(name: str) -> None:
    message = (
        f"no place is named '{name}': pyramid slots are A1 to G7, then W (waste), S (stock)"
        " and R1 to R7 (reserve)"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_place(name)
