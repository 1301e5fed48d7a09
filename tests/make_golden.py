"""Write the golden files anew: ``python tests/make_golden.py``, from the repository's root.

The deals, lines and depths that a file names stay; what follows from them is worked out again. A
preset without an entry gets one. Read the difference before you commit it: each of these files
changes only when the game does.
"""

import json
import random
from pathlib import Path
from typing import Any

from playthroughs import playthrough_text, read_playthrough
from trees import totals_by_first_move, tree_counts

from pyramid_env.deals import Deal
from pyramid_env.game import Game
from pyramid_env.rules import PRESETS

GOLDEN = Path(__file__).parent / "golden"
DEALS = GOLDEN / "deals.txt"
TREE_COUNTS = GOLDEN / "tree_counts.json"
PLAYTHROUGHS = GOLDEN / "playthroughs"

LARGEST_NEW_TREE = 200_000


def main() -> None:
    numbers = [int(line.split(":")[0]) for line in DEALS.read_text("utf-8").splitlines()]
    DEALS.write_text("".join(f"{n}: {Deal.from_number(n)}\n" for n in numbers), "utf-8")
    trees = json.loads(TREE_COUNTS.read_text("utf-8"))
    TREE_COUNTS.write_text(
        _json_text({name: _trees_of(name, trees.get(name)) for name in PRESETS}), "utf-8"
    )
    for name in PRESETS:
        path = PLAYTHROUGHS / f"{name}.txt"
        deal, moves = len(name), random_game(len(name), name)
        if path.exists():
            _, deal, moves = read_playthrough(path.read_text("utf-8"))
        path.write_text(playthrough_text(name, deal, moves), "utf-8")


def random_game(deal: int, preset: str) -> list[str]:
    """The moves of a game of chance that prefers removals."""
    generator = random.Random(preset)
    game = Game(deal, preset)
    while not game.is_over:
        moves = list(game.legal_moves)
        removals = [move for move in moves if move.places]
        game.play(generator.choice(removals if removals and generator.random() < 0.8 else moves))
    return [str(move) for move in game.history]


def _trees_of(preset: str, trees: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if trees is None:
        trees = [_new_tree(preset, 0, []), _new_tree(preset, 1, random_game(1, preset)[:25])]
    counted = []
    for tree in trees:
        game = Game.replay(preset, tree["deal"], tree["line"].split())
        depth = tree["depth"]
        counted.append(
            {"deal": tree["deal"], "line": tree["line"], "depth": depth}
            | {"counts": tree_counts(game, depth)}
            | {"by_first_move": totals_by_first_move(game, depth)}
        )
    return counted


def _new_tree(preset: str, deal: int, line: list[str]) -> dict[str, Any]:
    game = Game.replay(preset, deal, line)
    depth = 2
    while 0 < tree_counts(game, depth + 1)[-1]["total"] < LARGEST_NEW_TREE:
        depth += 1
    return {"deal": deal, "line": " ".join(line), "depth": depth}


def _json_text(trees_of: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with one depth a line."""
    presets = []
    for name, trees in trees_of.items():
        blocks = []
        for tree in trees:
            rows = ",\n".join(f"        {json.dumps(row)}" for row in tree["counts"])
            fields = [
                f'      "{key}": {json.dumps(tree[key])}' for key in ("deal", "line", "depth")
            ]
            fields.append(f'      "counts": [\n{rows}\n      ]')
            fields.append(f'      "by_first_move": {json.dumps(tree["by_first_move"])}')
            blocks.append("    {\n" + ",\n".join(fields) + "\n    }")
        presets.append(f'  "{name}": [\n' + ",\n".join(blocks) + "\n  ]")
    return "{\n" + ",\n".join(presets) + "\n}\n"


if __name__ == "__main__":
    main()
