"""What all tests share: property tests that draw the same examples every time."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest
from hypothesis import settings

from tests.parsers import describe_once

settings.register_profile("same-every-time", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("same-every-time")

describe_once()

signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""Where the tests are a job in a shell's background, or nohup's, these are ignored, and so by all
that they start."""


NEEDS_ROOT = "xdp"
"""A fixture that ordinary users cannot have: the kernel loads XDP programs for root alone."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what is marked `root` for an ordinary user."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose fixtures need root are marked so, before markers choose.

    Modules with slow tests come first, then those with many.

    Workers take whole modules in this order (`--no-loadscope-reorder`): who took a long one last
    would work on it while the others have nothing left.
    """
    for item in items:
        if NEEDS_ROOT in getattr(item, "fixturenames", ()):
            item.add_marker("root")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -count[item.path], item.path))
