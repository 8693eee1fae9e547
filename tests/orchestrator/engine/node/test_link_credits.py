"""Credits of a link: never more than was granted, nothing lost, on cables of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames.frame_layout import GRANT_OCTETS_AT
from orchestrator.engine.node.transmitter import wire_time
from orchestrator.engine.records import NONE
from orchestrator.errors import BadInput
from orchestrator.recording import Recording
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import (
    MS,
    US,
    Table,
    assembled,
    at,
    line_of_three,
    recorded,
    run_in_steps,
    run_until,
)

LINK = 10**9
FRAME = 1_500
DURATION = 10 * MS


def granted(delay: int = 20 * US, buffer: int = 30_000, **changes: Any) -> Table:
    """1 Gb/s into 100 Mb/s by way of a buffer that grants; all that passes the NIC is captured."""
    plan = line_of_three(
        duration=DURATION, capture={"ports": ["nic.switch"], "frames": 20_000, "snap": 64}
    )
    pause = {"plugin": "credit-flow-control"} | changes
    plan["nodes"]["switch"] |= {
        "buffer": 6_000,
        "service_rate": LINK // 10,
        "inputs": {"buffer": buffer, "pause": pause},
    }
    plan["links"]["up"]["delay"] = delay
    return plan


def grants(recording: Recording) -> list[tuple[int, int]]:
    """(time, octets in all) of every grant that reached the NIC, read from its octets."""
    seen = recording.captures[0]
    frames = zip(seen.times_ps, seen.outgoing, seen.octets, strict=True)
    where = slice(GRANT_OCTETS_AT, GRANT_OCTETS_AT + 8)
    return [
        (int(time), int.from_bytes(octets[where].tobytes(), "big"))
        for time, outgoing, octets in frames
        if not outgoing and octets[12:16].tobytes() == b"\x88\x08\xff\xfe"
    ]


def starts(recording: Recording, delay: int) -> np.ndarray:
    """When the NIC began to send each of its frames; what is captured has reached the far end."""
    seen = recording.captures[0]
    return np.asarray(seen.times_ps[seen.outgoing] - delay - wire_time(FRAME, LINK))


@pytest.mark.parametrize("delay", [0, 20 * US, 500 * US])
@pytest.mark.parametrize("buffer", [4_600, 30_000])
def test_no_frame_begins_without_credit(delay: int, buffer: int) -> None:
    recording = recorded(granted(delay, buffer))
    told, began = grants(recording), starts(recording, delay)
    assert began[0] >= told[0][0], "nothing is sent before the first grant"
    times, octets = np.array(told).T
    assert (np.diff(octets) >= 0).all()
    known = octets[np.searchsorted(times, began, side="right") - 1]
    sent = FRAME * np.arange(len(began))
    assert (sent < known).all()
    assert len(began) > 10


@pytest.mark.parametrize("delay", [0, 20 * US, 500 * US])
@pytest.mark.parametrize("buffer", [4_600, 30_000])
def test_nothing_is_lost_and_no_room_is_kept_for_the_cable(delay: int, buffer: int) -> None:
    recording = recorded(granted(delay, buffer))
    assert at(recording, "switch.nic/in", "frames_dropped", DURATION) == 0
    assert at(recording, "switch.sink", "frames_dropped", DURATION) == 0
    filled = at(recording, "switch.nic/in", "queue_max_bytes", DURATION)
    assert filled <= buffer
    if delay < 500 * US:
        assert filled > buffer - 1_522 - FRAME, "all of it but a frame is used"


def test_a_buffer_of_the_round_trip_fills_the_link() -> None:
    """2 x 500 us are 125 KB at 1 Gb/s; with half of that half of the link is used."""
    shares = []
    for buffer in (150_000, 64_000):
        plan = granted(500 * US, buffer)
        plan["nodes"]["switch"]["service_rate"] = LINK
        recording = recorded(plan)
        late = at(recording, "gen", "bytes_received", DURATION)
        shares.append((late - at(recording, "gen", "bytes_received", 5 * MS)) * 8 / LINK / 0.005)
    assert shares[0] == pytest.approx(1, rel=0.01)
    assert shares[1] == pytest.approx(0.5, rel=0.1)


def test_the_time_without_credit_is_counted_as_held() -> None:
    recording = recorded(granted())
    assert at(recording, "nic>switch", "paused_ps", DURATION) == pytest.approx(
        0.9 * DURATION, rel=0.05
    )
    plan = granted()
    plan["nodes"]["switch"]["service_rate"] = LINK
    free = at(recorded(plan), "nic>switch", "paused_ps", DURATION)
    assert 0 < free < 50 * US, "until the first grant alone"


def test_a_grant_is_said_again() -> None:
    quiet = granted(refresh=100 * US)
    quiet["traffic"]["gen"]["stop"] = MS
    quiet["nodes"]["switch"]["service_rate"] = LINK
    late = [said for said in grants(recorded(quiet)) if said[0] > 8 * MS]
    assert len(late) == pytest.approx(20, abs=1)
    assert len({octets for _, octets in late}) == 1


def test_what_finds_no_way_gives_its_credit_back() -> None:
    """Frames that the switch has no route for come, and take no room."""
    assembly = assembled(granted())
    world = assembly.world
    world.routes[assembly.indices.nodes["switch"]] = NONE
    run_until(assembly, DURATION)
    assert world.nodes[assembly.indices.nodes["switch"]].unroutable > 10 * 30_000 // FRAME


def test_lanes_have_credits_of_their_own() -> None:
    plan = granted()
    plan |= {"priorities": "separate"}
    plan["nodes"]["slow"] = {"kind": "sink"}
    plan["nodes"]["switch"] |= {
        "service_rate": LINK,
        "ports": {"slow": {"service_rate": LINK // 100}},
    }
    plan["links"]["slow"] = {"ends": ["switch", "slow"], "rate": LINK}
    gen = plan["traffic"]["gen"] | {"rate": LINK // 2}
    plan["traffic"] = {
        "held": gen | {"to": "slow", "priority": 3},
        "free": gen | {"priority": 5},
    }
    recording = recorded(plan)
    rate = at(recording, "free", "bytes_received", DURATION) * 8 / 0.01
    assert rate == pytest.approx(LINK / 2, rel=0.03)
    assert at(recording, "nic>switch/p3", "paused_ps", DURATION) > 8 * MS
    assert at(recording, "nic>switch/p5", "paused_ps", DURATION) < 50 * US


def test_every_frame_is_in_one_place() -> None:
    assembly = assembled(granted(100 * US))
    for _ in run_in_steps(assembly, 50):
        audit(assembly.world)


def test_of_two_neighbours_that_fill_a_buffer_neither_can_be_granted_it() -> None:
    plan = granted()
    inputs = plan["nodes"]["switch"].pop("inputs")
    plan["nodes"]["switch"]["pause"] = inputs["pause"]
    with pytest.raises(BadInput, match="belongs at inputs"):
        assembled(plan)


def test_shared_memory_is_nobodys_to_grant() -> None:
    plan = granted()
    plan["nodes"]["switch"]["inputs"]["shared_memory"] = 30_000
    with pytest.raises(BadInput, match="shared_memory"):
        assembled(plan)


def test_a_buffer_has_to_have_some_to_grant() -> None:
    with pytest.raises(BadInput, match="at least 4566 octets"):
        assembled(granted(buffer=4_565))
