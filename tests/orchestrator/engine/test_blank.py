"""Every frame begins in one place, and nothing of the frame before is left in it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import orchestrator.engine
from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.frames.descriptor_reset import empty_descriptors, reset_descriptor
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.records import DATA, FRAME, NONE
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.plans import PLANS

ENGINE = Path(next(iter(orchestrator.engine.__path__)))
USED = 99
KINDS = re.compile(r"^\s*(?:frame|target|message|spare)\.kind = (\w+)", re.MULTILINE)
NEUTRAL = {"next", "port", "inner", "held", "unit", "original", "side", "behind"}
"""Fields whose neutral value is NONE; of the others it is 0."""


def test_a_blank_frame_has_no_field_of_the_one_before() -> None:
    frame = empty_descriptors(1)[0]
    for name in FRAME.names or ():
        frame[name] = USED
    reset_descriptor(frame, DATA, 1500, 5, 3, 7, 9)
    given = {"kind": DATA, "length": 1500, "priority": 5, "flow": 3, "source": 7, "destination": 9}
    for name in FRAME.names or ():
        assert frame[name] == given.get(name, NONE if name in NEUTRAL else 0), name


def test_frames_that_nobody_has_made_yet_are_of_no_kind_and_no_flow() -> None:
    frames = empty_descriptors(3)
    nobody = NEUTRAL | {"kind", "flow", "source", "destination"}
    for name in FRAME.names or ():
        assert frames[name].tolist() == [NONE if name in nobody else 0] * 3, name
    frames[1].length = USED  # each by itself
    assert frames.length.tolist() == [0, USED, 0]
    assert not empty_descriptors(0).size


def test_no_other_place_of_the_engine_says_what_a_frame_is() -> None:
    found = {
        (path.name, kind)
        for path in ENGINE.rglob("*.py")
        for kind in KINDS.findall(path.read_text(encoding="utf-8"))
    }
    # a probe is turned round; a transport's kernel is asked about no frame at hand
    assert found == {
        ("descriptor_reset.py", "kind"),
        ("probe_handling.py", "ECHO"),
        ("transport_calls.py", "ACK"),
    }


def ran(name: str, *, used: bool) -> Assembly:
    """A plan's world after 10 ms; `used`: its descriptors have been other frames' before."""
    resolved = Plan.load(PLANS[name]).with_settings(["duration=10ms", "timeline=[]"])
    assembly = assemble(resolved.check(Registry.load()))
    if used:
        assembly.world.frames.view(np.int64)[:] = USED
    simulate(assembly.world, assembly.resolved.plan.duration, 1 << 40)
    return assembly


@pytest.mark.parametrize("name", PLANS)
def test_descriptors_that_were_used_before_change_nothing(name: str) -> None:
    fresh, used = ran(name, used=False).world, ran(name, used=True).world
    assert fresh.clock[0].delivered > 100
    for array in ("rows", "row_times", "capture_times", "capture_lengths", "capture_octets"):
        assert np.array_equal(getattr(fresh, array), getattr(used, array)), array
