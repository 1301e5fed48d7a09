"""`Game` against the slow reference and the plain compiled game, and all texts there and back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pyramid_env.actions import Move, action_table
from pyramid_env.cards import card_text
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.observation import (
    MANY_PASSES,
    Information,
    observe,
    position_from_observation,
)
from pyramid_env.rules import Rules
from tests.campaign.cases import Case, Failed, random_numbers, random_rules, same
from tests.campaign.environments import Plain, plain_rules
from tests.campaign.plain_game import GAME_DTYPE
from tests.reference import PYRAMID, ReferenceGame, ReferenceRules, covers

VIEWS: tuple[Information, ...] = ("fair", "thoughtful")
LONGEST = 300
ALL = np.ones(1, np.bool_)


def position_of(game: ReferenceGame, cards: list[str]) -> int:
    """The position as one integer, in the form that the engine documents."""
    first_stock = 28 + game.rules.reserve
    left = [*game.table.values(), *game.stock, *game.waste]
    drawn = (cards.index(game.stock[0]) if game.stock else 52) - first_stock
    passed = min(game.recycles, 1) if game.rules.passes is None else game.recycles
    return sum(1 << cards.index(card) for card in left) | drawn << 52 | passed << 57


class Words:
    """One game three times: as `Game`, by the slow reference and by the plain compiled game."""

    def __init__(self, rules: Rules, number: int) -> None:
        self.game = Game(number, rules)
        self.cards = str(self.game.deal).split()
        self.reference = ReferenceGame(self.cards, ReferenceRules(**vars(rules)))
        self.table = action_table(rules)
        self.plains = {}
        for view in VIEWS:
            self.plains[view] = Plain(
                plain_rules(rules, {"information": view}), np.zeros(1, GAME_DTYPE)
            )
            self.plains[view].deal(ALL, np.array([number], np.uint64))
        self.counts: Counter[str] = Counter()
        self.stands = [self.stand()]
        self.compare()

    def play(self, text: str) -> None:
        """Play a move that is legal, or see it refused."""
        game, reference = self.game, self.reference
        if text not in reference.legal_moves():
            before = game.position
            same(f"{text} is legal", False, _is_played(game, text))
            same(f"position after {text}, which is illegal", before, game.position)
            self.counts["illegal moves refused"] += 1
            return
        removed = reference.goal_cards_removed
        reference.play(text)
        game.play(text)
        for plain in self.plains.values():
            plain.play(ALL, np.array([self.table.action(Move.parse(text))]))
            same("reward", reference.goal_cards_removed - removed, int(plain.games["reward"][0]))
        self.stands.append(self.stand())
        self.compare()
        self.counts["steps against the slow reference"] += 1

    def compare(self) -> None:
        """All that can be asked of a game."""
        game, reference = self.game, self.reference
        legal = reference.legal_moves()
        same("legal moves", sorted(legal), sorted(map(str, game.legal_moves)))
        ids = sorted(self.table.action(Move.parse(text)) for text in legal)
        same("legal actions", ids, game.legal_actions())
        same("position", position_of(reference, self.cards), game.position)
        same("won", reference.is_won, game.is_won)
        same("lost", reference.is_lost, game.is_lost)
        same("over", reference.is_over, game.is_over)
        same("score", reference.score, game.score)
        same("passes left", reference.passes_left, game.passes_left)
        same("waste", reference.waste, [card_text(card) for card in game.waste])
        same("stock", reference.stock, [card_text(card) for card in game.stock])
        on_table = [card_text(card) for card in (*game.pyramid, *game.reserve) if card is not None]
        same("cards on the table", list(reference.table.values()), on_table)
        for view, plain in self.plains.items():
            seen = reference.observation(view == "thoughtful")
            same(f"{view} observation", seen, self.seen(view))
            same(f"{view} observation of the plain game", seen, plain.observations[0].tolist())
            mask = [int(not legal or i in ids) for i in range(len(self.table))]
            same("action mask of the plain game", mask, plain.masks[0].tolist())
            same("position of the plain game", game.position, int(plain.positions[0]))
            self.compare_with_shown(view)

    def compare_with_shown(self, view: Information) -> None:
        """An observation leads back to a position that looks and plays the same."""
        game = self.game
        seen = observe(game.position, game.deal, game.rules, view)
        position, deal = position_from_observation(seen, game.rules)
        again = observe(position, deal, game.rules, view).tolist()
        same(f"{view} observation read back", seen.tolist(), again)
        if game.rules.passes or view == "thoughtful" or not game.unseen:
            legal = Game(deal, game.rules, position).legal_actions()
            same("legal actions read back", game.legal_actions(), legal)
        if game.rules.passes and (game.passes_left or 0) <= MANY_PASSES:
            same("passes read back", game.passes_left, Game(deal, game.rules, position).passes_left)

    def compare_texts(self) -> None:
        """Moves, the deal and the game as texts and back."""
        game = self.game
        for move in game.legal_moves:
            cards = [game.card_at(place) for place in move.places]
            by_cards = "+".join(card_text(card) for card in cards if card is not None)
            for text in (str(move), str(move).lower(), by_cards or move.kind):
                same(f"the move {text}", move, game.find_move(text))
            same(f"the action of {move}", move, self.table[self.table.action(move)])
            self.counts["texts read back"] += 3
        same("deal read back", game.deal, Deal.parse(str(game.deal)))
        names = {"Game": Game, "Rules": Rules, "Deal": Deal}
        again = eval(repr(game), names)
        same("game read back", (game.position, game.history), (again.position, again.history))
        self.counts["texts read back"] += 2

    def undo_all(self) -> None:
        """Undo to the root: everything is as it was at each position."""
        while True:
            same("what is restored", self.stands.pop(), self.stand())
            if not self.game.history:
                break
            self.game.undo()
            self.counts["moves undone"] += 1
        same("what is left to be undone", [], self.stands)

    def stand(self) -> tuple[Any, ...]:
        """All that a game shows."""
        game = self.game
        views = [self.seen(view) for view in VIEWS]
        return game.position, game.history, game.legal_actions(), game.score, views

    def seen(self, view: Information) -> list[int]:
        game = self.game
        return observe(game.position, game.deal, game.rules, view).tolist()


def _is_played(game: Game, text: str) -> bool:
    try:
        game.play(text)
    except ValueError:
        return False
    return True


def check_words(case: Case) -> Counter[str]:
    """Play a case's moves as `Game`, by the slow reference and by the plain game."""
    words = Words(case.rules, case.deal)
    for text in case.moves:
        words.play(text)
    words.compare_texts()
    words.undo_all()
    return words.counts


