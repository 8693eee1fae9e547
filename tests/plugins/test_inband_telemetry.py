"""Stamps of HPCC's switches: queue, octets sent, and the rate at which the port sends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestrator.capability import Capability
from plugins.inband_telemetry import INT, Int, on_departure
from tailback.plugin import STAMP
from tests.plugins.described import check_page


@pytest.mark.parametrize(
    ("service", "line", "rate"), [(10**9, 10**10, 10**9), (10**10, 10**9, 10**9), (7, 7, 7)]
)
@pytest.mark.parametrize("report", [True, False])
def test_a_frame_that_leaves_is_stamped(service: int, line: int, rate: int, report: bool) -> None:
    queue = SimpleNamespace(bytes=4321, bytes_out=99, service_rate=service, line_rate=line)
    message = SimpleNamespace(offset=-1, delta=-1, feedback=-1)
    params = SimpleNamespace(report_queue=int(report))
    assert on_departure(None, params, queue, None, 0, message) == STAMP
    assert (message.offset, message.delta) == (4321 if report else 0, 99)
    assert message.feedback == rate


def test_queues_are_reported_unless_a_plan_says_otherwise() -> None:
    assert int(Int().record()["report_queue"][0]) == 1
    assert int(Int(report_queue=False).record()["report_queue"][0]) == 0
    assert INT.needs == {Capability.STAMPS}
    assert check_page("plugins.inband_telemetry") == 3
