"""The exact solver: what can be reached from a position, proved, with a line of moves to show it.

`solve` answers one question about a game as it stands, `solve_position` the same about a position,
and `solve_batch` about many deals on all cores.
"""

from pyramid_env.solver.batch import solve_batch
from pyramid_env.solver.solution import Objective, Solution, Status
from pyramid_env.solver.solving import DEFAULT_NODE_LIMIT, solve, solve_position

__all__ = [
    "DEFAULT_NODE_LIMIT",
    "Objective",
    "Solution",
    "Status",
    "solve",
    "solve_batch",
    "solve_position",
]
