"""Plans drawn by a seed: every scheme, with routers, priorities, PFC, one switch or two.

Delays are often equal and clocks often aligned, so that frames of several ports come in at one
instant, and at the instant of a departure. A capture has whole nanoseconds.
"""

from __future__ import annotations

import random
from typing import Any

Table = dict[str, Any]
TCP: Table = {"plugin": "tcp"}
RED: Table = {"plugin": "red", "low": "14999B", "high": "15KB", "max_probability": 1}
DCQCN: Table = {"plugin": "red", "preset": "dcqcn", "high": "50KB"}
CODEL: Table = {"plugin": "codel", "target": "100us", "interval": "1ms"}
PIE: Table = {"plugin": "pie", "target": "100us", "update_interval": "200us", "max_burst": "0us"}
SHORT: Table = {"time_reset": "1ms"}
SCHEMES: dict[str, Table] = {
    "none": {},
    "qcn": {
        "congestion_point": {"plugin": "qcn-cp", "preset": "netfpga", "sample_base": "15KB"},
        "reaction_point": {"plugin": "qcn-rp", "preset": "netfpga", **SHORT},
    },
    "p4qcn": {
        "congestion_point": {"plugin": "p4qcn-cp", "preset": "paper", "min_interval": "120us"},
        "reaction_point": {"plugin": "p4qcn-rp", "preset": "paper-x100"},
    },
    "fecn": {
        "congestion_point": {"plugin": "fecn-cp"},
        "reaction_point": {"plugin": "fecn-rp"},
        "notification_point": {"plugin": "fecn-reflector"},
    },
    "dcqcn": {
        "congestion_point": DCQCN,
        "reaction_point": {"plugin": "dcqcn-rp", "preset": "dcqcn"},
        "notification_point": {"plugin": "notify", "preset": "dcqcn"},
    },
    "dctcp": {
        "congestion_point": RED,
        "reaction_point": {"plugin": "dctcp"},
        "transport": {"plugin": "go-back-n"},
    },
    "nscc": {
        "congestion_point": {"plugin": "red", "low": "3KB", "high": "20KB", "max_probability": 1},
        "reaction_point": {"plugin": "nscc", "base_rtt": "50us", "target": "40us"},
        "transport": {"plugin": "selective"},
    },
    "swift": {"reaction_point": {"plugin": "swift"}, "transport": {"plugin": "go-back-n"}},
    "timely": {"reaction_point": {"plugin": "timely"}, "transport": {"plugin": "go-back-n"}},
    "newreno": {
        "reaction_point": {"plugin": "newreno"},
        "transport": {"plugin": "selective", "min_rto": "1ms"},
    },
    "cubic": {
        "reaction_point": {"plugin": "cubic"},
        "transport": {"plugin": "selective", "min_rto": "1ms"},
    },
    "credits": {
        "congestion_point": {"plugin": "trim", "threshold": "12KB"},
        "receiver": {"plugin": "receiver-credits"},
        "transport": {"plugin": "credit", "unsolicited": "15KB"},
    },
    "codel": {"congestion_point": CODEL},
    "pie": {"congestion_point": PIE | {"alpha": 10, "beta": 100}},
    "tcp": {"transport": TCP},
    "tcp-codel": {"congestion_point": CODEL, "transport": TCP},
    "tcp-pie": {"congestion_point": PIE | {"alpha": 100, "beta": 100}, "transport": TCP},
    "demotion": {
        "congestion_point": {
            "plugin": "priority-demotion", "threshold": "15KB", "priority": 6
        },
        "reaction_point": {"plugin": "dctcp"},
        "transport": {"plugin": "go-back-n"},
    },
}  # fmt: skip
"""Name -> what the nodes and the traffic of a scheme have."""


