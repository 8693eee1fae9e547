"""What all tests share: property tests that draw the same examples every time."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import settings

from orchestrator import private_cache
from tests import sample
from tests.parsers import describe_once

settings.register_profile("same-every-time", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("same-every-time")

describe_once()

os.environ.setdefault(private_cache.KEY, str(private_cache.key_file()))
"""A test that points XDG_STATE_HOME elsewhere would have its processes compile the engine anew, and
leave it in the cache of all tests, sealed by a key that no other process has."""

signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""Where the tests are a job in a shell's background, or nohup's, these are ignored, and so by all
that they start."""


NEEDS_ROOT = "xdp"
"""A fixture that ordinary users cannot have: the kernel loads XDP programs for root alone."""


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips, with the probe's own words, where emulated machines cannot be had."""
    from orchestrator.targets.software.namespace_probe import probe

    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the choice of a part of all modules."""
    parser.addoption(
        "--part", type=sample.part, metavar="K/N", help="the K-th of N parts of the modules"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what is marked `root` for an ordinary user."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests whose fixtures need root, or that are not in the sample, are marked so.

    Modules with slow tests and long ones come first, then those with many tests.

    Workers take whole modules in this order (`--no-loadscope-reorder`): who took a long one last
    would work on it while the others have nothing left.
    """
    sample.mark(items)
    part = config.getoption("part")
    if part is not None:
        chosen, elsewhere = sample.parted(items, *part)
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = chosen
    for item in items:
        if NEEDS_ROOT in getattr(item, "fixturenames", ()):
            item.add_marker("root")
    long = {"slow", "unsampled"}
    first = {item.path for item in items if long & {mark.name for mark in item.iter_markers()}}
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in first, -count[item.path], item.path))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is a coroutine function, in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Garbage is looked for in what tests make, not in all modules of all tests, which stay.

    A full collection would go through 700 modules and 14 000 items, which takes half a second of
    each test of the console and of the controller, for these collect.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
