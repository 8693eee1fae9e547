"""What a message says in a world is what its octets say: nothing finer, and nothing left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from orchestrator.engine.frames import decode, encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_type import QUEUED
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CNM, CNP, DATA, ECHO, FRAME, NONE, PFC, PROBE, RETURNED
from tests.orchestrator.engine.node.test_three_points import GBIT, plan
from tests.orchestrator.worlds import MS, Table, assembled, run_in_steps

PLACE = ("next", "due", "port")
"""Fields that say where a frame is, not what it is."""


def lists(world: World) -> Iterator[int]:
    """Where every list of frames that may hold messages begins."""
    yield from (port.control_head for port in world.ports)
    yield from (port.line_head for port in world.ports)
    yield from (node.reacting_head for node in world.nodes)


def on_their_way(world: World) -> Iterator[np.record]:
    """Every frame of a world that no queue holds back."""
    for first in lists(world):
        index = int(first)
        while index != NONE:
            frame = world.frames[index]
            if world.types[frame.kind].carried != QUEUED:
                yield frame
            index = int(frame.next)


def from_octets(frame: np.record) -> dict[str, int]:
    """The fields of a frame as its own octets say them."""
    octets, back = np.zeros(128, np.uint8), empty_descriptors(1)[0]
    assert encode(frame, octets) > 0
    assert decode(octets, int(frame.length), back) == frame.kind
    return {name: int(back[name]) for name in FRAME.names if name not in PLACE}


def seen(table: Table, steps: int) -> Counter[int]:
    """Runs a plan in steps; how many messages of each kind were found on their way."""
    found: Counter[int] = Counter()
    assembly = assembled(table)
    for _ in run_in_steps(assembly, steps):
        for frame in on_their_way(assembly.world):
            said = {name: int(frame[name]) for name in FRAME.names if name not in PLACE}
            assert said == from_octets(frame)
            found[int(frame.kind)] += 1
    return found


SLOW = {
    name: {"ends": ends, "rate": rate, "delay": MS // 2}
    for name, ends, rate in (
        ("at", ["a", "t"], GBIT),
        ("bt", ["b", "t"], GBIT),
        ("ts", ["t", "s"], 10 * GBIT),
        ("down", ["s", "sink"], GBIT),
    )
}
"""Links on which messages are long under way."""


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [("bcn", CNM), ("qcn-3", CNM), ("p4qcn", RETURNED), ("dcqcn", CNP), ("fecn", PROBE)],
)
def test_messages_of_every_scheme_are_canonical(scheme: str, kind: int) -> None:
    found = seen(plan(scheme, links=SLOW), 400)
    assert found[kind] > 0
    assert (found[ECHO] > 0) == (scheme == "fecn")
    assert DATA not in found


def test_pauses_are_canonical() -> None:
    table = plan("bcn", links=SLOW)
    table["nodes"]["s"] = {
        "kind": "switch",
        "pause": {"plugin": "pfc", "high": 30_000, "low": 20_000},
    }
    table["nodes"]["s"] |= {"service_rate": GBIT // 2}
    assert seen(table, 400)[PFC] > 0
