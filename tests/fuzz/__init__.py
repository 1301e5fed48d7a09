"""Fuzzing of everything that reads outside data."""
