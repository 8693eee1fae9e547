"""What all tests share: property tests that draw the same examples every time."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import settings

from orchestrator import private_cache
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


LONG = set(
    """
    tests/docs/test_architecture.py tests/docs/test_papers.py tests/docs/test_site.py
    tests/firmware/proof/test_alike.py tests/firmware/test_registers.py
    tests/mutation/test_drawn.py tests/orchestrator/batch/test_kernel_mutants.py
    tests/orchestrator/engine/node/test_conservation.py
    tests/orchestrator/engine/node/test_plain.py tests/orchestrator/engine/test_jit_cache.py
    tests/orchestrator/engine/numba_backend/test_compiler.py
    tests/orchestrator/fuzz/test_differences.py tests/orchestrator/pause_storm/test_command.py
    tests/orchestrator/pause_storm/test_on_veth.py
    tests/orchestrator/pause_storm/test_storm_metrics.py tests/orchestrator/plan/test_fuzz.py
    tests/orchestrator/targets/software/test_external.py
    tests/orchestrator/targets/software/test_external_programs.py
    tests/orchestrator/test_python_command.py
    tests/orchestrator/testbed/controller/test_large_submissions.py
    tests/plans/test_drawn_mutants.py tests/robustness/test_environment.py
    tests/robustness/test_numbers.py tests/robustness/test_two_at_once.py tests/test_style.py
    tests/test_third_party.py tests/test_third_party_frames.py tests/test_third_party_metric.py
    tests/test_third_party_target.py tests/traces/analysis/test_bounds.py
    tests/traces/oracle/test_answers.py tests/traces/oracle/test_cnm_check_unknown_seed.py
    tests/traces/oracle/test_edits.py tests/traces/test_figure_settings.py
    tests/traces/test_quick.py
    """.split()  # noqa: SIM905
)
"""Modules of some ten seconds or more of which few tests, or none, are slow ones."""

NEEDS_ROOT = "xdp"
"""A fixture that ordinary users cannot have: the kernel loads XDP programs for root alone."""


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips, with the probe's own words, where emulated machines cannot be had."""
    from orchestrator.targets.software.namespace_probe import probe

    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what is marked `root` for an ordinary user."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose fixtures need root are marked so, before markers choose.

    Modules with slow tests and long ones come first, then those with many tests.

    Workers take whole modules in this order (`--no-loadscope-reorder`): who took a long one last
    would work on it while the others have nothing left.
    """
    for item in items:
        if NEEDS_ROOT in getattr(item, "fixturenames", ()):
            item.add_marker("root")
    first = {item.path for item in items if item.get_closest_marker("slow")}
    first |= {item.path for item in items if item.location[0] in LONG}
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in first, -count[item.path], item.path))


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
