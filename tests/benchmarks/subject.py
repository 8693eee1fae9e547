"""tailback as a contestant: NetFPGA-QCN, figure 11 for n sources, and the peers' bare network."""

from __future__ import annotations

from typing import Any

import peer_simpy

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry

POINTS_PER_NIC = 4
"""A NetFPGA NIC has four reaction points, so n sources come from n / 4 NICs with a link each."""


def fig11(sources: int) -> dict[str, Any]:
    """The plan of figure 11 as a table: sources of 1 Gb/s each, service 0.95 -> 0.2 -> 0.95 Gb/s.

    Sampled every 10 ms, not every 1 ms as the shipped plan: 512 sources have 8 000 quantities.
    Dropped frames count towards a sample: else one message per 25 KB enqueued is all that hundreds
    of saturating sources get, and they are never throttled within the 12 s.
    """
    if sources % POINTS_PER_NIC:
        raise ValueError(f"{sources} sources do not fill NICs of {POINTS_PER_NIC} reaction points")
    nics = [f"nic{index + 1}" for index in range(sources // POINTS_PER_NIC)]
    nic = {
        "kind": "nic",
        "reaction_points": POINTS_PER_NIC,
        "host_queue": "64KB",
        "reaction_point": {"plugin": "qcn-rp", "preset": "netfpga"},
        "limiter": {"depth": "3KB", "period": "16us", "granularity": "0.5Mb/s"},
    }
    switch = {
        "kind": "switch",
        "service_rate": "0.95Gb/s",
        "buffer": "150KB",
        "congestion_point": {"plugin": "qcn-cp", "preset": "netfpga", "counts": "arriving"},
    }
    traffic = {"plugin": "cbr", "to": "sink", "flows": POINTS_PER_NIC, "rate": "1Gb/s"}
    return {
        "name": f"bench-fig11-{sources}",
        "clock_ppm": 0,
        "phase": "aligned",
        "duration": "12s",
        "sample_interval": "10ms",
        "nodes": dict.fromkeys(nics, nic) | {"switch": switch, "sink": {"kind": "sink"}},
        "links": _star(nics, "50us", "0s"),
        "traffic": {f"gen-{name}": {**traffic, "from": name} for name in nics},
        "timeline": [
            {"at": "3s", "set": "nodes.switch.service_rate", "to": "0.2Gb/s"},
            {"at": "6.7s", "set": "nodes.switch.service_rate", "to": "0.95Gb/s"},
        ],
    }


def bare(sources: int, simulated_ms: int) -> dict[str, Any]:
    """The network of the peers: a link per source, no reaction points, a drop-tail queue."""
    nics = [f"nic{index + 1}" for index in range(sources)]
    share = peer_simpy.LENGTH * 8 * sources * peer_simpy.SECOND // peer_simpy.OFFERED
    traffic = {}
    for index, name in enumerate(nics):
        interval = share + share // 16 * index // sources
        traffic[f"gen-{name}"] = {
            "plugin": "cbr",
            "from": name,
            "to": "sink",
            "rate": peer_simpy.LENGTH * 8 * peer_simpy.SECOND // interval,
            "start": share // sources * index,
        }
    nic = {"kind": "nic", "reaction_points": 0}
    switch = {"kind": "switch", "buffer": peer_simpy.BUFFER}
    return {
        "name": f"bench-bare-{sources}",
        "clock_ppm": 0,
        "phase": "aligned",
        "duration": simulated_ms * 10**9,
        "sample_interval": "100ms",
        "nodes": dict.fromkeys(nics, nic) | {"switch": switch, "sink": {"kind": "sink"}},
        "links": _star(nics, peer_simpy.DELAY, peer_simpy.DELAY),
        "traffic": traffic,
    }


def _star(nics: list[str], delay: str | int, delay_down: str | int) -> dict[str, Any]:
    """A 1 Gb/s link from every NIC to the switch, one from there to the sink."""
    links: dict[str, Any] = {
        f"up-{name}": {"ends": [name, "switch"], "rate": "1Gb/s", "delay": delay} for name in nics
    }
    return links | {"down": {"ends": ["switch", "sink"], "rate": "1Gb/s", "delay": delay_down}}


def simulate(table: dict[str, Any]) -> peer_simpy.Outcome:
    """Run a plan in the simulator, without judging it. CPU seconds are by the run's own account."""
    registry = Registry.load()
    recording = registry.target("simulated").run(Plan(**table).check(registry), silent)
    dropped = int(recording.column("switch.sink", "frames_dropped")[-1])
    return peer_simpy.Outcome(recording.data_frames, dropped, cpu_s=recording.cpu_s)
