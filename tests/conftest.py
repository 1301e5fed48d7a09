"""What all tests share: no time limit for an example of Hypothesis, since the first compiles.

Each worker of pytest is one thread of torch: more would wait for each other.
"""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("pyramid", deadline=None, max_examples=100)
settings.load_profile("pyramid")
