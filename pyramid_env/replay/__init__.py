"""Looking at a played game: one HTML page with the game and the solver's analysis."""

from pyramid_env.replay.page import write_replay

__all__ = ["write_replay"]
