"""The exact solver: what can be reached from a position, proved, with a line of moves to show it.

`solve` answers one question about a game as it stands, `solve_position` the same about a position,
and `solve_batch` about many deals on all cores. `analyse` judges a played game move by move.
"""

from pyramid_env.solver.analysis import Analysis, JudgedMove, analyse, first_losing_move
from pyramid_env.solver.batch import solve_batch
from pyramid_env.solver.solution import Objective, Solution, Status, Undecided
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT, solve, solve_position

__all__ = [
    "DEFAULT_NODE_LIMIT",
    "Analysis",
    "JudgedMove",
    "Objective",
    "Solution",
    "Status",
    "Undecided",
    "analyse",
    "first_losing_move",
    "solve",
    "solve_batch",
    "solve_position",
]
