"""Folders of this user's configuration, state and caches (XDG Base Directory Specification 0.8)."""

from __future__ import annotations

import os
from pathlib import Path

CONFIG, STATE, CACHE = "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"
DEFAULTS = {CONFIG: ".config", STATE: ".local/state", CACHE: ".cache"}
NO_HOME = Path("/nonexistent")


def user_folder(variable: str) -> Path:
    """The folder `tailback` in the base directory that a variable names, or in its default.

    A relative path is ignored, as the specification has it: else keys and profiles would be those
    of the working folder. A user without a home folder (no HOME and no account, as in a container,
    or a relative HOME) gets a path at which there is nothing.
    """
    named = os.environ.get(variable, "")
    if os.path.isabs(named) and "\0" not in named:
        return Path(named) / "tailback"
    try:
        home = Path.home()
    except RuntimeError:
        home = NO_HOME
    return (home if home.is_absolute() else NO_HOME) / DEFAULTS[variable] / "tailback"
