"""What the flows of a figure are called."""

from __future__ import annotations

from dataclasses import replace

from traces.analysis.analysis_figures import labels
from traces.analysis.analysis_result import FlowSeen

ONE = FlowSeen(
    source="02:54:42:00:00:01",
    flow=None,
    frames=1,
    throughput_bps=None,
    lost=None,
    duplicates=None,
    reordered=None,
    from_address="10.0.0.1",
    to_address="10.0.0.2",
    destination_port=80,
)


def test_what_tells_flows_apart_is_added_and_nothing_else() -> None:
    other = replace(ONE, vlan=7)
    assert labels([ONE]) == ["10.0.0.1"]
    assert labels([ONE, replace(ONE, from_address="10.0.0.9")]) == ["10.0.0.1", "10.0.0.9"]
    assert labels([ONE, other]) == ["10.0.0.1", "10.0.0.1 VLAN 7"]
    web, tls = replace(other, destination_port=80), replace(other, destination_port=443)
    assert labels([ONE, web, tls]) == [
        "10.0.0.1",
        "10.0.0.1 VLAN 7 to port 80",
        "10.0.0.1 VLAN 7 to port 443",
    ]


def test_flows_that_nothing_tells_apart_keep_their_name() -> None:
    assert labels([ONE, ONE]) == ["10.0.0.1", "10.0.0.1"]
