"""Latency of a device of others: measured with both cores, since a thread that waits for a core
stamps its frames late."""

from __future__ import annotations

import pytest

from tests.orchestrator.targets.software.test_external import through

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]


def test_a_slow_device_is_seen_in_its_latency() -> None:
    """3 ms are 3 ms and what this machine adds."""
    seen = through(device="is_slow")["metrics"]["run"]["sw"]
    assert 0.003 <= seen["latency_s.p50"] < 0.1
