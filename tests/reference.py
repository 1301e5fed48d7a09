"""Pyramid Solitaire from the rules' words alone: slow, plain, and what the fast engine is held to.

Everything is worked out anew from the cards that lie on the table whenever it is asked for.
Nothing here is shared with the package, so that a mistake in one is not a mistake in both.

Places have names: a letter for the pyramid's row and a number for the column, "W" for the
waste's top card, "S" for the stock's top card, "R1" to "R7" for the reserve.

                A1
              B1  B2
            C1  C2  C3            C2 is covered by D2 and D3, and covers B1 and B2.
          D1  D2  D3  D4
        E1  E2  E3  E4  E5
      F1  F2  F3  F4  F5  F6
    G1  G2  G3  G4  G5  G6  G7

A move is a text: a place (a king goes alone), two places joined by "+", "draw" or "recycle".
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

RANKS = "A23456789TJQK"
PYRAMID = [f"{row}{column + 1}" for i, row in enumerate("ABCDEFG") for column in range(i + 1)]
RESERVE = [f"R{number}" for number in range(1, 8)]
FACE_DOWN = 14
MANY_PASSES = 9


@dataclass(frozen=True)
class ReferenceRules:
    """The rule set that one game is played by."""

    goal: str = "pyramid"
    passes: int | None = 3
    draw: int = 1
    stock_playable: bool = True
    covered_pairs: bool = False
    reserve: int = 0


def rank(card: str) -> int:
    """Say what a card counts: ace 1, jack 11, queen 12, king 13."""
    return RANKS.index(card[0]) + 1


def covers(place: str) -> list[str]:
    """Name the two places that cover a pyramid place; under row G they are never on the table."""
    row_below, column = chr(ord(place[0]) + 1), int(place[1])
    return [f"{row_below}{column}", f"{row_below}{column + 1}"]


class ReferenceGame:
    """One game, as lists of cards."""

    def __init__(self, deal: Sequence[str], rules: ReferenceRules) -> None:
        self.rules = rules
        places = PYRAMID + RESERVE[: rules.reserve]
        self.table = dict(zip(places, deal, strict=False))  # only the cards that still lie there
        self.stock = list(deal[len(places) :])  # the next card to be drawn comes first
        self.waste: list[str] = []  # the top card comes last
        self.recycles = 0

    def copy(self) -> "ReferenceGame":
        """Return a game that stands at the same point and is played on independently."""
        return copy.deepcopy(self)

    # What can be done

    def legal_moves(self) -> set[str]:
        """Return every legal move; none when the game is won or lost."""
        if self.is_won or self._turns_in_vain():
            return set()
        moves = self._removals()
        if self.stock:
            moves.add("draw")
        elif self.waste and self.passes_left != 0:
            moves.add("recycle")
        return moves

    def play(self, move: str) -> None:
        """Play a legal move; ValueError for any other text."""
        if move not in self.legal_moves():
            raise ValueError(f"{move!r} is not legal here")
        if move == "draw":
            self._draw()
        elif move == "recycle":
            self._recycle()
        else:
            for place in move.split("+"):
                self._remove(place)

    def _removals(self) -> set[str]:
        """Return the kings and pairs that can be removed now."""
        exposed = [
            place
            for place in PYRAMID
            if place in self.table and not any(cover in self.table for cover in covers(place))
        ]
        available = list(exposed)
        if self.waste:
            available.append("W")
        if self.stock and self.rules.stock_playable:
            available.append("S")
        available += [place for place in RESERVE if place in self.table]

        pairs = list(combinations(available, 2))
        if self.rules.covered_pairs:
            for place in PYRAMID:
                remaining_covers = [cover for cover in covers(place) if cover in self.table]
                if place in self.table and len(remaining_covers) == 1:
                    [only_cover] = remaining_covers
                    if only_cover in exposed:
                        pairs.append((place, only_cover))

        kings = {place for place in available if rank(self._card(place)) == 13}
        return kings | {
            f"{first}+{second}"
            for first, second in pairs
            if rank(self._card(first)) + rank(self._card(second)) == 13
        }

    def _turns_in_vain(self) -> bool:
        """Say whether, with unlimited passes, drawing on will never again allow a removal.

        After one recycle every further pass shows the same cards, so it is enough to draw to
        the end of this pass and through one more.
        """
        if self.rules.passes is not None:
            return False
        ahead = self.copy()
        while not ahead._removals():
            if ahead.stock:
                ahead._draw()
            elif ahead.waste and ahead.recycles == self.recycles:
                ahead._recycle()
            else:
                return True
        return False

    # What the moves do

    def _card(self, place: str) -> str:
        if place == "W":
            return self.waste[-1]
        if place == "S":
            return self.stock[0]
        return self.table[place]

    def _remove(self, place: str) -> None:
        if place == "W":
            self.waste.pop()
        elif place == "S":
            self.stock.pop(0)
        else:
            del self.table[place]

    def _draw(self) -> None:
        for _ in range(min(self.rules.draw, len(self.stock))):
            self.waste.append(self.stock.pop(0))

    def _recycle(self) -> None:
        # Turned over, the waste's bottom card, the first that was drawn, lies on top again.
        self.stock, self.waste = self.waste, []
        self.recycles += 1

    # How the game stands

    @property
    def score(self) -> int:
        """Count the pyramid's cards that were removed."""
        return len([place for place in PYRAMID if place not in self.table])

    @property
    def goal_cards_removed(self) -> int:
        """Count the removed cards among those that the goal names."""
        if self.rules.goal == "pyramid":
            return self.score
        return 52 - len(self.table) - len(self.stock) - len(self.waste)

    @property
    def is_won(self) -> bool:
        """Say whether all of the goal's cards are gone."""
        return self.goal_cards_removed == (28 if self.rules.goal == "pyramid" else 52)

    @property
    def is_lost(self) -> bool:
        """Say whether the goal was missed for good: no move is left, or only turns in vain."""
        return not self.is_won and not self.legal_moves()

    @property
    def is_over(self) -> bool:
        """Say whether the game is won or lost."""
        return self.is_won or self.is_lost

    @property
    def passes_left(self) -> int | None:
        """Count the recycles still to come; None when they never end."""
        if self.rules.passes is None:
            return None
        return self.rules.passes - 1 - self.recycles

    # What the player sees

    def observation(self, thoughtful: bool = False) -> list[int]:
        """Return what the player knows: pyramid, reserve, waste, stock, passes left, unseen.

        Cards are ranks, 0 where none lies, 14 face down; unseen counts the 14s' true ranks.
        """
        if thoughtful or self.recycles > 0:
            seen = len(self.stock)
        else:
            seen = 1 if self.rules.stock_playable else 0
        places = PYRAMID + RESERVE[: self.rules.reserve]
        length = 24 - self.rules.reserve
        table = [rank(self.table[place]) if place in self.table else 0 for place in places]
        waste = [rank(card) for card in reversed(self.waste)]
        stock = [rank(card) for card in self.stock]
        shown = stock[:seen] + [FACE_DOWN] * len(stock[seen:])
        passes = MANY_PASSES if self.passes_left is None else min(self.passes_left, MANY_PASSES)
        return [
            *table,
            *waste,
            *[0] * (length - len(waste)),
            *shown,
            *[0] * (length - len(shown)),
            passes,
            *[stock[seen:].count(value) for value in range(1, 14)],
        ]
