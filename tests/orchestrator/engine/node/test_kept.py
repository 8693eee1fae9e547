"""Short runs of every kind measure what they measured when their numbers were last looked at.

    python -m tests.orchestrator.engine.node.test_kept

renews `kept.json`, when what a run measures was meant to change. `quick`, `rough` and `carried` are
compared, too, with the engine as ordinary Python: see test_plain.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.orchestrator.engine.node import digest
from tests.orchestrator.engine.node.test_crossbar import rack
from tests.orchestrator.engine.node.test_fabric import fabric
from tests.orchestrator.engine.node.test_lanes import two_priorities
from tests.orchestrator.engine.node.test_multicast import SAMPLING, two_switches
from tests.orchestrator.engine.node.test_three_points import SCHEMES, plan, routed, shared
from tests.orchestrator.worlds import MS, US, Table, recorded

KEPT = Path(__file__).with_name("kept.json")


def loop() -> Table:
    """QCN holds two flows, one of which ends; a third one finds no limiter; a short host queue."""
    table = digest.quick() | {"duration": 6 * MS, "timeline": [], "phases": {}}
    table["nodes"]["switch"]["service_rate"] = 400_000_000
    table["traffic"]["gen"] |= {"flows": 3, "stop": 4 * MS}
    return table


def capped() -> Table:
    """PAUSE, a jittered line with too short a buffer, a cut."""
    table = digest.rough() | {"duration": 5 * MS}
    table["timeline"] = [step for step in table["timeline"] if step["at"] < 5 * MS]
    return table


def carried() -> Table:
    """Transports and messages."""
    return digest.carried() | {"duration": 3 * MS}


def inputs() -> Table:
    """Virtual output queues, retained room, sampling of what lies in the buffer."""
    point = {"plugin": "qcn-cp", "set_point": 3_000, "sample_base": 3_000}
    point |= {"sampling": "occupancy-max"}
    table = rack(2, {"buffer": 30_000, "retain_until_delivered": True, "congestion_point": point})
    table["nodes"]["rack"]["buffer"] = 9_000
    for name in ("h0", "h1"):
        table["nodes"][name] |= {"reaction_point": {"plugin": "qcn-rp"}, "reaction_time": 30 * US}
    return table | {"duration": 2 * MS}


def ordered() -> Table:
    """Frames sprayed over unlike ways and put in order."""
    order = {"buffer": 100_000, "timeout": 20 * US}
    return fabric("frames", order, {"buffer": 30_000}) | {"duration": 300 * US}


def lanes() -> Table:
    """PFC for one priority of two."""
    return two_priorities("pfc") | {"duration": 3 * MS}


def copies() -> Table:
    """Multicast through inputs, one of whose members is slow."""
    table = two_switches({"congestion_point": SAMPLING}, congestion_point=SAMPLING)
    table["links"]["far2"]["rate"] = 10**8
    return table | {"duration": 2 * MS}


def in_common() -> Table:
    """Memory that ports share, and a host queue that flows share."""
    table = shared(40_000, pause=True) | {"duration": 4 * MS}
    table["nodes"]["a"] |= {"host_queues": "shared"}
    table["traffic"]["fc"] = table["traffic"]["fa"] | {"rate": 3 * 10**8, "frame": 700}
    return table


def through_routers() -> Table:
    """Switches that forward by IP."""
    return routed("p4qcn-3") | {"duration": 4 * MS}


MADE: dict[str, Callable[[], Table]] = {
    made.__name__: made
    for made in (
        *(loop, capped, carried, inputs, ordered, lanes, copies, in_common, through_routers),
    )
}


def measured(name: str) -> dict[str, Any]:
    """Hashes and sums of a run."""
    table = MADE[name]() if name in MADE else plan(name, duration=4 * MS)
    return digest.digest(recorded(table))


@pytest.mark.parametrize("name", [*MADE, *SCHEMES])
def test_a_run_measures_what_it_did(name: str) -> None:
    kept = json.loads(KEPT.read_text())
    text = f"renew them if that was meant: python -m {__name__} (and say so in CHANGELOG.md)"
    assert measured(name) == kept[name], text


def test_there_is_something_to_measure_in_each() -> None:
    kept = json.loads(KEPT.read_text())
    assert sorted(kept) == sorted([*MADE, *SCHEMES])
    assert all(row["frames_received"] > 20 for row in kept.values())
    told = {name for name, row in kept.items() if row["feedback_received"] > 1}
    assert {"loop", "inputs", *SCHEMES} <= told
    assert kept["capped"]["frames_dropped"] > 20
    assert min(kept[name]["pause_sent"] for name in ("capped", "lanes", "in_common")) > 1


if __name__ == "__main__":
    made = {name: measured(name) for name in [*MADE, *SCHEMES]}
    KEPT.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
