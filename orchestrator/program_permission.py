"""Permission for plans to start commands of this machine, for this process and those it starts."""

from __future__ import annotations

import os

VARIABLE = "TAILBACK_PROGRAMS"
"""Environment variable: 0 refuses every plan with programs, 1 allows them."""
REFUSED, ALLOWED = "0", "1"


def choose(programs: bool | None) -> None:
    """Take the choice of a command line; None leaves it open."""
    if programs is not None:
        os.environ[VARIABLE] = ALLOWED if programs else REFUSED


def chosen() -> bool | None:
    """The choice that was made; None: it is open, and plans of this user may start commands."""
    return {REFUSED: False, ALLOWED: True}.get(os.environ.get(VARIABLE, ""))
