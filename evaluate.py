"""Compare agents on the same deals: `python evaluate.py`; `--help` lists all arguments.

`python evaluate.py report results/` makes the report of kept games anew, without playing.
"""

import sys

from agents.commands import pyramid_evaluate

if __name__ == "__main__":
    sys.exit(pyramid_evaluate("evaluate.py"))
