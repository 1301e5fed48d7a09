"""The game for a person at a terminal: `python -m pyramid_env play`.

`session` knows the game, `saves` the disk, and the rest is Textual.
"""
