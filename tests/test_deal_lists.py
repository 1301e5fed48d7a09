"""Deals as people write them in files and on command lines."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from pyramid_env.cards import card_symbol
from pyramid_env.commands.deal_lists import deals_of_words, parse_deals, read_deals
from pyramid_env.deals import Deal

DEALS = [Deal.from_number(number) for number in range(4)]


def pyramid(deal: Deal, rest_per_line: int = 24) -> str:
    """A deal as a picture: seven indented rows, then the rest."""
    words = str(deal).split()
    rows = [words[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(7)]
    lines = ["  " * (6 - i) + "  ".join(row) for i, row in enumerate(rows)]
    lines += [" ".join(words[i : i + rest_per_line]) for i in range(28, 52, rest_per_line)]
    return "\n".join(lines)


def parsed(text: str) -> list[tuple[str, Deal]]:
    return [(listed.name, listed.deal) for listed in parse_deals(text.splitlines(), "deals.txt")]


def test_a_line_is_a_number_or_the_cards_of_a_deal() -> None:
    symbols = "".join(map(card_symbol, DEALS[3].cards))
    text = f"0\n{DEALS[1]}\n\n  2  \n{str(DEALS[2]).lower().replace('t', '10')}\n{symbols}\n"
    assert parsed(text) == [
        ("0", DEALS[0]),
        ("deals.txt:2", DEALS[1]),
        ("2", DEALS[2]),
        ("deals.txt:5", DEALS[2]),
        ("deals.txt:6", DEALS[3]),
    ]


@pytest.mark.parametrize("rest_per_line", [24, 8, 7])
def test_pyramids_stand_between_blank_lines(rest_per_line: int) -> None:
    blocks = [pyramid(deal, rest_per_line) for deal in DEALS]
    lines = blocks[0].count("\n") + 1
    for text in ("\n\n".join(blocks), "\n" + "\n\n\n".join(blocks) + "\n \n"):
        assert [deal for _, deal in parsed(text)] == DEALS
    assert parsed("\n\n".join(blocks))[1][0] == f"deals.txt:{lines + 2}"


def test_a_pyramid_ends_where_a_whole_deal_follows() -> None:
    text = f"{pyramid(DEALS[0])}\n1\n{pyramid(DEALS[2])}\n{DEALS[3]}"
    assert [deal for _, deal in parsed(text)] == DEALS


def test_a_deal_may_go_over_lines_of_any_length() -> None:
    words = str(DEALS[0]).split()
    assert parsed(" ".join(words[:28]) + "\n" + " ".join(words[28:])) == [("deals.txt:1", DEALS[0])]


def test_comments_are_left_out_and_end_no_pyramid() -> None:
    rows = pyramid(DEALS[0]).splitlines()
    text = "# two deals\n7 # lucky\n\n" + "\n".join([*rows[:3], "# the rest", *rows[3:]]) + " # end"
    assert parsed(text) == [("7", Deal.from_number(7)), ("deals.txt:4", DEALS[0])]


def with_line(text: str, index: int, change: tuple[str, str]) -> str:
    lines = text.splitlines()
    lines[index] = lines[index].replace(*change)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nhello\n2", "deals.txt:2: cannot read 'hello' as a card, at card 1 "),
        (f"1\n{str(DEALS[0])[:-3]}\n2", "deals.txt:2: a deal has 52 cards, here are 51"),
        (f"{DEALS[0]} {DEALS[0]}", "deals.txt:1: KC is there twice: at card 1 "),
        ("1\n-1", "deals.txt:2: no deal has number -1: a whole number from 0 to 2^64 - 1"),
        ("18446744073709551616", "deals.txt:1: no deal has number 18446744073709551616"),
        (
            with_line(pyramid(DEALS[0]), 3, ("KS", "1S")),
            "deals.txt:4: cannot read '1S' as a card, at card 7 ",
        ),
        (
            with_line(pyramid(DEALS[0]), 2, ("TS", "KC")),
            "deals.txt:3: KC is there twice: at card 1 ",
        ),
        (
            "5\n" + with_line(pyramid(DEALS[0]), 4, ("3S", "")),
            "deals.txt:6: row 5 of a pyramid has 5 cards, here are 4",
        ),
        (with_line(pyramid(DEALS[0]), 7, ("7S", "")), "deals.txt:8: a deal has 52 cards, here are"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        parsed(text)
    assert "\n" not in str(caught.value)


def test_all_bad_lines_are_named() -> None:
    with pytest.raises(ValueError, match=r"^deals.txt:1: .*\(other bad lines: 3, 5\)$"):
        parsed("x\n1\ny\n2\nz")
    with pytest.raises(ValueError, match=r"\(other bad lines: 2, 3, .*10, \.\.\.\)$"):
        parsed("-1\n" * 30)


def test_words_are_numbers_or_one_deal() -> None:
    assert [listed.deal for listed in deals_of_words(["0", "1", "2", "3"])] == DEALS
    for words in ([str(DEALS[0])], str(DEALS[0]).split(), [pyramid(DEALS[0])]):
        assert [listed.deal for listed in deals_of_words(words)] == [DEALS[0]]
    with pytest.raises(ValueError, match="cannot read 'seven' as a card"):
        deals_of_words(["seven"])


def test_a_file_or_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deals.txt"
    path.write_bytes(b"\xef\xbb\xbf0\r\n1\r\n2\r\n3")
    assert [listed.deal for listed in read_deals(str(path))] == DEALS
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0\n1\nbad\n")))
    with pytest.raises(ValueError, match="stdin:3: cannot read 'bad'"):
        read_deals("-")


def test_a_file_without_deals_or_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deals.txt"
    path.write_text("# nothing yet\n\n")
    with pytest.raises(ValueError, match=r"deals\.txt: there is no deal in it"):
        read_deals(str(path))
    path.write_bytes(b"1\n2\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"deals\.txt:3: this is no UTF-8 text"):
        read_deals(str(path))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_deals(str(tmp_path / "nowhere.txt"))