def play_words(generator: np.random.Generator) -> Counter[str]:
    """One game by chance, illegal moves among them; `Failed` has its moves."""
    rules, number = random_rules(generator), int(random_numbers(generator, 1)[0])
    eager, illegal = generator.choice([0.0, 0.5, 0.9, 1.0]), generator.choice([0, 0.1])
    moves: list[str] = []
    try:
        words = Words(rules, number)
        table = [str(move) for move in words.table]
        while len(moves) < LONGEST and (legal := sorted(words.reference.legal_moves())):
            removals = [text for text in legal if text not in ("draw", "recycle")]
            choice = removals if removals and generator.random() < eager else legal
            choice = table if generator.random() < illegal else choice
            moves.append(choice[generator.integers(len(choice))])
            words.play(moves[-1])
            if generator.random() < 0.05:
                words.compare_texts()
        words.compare_texts()
        words.undo_all()
    except Exception as error:
        raise Failed(Case("words", rules, number, tuple(moves)), error) from error
    words.counts["games by the slow reference"] += 1
    return words.counts


def check_position(case: Case) -> Counter[str]:
    """A position that no moves have led to: what may be played, and what is seen."""
    position, rules = int(case.settings["position"]), case.rules
    game = Game(case.deal, rules, position)
    cards = str(game.deal).split()
    reference = ReferenceGame(cards, ReferenceRules(**vars(rules)))
    left = [card for i, card in enumerate(cards) if position >> i & 1]
    drawn = cards[28 + rules.reserve :][: position >> 52 & 31]
    reference.table = {place: card for place, card in reference.table.items() if card in left}
    reference.waste = [card for card in drawn if card in left]
    reference.stock = [card for card in reference.stock if card in left and card not in drawn]
    reference.recycles = position >> 57
    same("position", position_of(reference, cards), position)
    same("legal moves", sorted(reference.legal_moves()), sorted(map(str, game.legal_moves)))
    same("won", reference.is_won, game.is_won)
    same("lost", reference.is_lost, game.is_lost)
    for view in VIEWS:
        seen = observe(position, game.deal, rules, view).tolist()
        same(f"{view} observation", reference.observation(view == "thoughtful"), seen)
    return Counter({"positions without a game": 1})


def play_position(generator: np.random.Generator) -> Counter[str]:
    """Any set of cards that a game may leave, with any of the stock drawn in any pass."""
    rules, number = random_rules(generator), int(random_numbers(generator, 1)[0])
    is_left = generator.random(52) < generator.choice([0.03, 0.2, 0.9])
    is_left[:28] = generator.random(28) < generator.choice([0.6, 0.9, 0.99])
    for slot, place in enumerate(PYRAMID):
        for cover in covers(place):
            if not is_left[slot] and cover in PYRAMID:  # a card went after those that covered it
                is_left[PYRAMID.index(cover)] = False
    left = np.flatnonzero(is_left).tolist()
    first_stock = 28 + rules.reserve
    stock = [card for card in left if card >= first_stock]
    next_card = [*stock, 52][generator.integers(len(stock) + 1)]
    passed = int(generator.integers(rules.passes or 2))
    position = sum(1 << card for card in left) | (next_card - first_stock) << 52 | passed << 57
    case = Case("position", rules, number, settings={"position": position})
    try:
        return check_position(case)
    except Exception as error:
        raise Failed(case, error) from error
