"""An extension of Griffe: examples in docstrings are shown as code.

The docstrings are Markdown, where lines that begin with ``>>>`` would be quotations.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
"""From a prompt to the next blank line."""


class Doctests(griffe.Extension):
    """Puts each example between fences."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """A docstring with its examples between fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nNo more.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nNo more.'
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
