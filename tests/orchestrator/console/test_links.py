"""What the topology tells of each link: the messages on it, and not those of the whole node."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.console.run_data import RunData
from orchestrator.console.topology_layout import NetworkSnapshot
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.console.made import PLAN, STEP

pytestmark = pytest.mark.usefixtures("catalog", "alone")

TWO = (
    PLAN
    + """
[nodes.other]
kind = "nic"
reaction_point = { plugin = "test-rp" }

[links.beside]
ends = ["other", "switch"]
rate = "1Gb/s"
"""
)
PARALLEL = (
    TWO.replace('[links.beside]\nends = ["other"', '[links.second]\nends = ["nic"').replace(
        'from = "nic"', 'from = "other"'
    )
    + """
[links.beside]
ends = ["other", "switch"]
rate = "1Gb/s"
"""
)
INPUTS = (
    TWO.replace('pause = { plugin = "test-pause" }', "")
    + """
[nodes.switch.inputs]
buffer = "100KB"
pause = { plugin = "test-pause" }
"""
)


def seen(plan: str, **per_second: float) -> NetworkSnapshot:
    """A second of counters that grow as told: {"nic.rp0/feedback_received": 100}."""
    data = RunData("demo")
    data.resolved = Plan.load(plan).check(Registry.load())
    columns = [p.column for p in probes(data.resolved, Indices(data.plan))]
    data.describe(columns)
    times = np.arange(101) * STEP
    rates = [per_second.pop(f"{c.entity}/{c.quantity}", 0) for c in columns]
    assert not per_second, "no such column"
    data.add(times, np.outer(times // 10**9, rates).astype(np.int64) // 1000)
    return NetworkSnapshot(data, int(times[-1]))


def told(found: NetworkSnapshot, what: str) -> dict[str, float]:
    """Link direction -> messages per second, of those that have any."""
    every = {
        way.entity: getattr(found.link_state(way), what) for way in found.data.plan.directions()
    }
    return {entity: round(rate) for entity, rate in every.items() if rate}


def test_a_link_tells_the_messages_that_come_to_its_own_nic() -> None:
    counted = {
        "nic.rp0/feedback_received": 100,
        "nic.rp1/feedback_received": 40,
        "nic/feedback_ignored": 20,
        "nic/feedback_unassigned": 60,
        "other.rp0/feedback_received": 300,
        "switch.sink/feedback_sent": 520,
    }
    assert told(seen(TWO, **counted), "cnm") == {"switch>nic": 220, "switch>other": 300}


def test_of_a_nic_with_two_links_its_box_tells_them_once() -> None:
    found = seen(PARALLEL, **{"nic.rp0/feedback_received": 100})
    assert told(found, "cnm") == {}
    assert "✉ CNM 100/s" in found.inside("nic")
    assert found.inside("other") == ["0 of 1 limit"]


def test_pause_goes_to_the_neighbours_that_fill_the_queue_and_not_to_its_own() -> None:
    of_output = seen(TWO, **{"switch.sink/pause_sent": 60})
    assert told(of_output, "pauses") == {"switch>nic": 30, "switch>other": 30}
    of_input = seen(INPUTS, **{"switch.nic/in/pause_sent": 60})
    assert told(of_input, "pauses") == {"switch>nic": 60}
