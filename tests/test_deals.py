"""Deals: the shuffle to the bit, its evenness, and texts in and out."""

import datetime
import random
import re
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import DEALS
from numpy.typing import NDArray

from pyramid_env.cards import N_CARDS, card_symbol, card_text
from pyramid_env.deals import (
    FIRST_HELD_OUT_NUMBER,
    FIRST_TRAINING_NUMBER,
    N_NUMBERS,
    Deal,
    get_deal,
    mix,
    random_training_number,
    shuffle,
    training_number,
)

SPECIFICATION = (Path(__file__).parent.parent / "docs" / "deals.md").read_text("utf-8")
GOLDEN_DEALS = dict(line.split(": ") for line in DEALS.read_text("utf-8").splitlines())
DECK = [card_text(card) for card in Deal(range(52)).cards]  # type: ignore[arg-type]

FEWEST_RESHUFFLED = 1_532_511
"""The smallest number whose shuffle throws a word away (at the 28th card)."""


def specified(name: str) -> Any:
    """A name of the program in docs/deals.md."""
    [program] = re.findall(r"```python\n(.*?)```", SPECIFICATION, re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    return namespace[name]


def deals_of(numbers: Iterable[int]) -> NDArray[np.uint8]:
    """The cards of many deals, a row each."""
    words = np.array(list(numbers), np.uint64)
    cards = np.empty((len(words), N_CARDS), np.uint8)
    for row, number in zip(cards, words, strict=True):
        shuffle(number, row)
    return cards


# The shuffle


def test_every_deal_is_the_one_of_the_specification() -> None:
    shuffle_as_specified = specified("shuffle")
    generator = random.Random("deals")
    numbers = [*range(500), *(generator.getrandbits(64) for _ in range(500))]
    numbers += [FEWEST_RESHUFFLED, 2**32 - 1, 2**32, 2**63 - 1, 2**63, N_NUMBERS - 1]
    for number in numbers:
        assert list(Deal.from_number(number).cards) == shuffle_as_specified(number), number


def test_words_below_the_bound_are_thrown_away() -> None:
    gamma, mix_as_specified = specified("GAMMA"), specified("mix")
    key = mix_as_specified(FEWEST_RESHUFFLED)
    low_halves = [
        ((mix_as_specified((key + i * gamma) % 2**64) >> 32) * bound % 2**32, 2**32 % bound)
        for i, bound in enumerate(range(52, 1, -1), start=1)
    ]
    assert [52 - i for i, (low, least) in enumerate(low_halves) if low < least][:1] == [28]


def test_mixing_is_that_of_splitmix64() -> None:
    # The first words of SplitMix64 seeded with 1234567, as published with the generator.
    gamma = specified("GAMMA")
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    states = [np.uint64(1234567 + i * gamma & N_NUMBERS - 1) for i in (1, 2, 3)]
    assert [int(mix(state)) for state in states] == published


@pytest.mark.parametrize(("number", "text"), GOLDEN_DEALS.items())
def test_golden_deals_never_change(number: str, text: str) -> None:
    assert str(Deal.from_number(int(number))) == text


def test_the_golden_deals_of_the_specification_are_those_of_the_golden_file() -> None:
    [block] = re.findall(r"```text\n(.*?)```", SPECIFICATION, re.DOTALL)
    found = dict(re.findall(r"^(\d+):\n((?:[2-9TJQKACDHS]{2}\s+)+)", block, re.MULTILINE))
    assert list(found) == ["0", str(FEWEST_RESHUFFLED), str(N_NUMBERS - 1)]
    assert all(" ".join(text.split()) == GOLDEN_DEALS[number] for number, text in found.items())


def limits_of_chi_square(freedom: int, error: float) -> tuple[float, float]:
    """Where a chi-square variable lies, but for a probability of at most `error` on each side.

    Laurent and Massart, "Adaptive estimation of a quadratic functional by model selection",
    Annals of Statistics 28, 2000, Lemma 1.
    """
    x = -np.log(error)
    spread = 2 * np.sqrt(freedom * x)
    return freedom - spread, freedom + spread + 2 * x


def episode_numbers(keys: Iterable[int], episodes: Iterable[int]) -> list[int]:
    """The training numbers of each key with its episode."""
    return [
        int(training_number(np.uint64(key), np.uint64(episode)))
        for key, episode in zip(keys, episodes, strict=False)
    ]


def drawn_numbers(count: int) -> list[int]:
    generator = np.random.default_rng(5)
    return [random_training_number(generator) for _ in range(count)]


NUMBERS: dict[str, Callable[[int], Iterable[int]]] = {
    "benchmark": lambda count: range(count),
    "every 2^32-th": lambda count: range(0, count * 2**32, 2**32),
    "highest": lambda count: range(N_NUMBERS - count, N_NUMBERS),
    "drawn for training": drawn_numbers,
    "episodes of one key": lambda count: episode_numbers(repeat(3), range(count)),
    "first episodes": lambda count: episode_numbers(range(count), repeat(0)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_every_card_is_at_every_place_equally_often(name: str) -> None:
    cards = deals_of(NUMBERS[name](100_000))
    counts = np.bincount((cards + np.arange(N_CARDS) * N_CARDS).ravel(), minlength=N_CARDS**2)
    expected = len(cards) / N_CARDS
    # Each row and each column of the counts has a fixed sum: 51 times 51 degrees of freedom.
    statistic = 51 / 52 * ((counts - expected) ** 2 / expected).sum()
    low, high = limits_of_chi_square(51 * 51, error=1e-6)
    assert low < statistic < high


@pytest.mark.parametrize("step", [1, 2**32, 2**63])
def test_neighbouring_numbers_have_unrelated_deals(step: int) -> None:
    n = 100_000
    deals = deals_of(range(n))
    neighbours = deals_of(number + step for number in range(n))
    # Two unrelated deals agree at one place on average, with variance one.
    agreements = (deals == neighbours).sum()
    assert abs(agreements - n) < 6 * np.sqrt(n)
    for place in (0, 27, 51):
        pairs = deals[:, place].astype(np.int64) * N_CARDS + neighbours[:, place]
        counts = np.bincount(pairs, minlength=N_CARDS**2)
        statistic = ((counts - n / N_CARDS**2) ** 2 / (n / N_CARDS**2)).sum()
        low, high = limits_of_chi_square(N_CARDS**2 - 1, error=1e-6)
        assert low < statistic < high


@pytest.mark.parametrize("name", ["drawn for training", "episodes of one key", "first episodes"])
def test_training_numbers_leave_the_numbers_of_evaluation_alone(name: str) -> None:
    numbers = list(NUMBERS[name](10_000))
    assert (FIRST_TRAINING_NUMBER, FIRST_HELD_OUT_NUMBER) == (2**32, 2**63)
    assert len(set(numbers)) == 10_000
    assert min(numbers) >= 2**32
    assert 2**62 < max(numbers) < 2**63


@pytest.mark.parametrize(("end", "number"), [(0, 2**32), (1, 2**63 - 1)])
def test_the_ends_of_the_generator_draw_the_first_and_the_last_training_number(
    end: int, number: int
) -> None:
    class Ends(np.random.Generator):
        def integers(self, low: Any, high: Any) -> Any:  # type: ignore[override]
            return (low, high - 1)[end]

    assert random_training_number(Ends(np.random.PCG64())) == number


def test_an_episode_has_the_number_of_the_specification() -> None:
    gamma, mix_as_specified = specified("GAMMA"), specified("mix")
    for key, episode in [(0, 0), (1, 0), (0, 1), (N_NUMBERS - 1, 12345)]:
        word = mix_as_specified((mix_as_specified(key) + (episode + 1) * gamma) % 2**64)
        assert int(training_number(np.uint64(key), np.uint64(episode))) == word >> 1 | 2**32


# Deals by number and by day


def test_a_number_is_any_whole_number_of_64_bits() -> None:
    assert Deal.from_number(np.int64(7)) == Deal.from_number(7)
    assert Deal.from_number(np.uint64(N_NUMBERS - 1)) == Deal.from_number(N_NUMBERS - 1)
    assert Deal.from_number(7).number == 7
    assert Deal.from_number(7) != Deal.from_number(8)


@pytest.mark.parametrize("number", [-1, N_NUMBERS, 1.0, "7", None, True])
def test_any_other_number_is_an_error_that_names_it(number: Any) -> None:
    message = f"no deal has number {number!r}: a whole number from 0 to 2^64 - 1"
    with pytest.raises(ValueError, match=re.escape(message)):
        Deal.from_number(number)


def test_the_daily_deal_has_the_number_of_its_date() -> None:
    assert Deal.daily(datetime.date(2026, 7, 4)).number == 20260704
    assert Deal.daily(datetime.date(2026, 7, 4)) == Deal.from_number(20260704)
    assert Deal.daily(datetime.date.max).number == 99991231 < FIRST_TRAINING_NUMBER


def test_without_a_date_the_daily_deal_is_that_of_today() -> None:
    before = datetime.date.today()
    deal = Deal.daily()
    assert deal in (Deal.daily(before), Deal.daily(datetime.date.today()))


# Texts


def test_a_deal_is_read_back_from_its_text_in_every_spelling() -> None:
    deal = Deal.from_number(3)
    text = str(deal)
    symbols = "\n".join(card_symbol(card) for card in deal.cards)
    spellings = [text, text.lower(), text.replace("T", "10"), text.replace(" ", ""), symbols]
    spellings += [symbols.replace("♥", "♡").replace("♠", "♠\ufe0f"), f"\t{text}\r\n"]
    assert [Deal.parse(spelling) for spelling in spellings] == [deal] * len(spellings)
    assert Deal.parse(text).number is None


def replaced(place: int, text: str) -> str:
    return " ".join([*DECK[:place], text, *DECK[place + 1 :]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (replaced(0, "1C"), "cannot read '1C' as a card, at card 1 (slot A1)"),
        (replaced(27, "QX"), "cannot read 'QX' as a card, at card 28 (slot G7)"),
        (replaced(51, "??"), "cannot read '??' as a card, at card 52"),
        (replaced(4, "AC"), "AC is there twice: at card 1 (slot A1) and at card 5 (slot C2)"),
        (replaced(51, "ks KS"), "KS is there twice: at card 52 and at card 53"),
        (
            " ".join(DECK[:-2]),
            "a deal has 52 cards, here are 50; the first place without one is card 51,"
            " and missing are QS KS",
        ),
        ("", "a deal has 52 cards, here are 0; the first place without one is card 1 (slot A1)"),
    ],
)
def test_a_bad_text_is_an_error_that_names_the_card_and_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Deal.parse(text)


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        (range(51), "here are 51; the first place without one is card 52, and missing are KS"),
        ([52, *range(1, 52)], "cannot read '52' as a card, at card 1 (slot A1)"),
        ([*range(51), -1], "cannot read '-1' as a card, at card 52"),
        ([*range(51), 0], "AC is there twice: at card 1 (slot A1) and at card 52"),
        (range(53), "cannot read '52' as a card, at card 53"),
    ],
)
def test_cards_that_are_no_deck_are_an_error(cards: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Deal(cards)


@pytest.mark.parametrize("card", ["QS", None, 0.5])
def test_what_is_no_card_number_is_an_error_that_names_it_and_its_place(card: Any) -> None:
    message = rf"cannot read '?{card}'? as a card, at card 1 \(slot A1\)"
    with pytest.raises(ValueError, match=message):
        Deal((card, *range(1, 52)))


# The value


def test_a_deal_is_a_value_made_of_its_cards() -> None:
    deal = Deal.from_number(11)
    same = Deal(deal.array)  # type: ignore[arg-type]
    assert same == deal
    assert hash(same) == hash(deal)
    assert same.number is None
    assert all(type(card) is int for card in same.cards)


def test_its_array_is_fresh() -> None:
    deal = Deal.from_number(11)
    deal.array[:] = 0
    assert deal.array.dtype == np.uint8
    assert tuple(deal.array) == deal.cards


def test_repr_rebuilds_the_deal() -> None:
    deal = Deal.from_number(11)
    assert repr(deal) == "Deal.from_number(11)"
    assert eval(repr(Deal.parse(str(deal)))) == deal


def test_a_deal_is_found_by_number_text_or_itself() -> None:
    deal = Deal.from_number(11)
    assert get_deal(deal) is deal
    assert get_deal(11) == get_deal(np.int32(11)) == get_deal(str(deal)) == deal
    with pytest.raises(ValueError, match=r"no deal has number 1\.5"):
        get_deal(1.5)  # type: ignore[arg-type]
