"""What a machine can hold, as measured on a day: the device profile, its file and its place.

`tailback calibrate` writes one, `tailback run` reads it, the simulator takes its times from it. The
model is imported when it is asked for: every run imports this package, few read a profile.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.profile.model import FORMAT, Profile
    from orchestrator.profile.reading import read_profile

__all__ = ["FORMAT", "Profile", "read_profile"]
_PLACES = {"FORMAT": "model", "Profile": "model", "read_profile": "reading"}

if not TYPE_CHECKING:  # else every name of this package would do for a checker of types

    def __getattr__(name: str) -> Any:
        """What lies in a module of this package, kept here from then on."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        globals()[name] = found
        return found
