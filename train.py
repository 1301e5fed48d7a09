"""Train an agent: `python train.py distill --rules kawu --out runs/mine`; see `--help`."""

import sys

from agents.commands import pyramid_train

if __name__ == "__main__":
    sys.exit(pyramid_train("train.py"))
