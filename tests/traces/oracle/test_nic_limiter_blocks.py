"""A NIC of several ports in gateware: whose limiters a flow that is told may take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.records import NONE
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.plans import QCN
from traces.oracle import nic_limiter_blocks
from traces.oracle.reference_model import build

TWO_PORTS = (
    QCN.replace("[links.up]", "[links.'up{1..2}']")
    .replace("flows = 2", "flows = 2\nvia = 'up1'")
    .replace("reaction_points = 2", "reaction_points = 3")
    .replace('"switch.nic", "nic.switch"', '"switch.up1", "nic.up1"')
    .replace(
        "[[timeline]]",
        "[traffic.other]\nplugin = 'cbr'\nfrom = 'nic'\nto = 'sink'\n"
        "via = 'up2'\nframe = '1500B'\nrate = '1Gb/s'\n\n[[timeline]]",
        1,
    )
)


def built(text: str) -> Any:
    found = build(Plan.load(text).check(Registry.load()), "nic")
    assert found is not None
    return found


def test_each_port_has_limiters_for_its_flows_in_the_order_of_the_ports() -> None:
    nic = built(TWO_PORTS)
    rows = [nic.indices.port_rows[port] for port in ("nic.up1", "nic.up2")]
    assert nic_limiter_blocks.limiter_blocks(nic, "nic")[rows].tolist() == [[0, 2], [2, 1]]
    assert (nic_limiter_blocks.shared_block(nic) == NONE).all()


def test_a_nic_of_one_port_has_one_block() -> None:
    assert (nic_limiter_blocks.limiter_blocks(built(QCN), "nic") == NONE).all()


@pytest.mark.parametrize(("port", "seen"), [("nic.up1", (0, 2)), ("nic.up2", (2, 1))])
def test_what_a_frame_takes_is_of_its_ports_block(
    port: str, seen: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    nic = built(TWO_PORTS)
    node = nic.world.nodes[nic.indices.nodes["nic"]]
    there: list[tuple[int, int]] = []

    def receive(w: Any, row: int, index: int, now: int) -> None:
        assert (row, index, now) == (nic.indices.port_rows[port], 5, 7)
        there.append((int(node.first_limiter), int(node.limiters)))

    monkeypatch.setattr(nic_limiter_blocks, "receive", receive)
    one, own = nic_limiter_blocks.shared_block(nic), nic_limiter_blocks.limiter_blocks(nic, "nic")
    for each in (own, one):
        nic_limiter_blocks.receive_in_block.py_func(
            nic.world, each, nic.indices.port_rows[port], 5, 7
        )
        assert (node.first_limiter, node.limiters) == (0, 3)
    assert there == [seen, (0, 3)]
    assert own.dtype == np.int64
