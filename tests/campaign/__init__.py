"""A campaign against the engine: random rules, deals and moves, compared by `python -m tests.campaign`."""
