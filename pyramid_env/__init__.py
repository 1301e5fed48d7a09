"""Pyramid Solitaire as a Gymnasium environment, with an exact solver."""
