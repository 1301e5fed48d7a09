"""One game as a text file, a line a move, to be read by people and replayed by a test."""

from pyramid_env.cards import card_text
from pyramid_env.game import Game

_HEADER = "  no  move      cards  waste  in waste  in stock  passes left  score  legal moves"


def playthrough_text(preset: str, deal: int, moves: list[str]) -> str:
    """The game of a numbered deal: after each move the cards removed and how the game stands."""
    game = Game(deal, preset)
    lines = [_line(game, "start", "")]
    for text in moves:
        move = game.find_move(text)
        cards = [game.card_at(place) for place in move.places]
        game.play(move)
        removed = " ".join(card_text(card) for card in cards if card is not None)
        lines.append(_line(game, str(move), removed))
    end = "won" if game.is_won else "lost" if game.is_lost else "not over"
    head = [f"rules {preset}", f"deal {deal}", f"{end} after {len(moves)} moves", "", _HEADER]
    return "\n".join([*head, *lines, ""])


def read_playthrough(text: str) -> tuple[str, int, list[str]]:
    """The preset, the deal's number and the moves of a playthrough's text."""
    rules, deal, _, _, _, _, *lines = text.splitlines()
    return rules.split()[1], int(deal.split()[1]), [line.split()[1] for line in lines]


def _line(game: Game, move: str, removed: str) -> str:
    waste_top = card_text(game.waste[-1]) if game.waste else "-"
    passes_left = "-" if game.passes_left is None else game.passes_left
    return (
        f"{len(game.history):4}  {move:8}  {removed:5}  {waste_top:>5}  {len(game.waste):8}"
        f"  {len(game.stock):8}  {passes_left:>11}  {game.score:5}  {len(game.legal_moves):11}"
    )
