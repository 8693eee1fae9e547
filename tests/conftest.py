"""What all tests share: property tests that draw the same examples every time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same-every-time", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("same-every-time")