def plan(seed: int) -> Table:
    """The plan of a seed; schemes take turns."""
    draw = random.Random(f"oracle {seed}")
    name = list(SCHEMES)[seed % len(SCHEMES)]
    scheme, sources = SCHEMES[name], draw.choice([2, 2, 3])
    rate = draw.choice([10**9, 10**9, 10**10])
    links = _links(draw, sources, rate)
    table: Table = {
        "name": f"drawn-{seed}-{name}",
        "seed": draw.randrange(1, 1000),
        "duration": f"{draw.choice([4000, 8000]) * 10**9 // rate}us",
        "nodes": _nodes(draw, scheme, sources, rate, two=len(links) > sources + 1),
        "links": links,
        "traffic": {"t": _traffic(draw, scheme, sources, rate)},
        "capture": {"ports": _ports(links), "snap": "256B", "frames": 100_000},
    }
    if draw.random() < 0.6:
        table |= {"clock_ppm": 0, "phase": "aligned"}
    if name == "demotion" or draw.random() < 0.25:
        table |= {"priorities": "separate", "more_priorities": [6]}
    return table


def _links(draw: random.Random, sources: int, rate: int) -> Table:
    """Hosts at `s`, which leads to `d`, or to `d` by `s2`."""
    delay = draw.choice(["2us", "5us", "5130ns", "2137001ps"])
    one_delay = draw.random() < 0.7
    links: Table = {}
    for number in range(1, sources + 1):
        own = delay if one_delay else f"{draw.randrange(1000, 9000)}ns"
        links[f"up{number}"] = {"ends": [f"h{number}", "s"], "delay": own}
    if draw.random() < 0.4:
        links["between"] = {"ends": ["s", "s2"], "delay": delay}
        links["down"] = {"ends": ["s2", "d"], "delay": delay}
    else:
        links["down"] = {"ends": ["s", "d"], "delay": delay}
    return {name: link | {"rate": f"{rate}b/s"} for name, link in links.items()}


def _nodes(draw: random.Random, scheme: Table, sources: int, rate: int, *, two: bool) -> Table:
    switch: Table = {"kind": "switch", "buffer": draw.choice(["60KB", "150KB", "300KB"])}
    if draw.random() < 0.3:
        switch["forwards_by"] = "ip"
    if draw.random() < 0.3 and "transport" not in scheme:
        switch["service_rate"] = f"{int(rate * draw.uniform(0.5, 0.95))}b/s"
    if "congestion_point" in scheme:
        switch["congestion_point"] = scheme["congestion_point"]
    if draw.random() < 0.25:
        switch["inputs"] = {
            "buffer": "150KB",
            "pause": {"plugin": "pfc", "high": "60KB", "low": "40KB"},
        }
    host: Table = {"kind": "nic"}
    if "reaction_point" in scheme:
        host |= {"reaction_point": scheme["reaction_point"], "reaction_points": 1}
    elif "transport" not in scheme:
        host["reaction_points"] = 0
    if "reaction_point" in scheme:
        host["limiter"] = {
            "depth": "3KB" if rate == 10**9 else "20KB",
            "period": draw.choice(["1us", "1300ns", "16us"]),
        }
    end: Table = {"kind": "sink"}
    if scheme.get("transport") == TCP:
        end = {"kind": "nic"}
    for key in ("notification_point", "receiver"):
        if key in scheme:
            end[key] = scheme[key]
    nodes = {f"h{number}": host for number in range(1, sources + 1)}
    return nodes | {"s": switch, **({"s2": switch} if two else {}), "d": end}


def _traffic(draw: random.Random, scheme: Table, sources: int, rate: int) -> Table:
    entry: Table = {
        "from": f"h{{1..{sources}}}",
        "to": "d",
        "frame": f"{draw.choice([1500, 1500, 1500, 1000, 256])}B",
        "priority": draw.choice([0, 3]),
    }
    if "transport" in scheme:
        return entry | {"plugin": "bulk", "transport": scheme["transport"]}
    share = draw.choice([0.4, 0.6, 0.587, 0.8, 1.0])
    kind = draw.choice(["cbr", "cbr", "bernoulli"])
    return entry | {"plugin": kind, "rate": f"{int(rate * share)}b/s"}


def _ports(links: Table) -> list[str]:
    """Both ends of each link."""
    return [f"{a}.{b}" for link in links.values() for a, b in (link["ends"], link["ends"][::-1])]
