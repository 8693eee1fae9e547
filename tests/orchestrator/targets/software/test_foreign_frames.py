"""Foreign frames are losses, except at nodes with a cable to a device of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.assembly.world_assembly import assemble
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.dut.dut_fidelity import foreign
from tests.orchestrator.targets.software.bought import PLAN

BEHIND = """
[nodes.far]
kind = "switch"
[nodes.end]
kind = "sink"
[links.near]
ends = ["sw", "far"]
rate = "10Gb/s"
[links.behind]
ends = ["far", "end"]
rate = "10Gb/s"
"""


@pytest.mark.parametrize(("node", "counted"), [("nic1", 0), ("sink", 0), ("far", 0), ("end", 3)])
def test_foreign_frames_beside_a_device_are_no_losses(node: str, counted: int) -> None:
    assembly = assemble(Plan.load(PLAN + BEHIND).check(Registry.load()))
    assembly.world.nodes["foreign"][assembly.indices.nodes[node]] = 3
    thread: Any = SimpleNamespace(assembly=assembly, wires={})
    assert foreign(thread) == counted
