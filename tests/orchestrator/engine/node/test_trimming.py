"""A congestion point may trim: the header goes on, is counted, and every octet is somewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import Algorithm, congestion_point, pause
from orchestrator.assembly import Assembly, assemble, record
from orchestrator.engine.frames.frame_layout import TRIMMED_HEADER
from orchestrator.engine.kernel_answers import TRIM
from orchestrator.engine.records import record as fields
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import buffer_conservation
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, Empty, line_of_three, run_in_steps

STATE = fields("came")
SLOW = {"kind": "switch", "service_rate": 10**8, "buffer": 20_000}
SWITCHES: list[dict[str, Any]] = [
    {},
    {"inputs": {"buffer": 30_000}},
    {"inputs": {"buffer": 30_000, "hold_until_departure": True}},
    {"inputs": {"buffer": 30_000, "shared_memory": 40_000}},
]


def every_third(state, params, queue, frame, now, message):
    """Every third one is trimmed."""
    state.came += 1
    return TRIM if state.came % 3 == 0 else 0


THIRD = congestion_point("third", "by numbers", Empty, STATE, arrival=every_third, trims=True)


def world(
    algorithm: Algorithm,
    switch: dict[str, Any],
    frame: int = 1500,
    to: str = "sink",
    cut_at: int | None = None,
) -> Assembly:
    """A NIC that sends ten times what the port of a switch serves."""
    table = line_of_three(duration=20 * MS)
    table["nodes"]["switch"] = SLOW | switch
    table["traffic"]["gen"] |= {"frame": frame, "to": to}
    if to == "all":
        table["nodes"]["other"] = {"kind": "sink"}
        table["links"]["aside"] = {"ends": ["switch", "other"], "rate": 10**9}
        table["groups"] = {"all": ["sink", "other"]}
    if cut_at is not None:
        table["timeline"] = [{"at": cut_at, "cut": "down"}]
    resolved = Plan(**table).check(Registry.load())
    use = {"switch.sink": Use(algorithm, Empty())}
    return assemble(replace(resolved, uses={**resolved.uses, "congestion_point": use}))


def ran(assembly: Assembly) -> Recording:
    """The run, with every count looked at on the way."""
    for _ in run_in_steps(assembly, 40):
        audit(assembly.world)
    return record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_octet_of_a_trimmed_frame_is_somewhere(switch: dict[str, Any]) -> None:
    assembly = world(THIRD, switch)
    recording = ran(assembly)
    queue = assembly.world.queues[assembly.indices.queues["switch.sink"]]
    port = assembly.world.ports[assembly.indices.port_rows["switch.sink"]]
    assert queue.frames_trimmed == int(queue.frames_in) // 3 > 50
    assert recording.column("switch.sink", "frames_trimmed")[-1] == queue.frames_trimmed
    headers = int(port.frames_out - queue.frames_out)
    assert 0 <= queue.frames_trimmed - headers <= 1, "the last one may wait for the link"
    assert port.bytes_out == 1500 * queue.frames_out + TRIMMED_HEADER * headers
    assert buffer_conservation.unbalanced_buffers(recording) == []
    recording.column("switch.sink", "frames_trimmed")[-1] -= 1
    assert len(buffer_conservation.unbalanced_buffers(recording)) == 1


def test_what_is_no_longer_than_a_header_or_goes_to_a_group_stays_whole() -> None:
    for assembly in (world(THIRD, {}, frame=TRIMMED_HEADER), world(THIRD, {}, to="all")):
        run = ran(assembly)
        assert run.column("switch.sink", "frames_trimmed")[-1] == 0
        assert run.column("switch.sink", "frames_out")[-1] > 0


def test_trims_that_nobody_announced_make_no_result() -> None:
    silent = congestion_point("silent", "by numbers", Empty, STATE, arrival=every_third)
    with pytest.raises(BadInput, match=r"kernel 'arrival': .*declare `trims` at the algorithm"):
        ran(world(silent, {}))


def test_frames_are_trimmed_at_outputs() -> None:
    table = line_of_three()
    point = {"plugin": "trim", "threshold": 3_000}
    table["nodes"]["switch"]["inputs"] = {"congestion_point": point}
    with pytest.raises(BadInput, match=r"inputs\.congestion_point: .*'trim' trims frames; it bel"):
        Plan(**table).check(Registry.load())


def test_only_the_arrival_of_a_congestion_point_trims() -> None:
    for make, event in ((congestion_point, "departure"), (pause, "enqueue")):
        with pytest.raises(ValueError, match="only arrival of a congestion_point may trim"):
            make("odd", "", Empty, STATE, trims=True, **{event: every_third})


def test_headers_tell_which_frame_they_were() -> None:
    assembly = world(THIRD, {"service_rate": 10**7})
    found = []
    for _ in run_in_steps(assembly, 2_000):
        line = assembly.world.ports[assembly.indices.port_rows["switch.sink"]].line_head
        if line >= 0 and assembly.world.frames[line].length == TRIMMED_HEADER:
            frame = assembly.world.frames[line]
            found.append((int(frame.sequence), int(frame.offset), int(frame.flow)))
    assert len(set(found)) > 3
    assert {(offset, flow) for _, offset, flow in found} == {(1500, 0)}
    assert np.unique([sequence % 3 for sequence, _, _ in found]).tolist() == [2]


def test_a_header_may_be_lost_and_is_counted_once() -> None:
    """The link behind the port that trims is cut: headers are lost, and frames with them."""
    assembly = world(THIRD, {}, cut_at=10 * MS)
    ran(assembly)
    trimmed = int(assembly.world.queues["frames_trimmed"].sum())
    assert 0 < int(assembly.world.flows["headers_received"].sum()) < trimmed
    assert assembly.world.ports["frames_lost"].sum() > 0
