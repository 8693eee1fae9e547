"""Prints what short runs measure, as hashes; a script, run compiled and with JIT disabled."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from orchestrator.engine import jit
from orchestrator.recording import Recording
from tests.orchestrator.engine.node.test_three_points import SCHEMES, plan
from tests.orchestrator.worlds import MS, US, Table, line_of_three, recorded

RP = {"plugin": "qcn-rp", "preset": "netfpga", "time_reset": 2 * MS, "byte_reset": 15_000}
CP = {"plugin": "qcn-cp", "preset": "netfpga", "sample_base": 15_000}


def quick() -> Table:
    """20 ms like the quickstart: two sources, QCN with jitter, the service halved, a capture."""
    plan = line_of_three(
        duration=20 * MS,
        seed=7,
        timeline=[
            {"at": 6 * MS, "set": "nodes.switch.service_rate", "to": 500_000_000},
            {"at": 14 * MS, "set": "nodes.switch.service_rate", "to": 950_000_000},
        ],
        phases={"half": {"from": 6 * MS, "to": 14 * MS}},
        capture={"ports": ["switch.sink", "nic.switch"], "frames": 500, "snap": 128},
    )
    plan["nodes"]["nic"] |= {"reaction_points": 2, "host_queue": 6000, "reaction_point": RP}
    plan["nodes"]["switch"] |= {"service_rate": 950_000_000, "congestion_point": CP}
    plan["links"]["up"]["delay"] = 50 * US
    plan["traffic"]["gen"]["flows"] = 2
    return plan


def rough() -> Table:
    """All the rest: PAUSE, a jittered and a short delay line, a cut, flows that come and go."""
    plan = line_of_three(
        duration=12 * MS,
        seed=8,
        timeline=[
            {"at": 3 * MS, "cut": "up"},
            {"at": 4 * MS, "mend": "up"},
            {"at": 5 * MS, "stop": "gen"},
            {"at": 6 * MS, "start": "gen"},
            {"at": 7 * MS, "set": "nodes.switch.congestion_point.set_point", "to": 10_000},
            {"at": 8 * MS, "set": "links.up.delay", "to": US},
        ],
    )
    pause = {"plugin": "pause", "high": 20_000, "low": 10_000, "quanta": 200}
    plan["nodes"]["nic"] |= {"reaction_point": RP, "limiter": {"granularity": 500_000}}
    plan["nodes"]["switch"] |= {"service_rate": 200_000_000, "pause": pause, "buffer": 25_000}
    plan["nodes"]["switch"]["congestion_point"] = CP | {"sampling": "head"}
    jitter = {"plugin": "jittered-delay", "jitter": 9 * US}
    plan["links"]["up"] |= {"delay": 40 * US, "delay_line": jitter, "overhead": 20}
    plan["links"]["down"]["buffer"] = 1500
    plan["traffic"]["gen"] |= {"rate": 333_333_333, "frame": 700, "flows": 3}
    return plan


def carried() -> Table:
    """Messages as datagrams and over TCP with losses; sources that draw random numbers."""
    plan = line_of_three(duration=8 * MS, seed=9)
    plan["nodes"]["switch"] |= {"service_rate": 400_000_000, "buffer": 15_000}
    plan["links"]["up"]["delay"] = 20 * US
    ends = {"from": "nic", "to": "sink"}
    tcp = {"plugin": "tcp", "min_rto": MS}
    plan["traffic"] = {
        "cubic": ends | {"plugin": "bulk", "transport": tcp},
        "reno": ends | {"plugin": "bulk", "transport": tcp | {"congestion": "newreno"}},
        "some": ends | {"plugin": "messages", "size": 4_000, "count": 0, "interval": 2 * MS},
        "chance": ends | {"plugin": "bernoulli", "rate": 20_000_000, "peak": 10**9},
        "bursts": ends | {"plugin": "pareto-onoff", "burst": 50 * US, "rate": 20_000_000},
    }
    plan["traffic"]["bursts"]["peak"] = 10**9
    return plan


def repaired() -> Table:
    """Messages that are acknowledged one by one, windows, losses both ways; a storm, watched."""
    plan = line_of_three(duration=12 * MS, seed=10)
    point = {"plugin": "newreno", "initial_window": 4, "idle": MS}
    plan["nodes"]["nic"]["reaction_point"] = point
    plan["nodes"]["other"] = {"kind": "nic", "reaction_point": {"plugin": "cubic"}}
    watchdog = {
        "plugin": "pfc-watchdog",
        "detection_time": MS,
        "restoration_time": MS,
        "polling_interval": MS // 2,
    }
    plan["nodes"]["switch"] |= {"buffer": 15_000, "watchdog": watchdog}
    storm = {"plugin": "stuck-pause", "start": 2 * MS, "stop": 5 * MS, "quanta": 1000}
    plan["nodes"]["last"] = {"kind": "switch", "pause": storm}
    rate = plan["links"]["up"] | {"delay": 20 * US}
    lossy = {"plugin": "lossy-delay", "loss_rate": "0.01"}
    plan["links"] = {
        "up": rate | {"delay_line": lossy},
        "up2": rate | {"ends": ["other", "switch"]},
        "on": {"ends": ["switch", "last"], "rate": 400_000_000},
        "down": {"ends": ["last", "sink"], "rate": 10**9},
    }
    carrier = {"plugin": "selective", "min_rto": MS}
    plan["traffic"] = {
        "all": {"plugin": "bulk", "from": ["nic", "other"], "to": "sink", "transport": carrier},
    }
    return plan


def digest(recording: Recording) -> dict[str, Any]:
    """Hashes of everything measured, and sums that show that there was something to measure."""
    parts: dict[str, list[np.ndarray]] = {
        "samples": [recording.times_ps, recording.values],
        "latency": [recording.latency[entry] for entry in sorted(recording.latency)],
        "captures": [
            part
            for capture in recording.captures
            for part in (capture.times_ps, capture.lengths, capture.octets, capture.outgoing)
        ],
    }
    hashes = {
        name: hashlib.sha256(
            b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
        ).hexdigest()
        for name, arrays in parts.items()
    }
    last = dict.fromkeys(
        ("feedback_received", "frames_dropped", "pause_sent", "frames_received"), 0
    )
    for column, value in zip(recording.columns, recording.values[-1], strict=True):
        if column.quantity in last:
            last[column.quantity] += int(value)
    return hashes | last


def main() -> None:
    """One JSON document."""
    found = {plan.__name__: digest(recorded(plan())) for plan in (quick, rough, carried, repaired)}
    for scheme in SCHEMES:
        found[scheme] = digest(recorded(plan(scheme, duration=4 * MS)))
    print(json.dumps({"compiled": not jit.DISABLED, "plans": found}))


if __name__ == "__main__":
    main()
