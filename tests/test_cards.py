"""Cards: numbers, ranks, suits and texts."""

import pytest

from pyramid_env.cards import (
    N_CARDS,
    Card,
    card_symbol,
    card_text,
    is_red,
    make_card,
    parse_card,
    rank_of,
    scan_cards,
    suit_of,
)

DECK = [Card(i) for i in range(N_CARDS)]


def test_a_deck_is_thirteen_ranks_in_four_suits() -> None:
    assert len({(rank_of(card), suit_of(card)) for card in DECK}) == 52
    assert {rank_of(card) for card in DECK} == set(range(1, 14))
    assert {suit_of(card) for card in DECK} == {0, 1, 2, 3}
    assert all(make_card(rank_of(card), suit_of(card)) == card for card in DECK)


def test_numbers_run_from_the_ace_of_clubs_to_the_king_of_spades() -> None:
    texts = [card_text(card) for card in DECK]
    ranks = ["A", *"23456789", "T", "J", "Q", "K"]
    assert texts == [rank + suit for suit in "CDHS" for rank in ranks]


def test_diamonds_and_hearts_are_red() -> None:
    assert {card_text(card)[1] for card in DECK if is_red(card)} == {"D", "H"}


@pytest.mark.parametrize("card", DECK)
def test_a_card_is_read_back_from_its_text_and_its_symbol(card: Card) -> None:
    assert parse_card(card_text(card)) == card
    assert parse_card(card_text(card).lower()) == card
    assert parse_card(card_symbol(card)) == card


@pytest.mark.parametrize(
    "text", ["TH", "10H", "th", "10h", " TH ", "10♥", "T♥", "10♡", "10♥\ufe0f"]
)
def test_a_ten_of_hearts_is_read_in_every_spelling(text: str) -> None:
    assert parse_card(text) == make_card(10, 2)


@pytest.mark.parametrize(
    "text", ["", "Q", "S", "SQ", "1S", "11S", "QX", "QSS", "QS AH", "0H", "♠Q"]
)
def test_what_is_no_card_is_an_error_that_names_it(text: str) -> None:
    message = f"cannot read '{text}' as a card: write a rank and a suit, such as QS"
    with pytest.raises(ValueError, match=message):
        parse_card(text)


def test_a_letter_that_only_looks_like_a_rank_is_no_card() -> None:
    with pytest.raises(ValueError, match="cannot read '\u212aS' as a card"):
        parse_card("\u212aS")


@pytest.mark.parametrize(("rank", "suit"), [(0, 0), (14, 0), (1, -1), (1, 4)])
def test_no_card_has_a_rank_or_a_suit_outside_the_deck(rank: int, suit: int) -> None:
    with pytest.raises(ValueError, match=f"rank {rank} and suit {suit}: ranks are 1-13, suits 0-3"):
        make_card(rank, suit)


def test_scanning_needs_no_white_space_and_skips_the_rest_of_an_unreadable_word() -> None:
    found = [(text, card and card_text(card)) for text, card in scan_cards("qs10D\n K♥ 5Hxx9C 2S")]
    assert found == [
        ("qs", "QS"),
        ("10D", "TD"),
        ("K♥", "KH"),
        ("5H", "5H"),
        ("xx9C", None),
        ("2S", "2S"),
    ]
