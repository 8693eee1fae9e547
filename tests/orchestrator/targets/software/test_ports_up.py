"""A port that was joined carries frames at once: the kernel would drop them before it is up."""

from __future__ import annotations

import select
from typing import Any

import pytest

from orchestrator.targets.software.namespace_probe import FRAME
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.worker_process import run_job

PAIRS = 60


def send_at_once(control: Any) -> list[bool]:
    """Job: join pairs of machines and send from the end that was raised first; what arrived."""
    arrived = []
    for _ in range(PAIRS):
        machines = Machines()
        for name in ("a", "b"):
            machines.add(name)
        near, far = machines.open("a"), machines.open("b")
        machines.join("a", "b")
        near.sendto(FRAME, ("p0", 0))
        arrived.append(bool(select.select([far], [], [], 2.0)[0]))
        machines.close()
    return arrived


@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.usefixtures("namespaces")
def test_a_frame_that_is_sent_at_once_arrives():
    assert run_job(f"{__name__}:send_at_once") == [True] * PAIRS
