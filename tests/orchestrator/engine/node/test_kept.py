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
from tests.orchestrator.engine.node.test_receivers import incast
from tests.orchestrator.engine.node.test_three_points import SCHEMES, plan, routed, shared
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, line_of_three, recorded

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
    table = rack(2, {"buffer": 30_000, "hold_until_departure": True, "congestion_point": point})
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


def aside() -> Table:
    """Frames that go on in another lane, into which others come too; past inputs that grant."""
    table = line_of_three(duration=MS, priorities="separate", more_priorities=[5])
    point = {"plugin": "priority-demotion", "threshold": 6_000, "priority": 5}
    inputs = {"buffer": 30_000, "hold_until_departure": True}
    switch = {"kind": "switch", "service_rate": 3 * 10**8, "buffer": 12_000, "inputs": inputs}
    table["nodes"] |= {"switch": switch | {"congestion_point": point}, "other": {"kind": "nic"}}
    table["links"]["up2"] = {"ends": ["other", "switch"], "rate": 10**9}
    table["traffic"]["odd"] = table["traffic"]["gen"] | {"from": "other", "priority": 5}
    table["traffic"]["odd"] |= {"frame": 700, "rate": 10**8}
    table["capture"] = {"ports": ["nic.switch", "switch.other"], "frames": 100, "snap": 64}
    return table


def shared_aside() -> Table:
    """The same past inputs whose ports share a memory, which is full now and then; a cut."""
    table = aside() | {
        "timeline": [{"at": 500 * US, "cut": "down"}, {"at": 600 * US, "mend": "down"}]
    }
    inputs = {"buffer": 30_000, "shared_memory": 40_000}
    table["nodes"]["switch"] |= {"inputs": inputs, "buffer": 9_000}
    return table


def granted() -> Table:
    """A receiver grants credit to four; what finds too long a queue is trimmed to its header."""
    table = incast(4, 6, unsolicited=4_500) | {"duration": MS}
    point = {"plugin": "trim", "threshold": 4_000}
    table["nodes"]["s"] |= {"congestion_point": point}
    return table


def repaired() -> Table:
    """Acknowledgements one by one, windows, losses, and a storm of PAUSE that is watched."""
    return digest.repaired() | {"duration": 3 * MS}


MADE: dict[str, Callable[[], Table]] = {
    made.__name__: made
    for made in (
        *(loop, capped, carried, inputs, ordered, lanes, copies, in_common, through_routers),
        *(aside, shared_aside, granted, repaired),
    )
}


def measured(name: str) -> dict[str, Any]:
    """Hashes and sums of a run."""
    table = MADE[name]() if name in MADE else plan(name, duration=4 * MS)
    return digest.digest(recorded(table | ALIGNED))


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
