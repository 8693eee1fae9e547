"""What all tests share: property tests that draw the same examples every time."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("same-every-time", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("same-every-time")

signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""Where the tests are a job in a shell's background, or nohup's, these are ignored, and so by all
that they start."""
