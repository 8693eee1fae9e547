"""Sound plans, and one thing in their worlds made wrong between two steps of a hunt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly
from orchestrator.engine.node import event_loop
from orchestrator.engine.node.world_arrays import World
from orchestrator.fuzz.invariant_check import Finding, check_table
from orchestrator.run.frame_audit import Audit
from tests.orchestrator.plan.test_pfc_headroom import given_headroom, squeezed
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, assembled, line_of_three, run_until

LINK = 10**9
SAMPLED = {"plugin": "qcn-cp", "sample_base": 64, "set_point": 3_000, "jitter": False}
SLOW = {"plugin": "qcn-rp", "time_reset": 100 * US, "byte_reset": 3_000}


def crowded() -> Table:
    """Two NICs with limiters to spare into a slow link, every short frame answered by a message."""
    nic = {"kind": "nic", "reaction_points": 2, "reaction_point": SLOW, "host_queue": 3_000}
    return ALIGNED | {
        "name": "crowded",
        "duration": MS,
        "sample_interval": 100 * US,
        "nodes": {
            "h1": nic,
            "h2": nic,
            "s": {"kind": "switch", "buffer": 30_000, "congestion_point": SAMPLED},
            "d": {"kind": "sink"},
        },
        "links": {
            "l1": {"ends": ["h1", "s"], "rate": LINK, "delay": 20 * US},
            "l2": {"ends": ["h2", "s"], "rate": LINK, "delay": 20 * US},
            "down": {"ends": ["s", "d"], "rate": LINK // 10, "delay": 50 * US},
        },
        "traffic": {
            "t1": {"plugin": "cbr", "from": "h1", "to": "d", "rate": LINK, "frame": 70},
            "t2": {"plugin": "cbr", "from": "h2", "to": "d", "rate": LINK, "frame": 1500},
        },
    }


def sprayed() -> Table:
    """Frames over two ways of unlike length, put in order by the switch before their sink."""
    order = {"kind": "switch", "spread": "frames", "reassembly": {"buffer": 60_000, "timeout": MS}}
    ways = {"w1": ("a", "x", US), "w2": ("a", "y", 90 * US)}
    ways |= {"w3": ("x", "b", 0), "w4": ("y", "b", 0)}
    ends = {"up": ("h", "a", US), "down": ("b", "d", US)} | ways
    nodes = {"h": {"kind": "nic"}, "d": {"kind": "sink"}, "a": order, "b": order}
    nodes |= {name: {"kind": "switch"} for name in "xy"}
    return {
        "name": "sprayed",
        "duration": MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "links": {
            name: {"ends": [here, there], "rate": LINK, "delay": delay}
            for name, (here, there, delay) in ends.items()
        },
        "traffic": {"t": {"plugin": "cbr", "from": "h", "to": "d", "rate": LINK}},
    }


def crossing() -> Table:
    """A switch with inputs, whose frames are sampled where they lie, and of which one goes to two
    members of a group."""
    sampled = SAMPLED | {"sampling": "occupancy-random", "searches": 1}
    inputs = {"buffer": 30_000, "hold_until_departure": True, "congestion_point": sampled}
    nodes: Table = {"s": {"kind": "switch", "inputs": inputs}, "h": {"kind": "nic"}}
    nodes |= {"d1": {"kind": "sink"}, "d2": {"kind": "sink"}}
    return {
        "name": "crossing",
        "duration": MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "groups": {"all": ["d1", "d2"]},
        "links": {
            "up": {"ends": ["h", "s"], "rate": LINK},
            "l1": {"ends": ["s", "d1"], "rate": LINK // 10},
            "l2": {"ends": ["s", "d2"], "rate": LINK // 20},
        },
        "traffic": {
            "wide": {"plugin": "cbr", "from": "h", "to": "all", "rate": LINK // 2},
            "one": {
                "plugin": "cbr",
                "from": "h",
                "to": "d1",
                "rate": LINK // 2,
                "frame": 700,
            },
        },
    }


def calm() -> Table:
    """A NIC whose link is at rest for nine tenths of the time."""
    rate = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": LINK // 10}
    return line_of_three(traffic={"gen": rate})


def far_inside() -> Table:
    """The same, where it takes as long as three frames from an input to an output."""
    table = crossing()
    table["nodes"]["s"]["inputs"] |= {"crossbar_latency": 36 * US}
    return table | {"name": "far-inside"}


PLANS: dict[str, Callable[[], Table]] = {
    "crowded": crowded,
    "sprayed": sprayed,
    "crossing": crossing,
    "far-inside": far_inside,
    "roomy": lambda: given_headroom(squeezed(US, 0)),
    "line": line_of_three,
    "calm": calm,
}

Spoil = Callable[[World], bool]
"""Makes one thing of a world wrong; False where it has nothing to make wrong yet."""


def finding_of(plan: str, spoil: Spoil, monkeypatch: pytest.MonkeyPatch) -> Finding | None:
    """What a hunt finds in a sound plan whose world is spoiled as soon as that can be.

    Nothing is simulated on from there: a hunt that does not see it finds nothing.
    """
    simulate, spoiled = event_loop.simulate, [False]

    def spoiling(world: World, until: int, events: int) -> Any:
        if spoiled[0]:
            return events
        done = simulate(world, until, events)
        spoiled[0] = spoil(world)
        return done

    monkeypatch.setattr(event_loop, "simulate", spoiling)
    finding = check_table(PLANS[plan]()).finding
    assert spoiled[0], "there was nothing to spoil"
    return finding


def row(records: np.ndarray, fits: Callable[[Any], Any]) -> Any:
    """The first record that fits, to be written to; None."""
    found = [index for index, one in enumerate(records) if fits(one)]
    return records[found[0]] if found else None


def changed(of: str, fits: Callable[[Any], Any], **fields: Callable[[Any], int]) -> Spoil:
    """Other values in the first record of a kind that fits."""

    def spoil(world: World) -> bool:
        one = row(getattr(world, of), fits)
        if one is None:
            return False
        for name, value in fields.items():
            one[name] = value(one)
        return True

    return spoil


def lists(world: World, of: str, least: int = 1) -> Iterator[tuple[int, list[int]]]:
    """The lists of frames of a kind (`Audit`) with so many of them, and whose they are."""
    yield from (
        (owner, frames)
        for owner, frames in enumerate(getattr(Audit(world), of))
        if len(frames) >= least
    )


def assembled_until(plan: str) -> Assembly:
    """A plan's world in the middle of its run."""
    table = PLANS[plan]()
    assembly = assembled(table)
    run_until(assembly, table["duration"] // 2)
    return assembly
