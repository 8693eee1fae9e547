"""Which nodes share a thread, and which sockets a turn of it looks at."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import plugins
from orchestrator.engine.datapath.packet_socket_io import (
    is_socket_readable,
    poll_sockets,
    poll_words,
)
from orchestrator.plan import Plan
from orchestrator.targets.software.thread_assignment import shares

PLANS = Path(plugins.__file__).parent / "plans"


def plan(name: str) -> Plan:
    return Plan.load(PLANS / f"{name}.toml")


def test_a_switch_that_every_frame_passes_has_a_thread_of_its_own() -> None:
    assert shares(plan("netfpga-fig11"), 2) == [["switch"], ["sink", "nic1", "nic2"]]


def test_a_way_through_seven_switches_is_cut_in_halves() -> None:
    there = plan("p4qcn-fig12-x100")
    groups = shares(there, 2)
    way = {"h11", "t1", "l1", "s1", "l3", "t4", "h41"}
    assert [len(way.intersection(group)) for group in groups] in ([3, 4], [4, 3])
    assert sorted(groups[0] + groups[1]) == sorted(there.nodes)


def test_some_of_the_nodes_make_two_groups_too() -> None:
    there = plan("netfpga-fig11")
    assert shares(there, 2, ["nic1", "nic2", "sink"]) == [["sink"], ["nic1", "nic2"]]
    assert shares(there, 2, ["nic1", "nic2"]) == [["nic1"], ["nic2"]]
    assert shares(there, 2, ["nic1"]) == [["nic1"]]


def test_one_core_has_everything() -> None:
    there = plan("netfpga-fig11")
    assert shares(there, 1) == [list(there.nodes)]


@pytest.mark.parametrize("places", [1, 3])
def test_a_look_tells_where_something_waits(places: int) -> None:
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(places)]
    try:
        polled = poll_words([mine.fileno() for mine, _ in pairs])
        assert poll_sockets(polled) == 0
        assert not any(is_socket_readable(polled, place) for place in range(places))
        pairs[-1][1].send(b"frame")
        assert poll_sockets(polled) == 1
        assert [is_socket_readable(polled, place) for place in range(places)] == [False] * (
            places - 1
        ) + [True]
        pairs[-1][0].recv(16)
        assert poll_sockets(polled) == 0
    finally:
        for pair in pairs:
            for end in pair:
                end.close()
