"""Games that stand where a test wants them."""

from pyramid_env.cards import N_CARDS, Card, parse_card
from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.pyramid import FIRST_RESERVE, N_SLOTS, parse_place
from pyramid_env.rules import Rules, get_rules


def deal_with(table: dict[str, str], stock: str = "", rules: str | Rules = "kawu") -> Deal:
    """A deal with these cards at these places, and a stock that starts so.

    All other cards follow in ascending order, wherever a place is left.
    """
    index_of = {_deal_index(place): parse_card(card) for place, card in table.items()}
    first_stock = N_SLOTS + get_rules(rules).reserve
    index_of |= {first_stock + i: parse_card(card) for i, card in enumerate(stock.split())}
    rest = iter(sorted(set(range(N_CARDS)) - set(index_of.values())))
    return Deal(tuple(index_of[i] if i in index_of else Card(next(rest)) for i in range(N_CARDS)))


def game_at(
    table: dict[str, str],
    stock: str = "",
    waste: str = "",
    rules: str | Rules = "kawu",
    recycles: int = 0,
) -> Game:
    """A game with only these cards left: stock from the next card on, waste up to its top.

    It has no history: this is its root. See `pyramid_env.engine` for the bits.
    """
    rules = get_rules(rules)
    n_waste, n_stock = len(waste.split()), len(stock.split())
    position = sum(1 << _deal_index(place) for place in table)
    position |= (2 ** (n_waste + n_stock) - 1) << (N_SLOTS + rules.reserve)
    position |= (n_waste if n_stock else rules.stock_size) << 52
    position |= recycles << 57
    return Game(deal_with(table, f"{waste} {stock}", rules), rules, position)


def legal_texts(game: Game) -> set[str]:
    """The legal moves as texts."""
    return {str(move) for move in game.legal_moves}


def _deal_index(place_name: str) -> int:
    place = parse_place(place_name)
    return place if place < N_SLOTS else place - FIRST_RESERVE + N_SLOTS
