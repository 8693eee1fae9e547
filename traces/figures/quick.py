"""matplotlib without the pages of documentation that it writes while it is imported.

Every class of artists gets the docstring of its `set` then, a table of all properties: a third of
the import's time, for `help()` alone. Somebody at a prompt has them, and whoever imported
matplotlib before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib import artist


@contextmanager
def _without_words() -> Iterator[None]:
    written = artist.kwdoc
    artist.kwdoc = lambda artist: ""
    try:
        yield
    finally:
        artist.kwdoc = written


if "matplotlib.figure" not in sys.modules and not hasattr(sys, "ps1"):
    with _without_words():
        import matplotlib.figure  # noqa: F401
