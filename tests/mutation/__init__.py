"""Mutation testing: small faults planted in the rules of the game, to see that each is caught."""
