"""What a machine can hold, as measured on a day: the device profile, its file and its place.

`tailback calibrate` writes one, `tailback run` reads it, the simulator takes its times from it.
"""

from __future__ import annotations

from orchestrator.profile.model import FORMAT, Profile
from orchestrator.profile.reading import read_profile

__all__ = ["FORMAT", "Profile", "read_profile"]
