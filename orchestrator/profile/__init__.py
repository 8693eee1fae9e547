"""Device profile: measured capacity of a machine on a date, its file and its location.

`tailback calibrate` writes one, `tailback run` reads it, the simulator takes its times from it. The
model is imported when it is asked for: every run imports this package, few read a profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.lazy_exports import from_modules

if TYPE_CHECKING:
    from orchestrator.profile.profile_model import FORMAT, Profile
    from orchestrator.profile.profile_store import read_profile

__all__ = ["FORMAT", "Profile", "read_profile"]
_EXPORTS = {"FORMAT": "profile_model", "Profile": "profile_model", "read_profile": "profile_store"}

if not TYPE_CHECKING:
    __getattr__ = from_modules(__name__, _EXPORTS)
