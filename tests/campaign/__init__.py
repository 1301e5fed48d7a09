"""A campaign against the engine: random rules, deals and moves, by `python -m tests.campaign`."""
