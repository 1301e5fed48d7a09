"""What all tests share: no time limit for an example of Hypothesis, since the first compiles."""

from hypothesis import settings

settings.register_profile("pyramid", deadline=None, max_examples=100)
settings.load_profile("pyramid")
