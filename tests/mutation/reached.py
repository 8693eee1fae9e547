"""Tests of a session that was collected, run in a process forked from it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import coverage
import pytest
from _pytest.runner import runtestprotocol

Reached = dict[str, tuple[float, set[int]]]
"""Test -> (seconds, lines of the source file)."""


def failed(items: Sequence[pytest.Item]) -> str:
    """Run tests until one fails; which. Empty: they all passed."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def measured(items: Sequence[pytest.Item], source: Path) -> tuple[str, Reached]:
    """Which of the tests fails, if one does; which lines of a file each reaches, and how long it
    takes."""
    watching = coverage.Coverage(data_file=None, include=[str(source)], config_file=False)
    seconds: dict[str, float] = {}
    watching.start()
    wrong = ""
    for item, following in zip(items, [*items[1:], None], strict=True):
        watching.switch_context(item.nodeid)
        began = time.process_time()
        reports = runtestprotocol(item, log=False, nextitem=following)
        seconds[item.nodeid] = time.process_time() - began
        wrong = wrong or (item.nodeid if any(report.failed for report in reports) else "")
    watching.stop()
    lines: dict[str, set[int]] = {test: set() for test in seconds}
    for line, tests in watching.get_data().contexts_by_lineno(str(source)).items():
        for test in tests:
            if test in lines:
                lines[test].add(line)
    return wrong, {test: (seconds[test], lines[test]) for test in seconds}
