"""Plans for predictions: drawn by a seed, small enough for any machine that runs in real time.

One switch, one port that is short of rate or nearly so, one to four sources; what the sources send
and who holds them back is drawn, and so are rates, delays, buffers and lengths of frames.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Table = dict[str, Any]
DURATION = "0.8s"
LINK = 10**9
"""bit/s of every link."""


def net(draw: random.Random, sources: int, rate: int) -> Table:
    """Hosts at a switch whose port to the sink serves `rate` bit/s."""
    nodes: Table = {f"h{number}": {"kind": "nic"} for number in range(sources)}
    port: Table = {}
    nodes["s"] = {"kind": "switch", "service_rate": f"{rate}b/s", "ports": {"d": port}}
    nodes["s"]["buffer"] = f"{draw.choice([100, 150, 250])}KB"
    nodes["d"] = {"kind": "sink"}
    delay = f"{draw.randint(20, 400)}us"
    links = {f"up{n}": {"ends": [f"h{n}", "s"], "rate": f"{LINK}b/s"} for n in range(sources)}
    links["down"] = {"ends": ["s", "d"], "rate": f"{LINK}b/s"}
    for link in links.values():
        link["delay"] = delay
    return {"nodes": nodes, "links": links, "traffic": {}}


def loaded(draw: random.Random) -> Table:
    """Frames by chance, which nobody holds back."""
    rate, sources = draw.randint(50, 300) * 10**6, draw.randint(2, 4)
    made = net(draw, sources, rate)
    share = draw.uniform(0.5, 0.9) / sources
    for number in range(sources):
        made["traffic"][f"t{number}"] = {
            "plugin": "bernoulli",
            "from": f"h{number}",
            "to": "d",
            "frame": f"{draw.choice([500, 1000, 1500])}B",
            "rate": f"{int(rate * share)}b/s",
        }
    return made


def notified(draw: random.Random) -> Table:
    """More than the port serves, held back by QCN."""
    rate, sources = draw.randint(50, 300) * 10**6, draw.randint(1, 4)
    made = net(draw, sources, rate)
    made["nodes"]["s"]["congestion_point"] = {"plugin": "qcn-cp", "preset": "netfpga"}
    for number in range(sources):
        made["nodes"][f"h{number}"] |= {
            "reaction_points": 1,
            "host_queue": "6KB",
            "reaction_point": {"plugin": "qcn-rp", "preset": "netfpga"},
            "limiter": {"depth": "3KB", "period": "16us", "granularity": "0.5Mb/s"},
        }
        made["traffic"][f"t{number}"] = {
            "plugin": "cbr",
            "from": f"h{number}",
            "to": "d",
            "frame": "1500B",
            "rate": f"{int(rate * draw.uniform(1.2, 2.0) / sources)}b/s",
        }
    return made


def windowed(draw: random.Random) -> Table:
    """Transfers without end, whose windows DCTCP sets."""
    rate, sources = draw.randint(100, 300) * 10**6, draw.randint(2, 4)
    made = net(draw, sources, rate)
    _with_dctcp(draw, made, sources)
    made["traffic"]["t"] = {
        "plugin": "bulk",
        "from": f"h{{0..{sources - 1}}}",
        "to": "d",
        "frame": "1500B",
        "transport": {"plugin": "go-back-n"},
    }
    return made


def messages(draw: random.Random) -> Table:
    """Messages of many sizes that begin by chance, whose windows DCTCP sets."""
    rate, sources = draw.randint(100, 300) * 10**6, draw.randint(2, 4)
    made = net(draw, sources, rate)
    _with_dctcp(draw, made, sources)
    made["traffic"]["t"] = {
        "plugin": "poisson",
        "from": f"h{{0..{sources - 1}}}",
        "to": "d",
        "frame": "1500B",
        "load": f"{rate * draw.uniform(0.3, 0.6) / sources / LINK:.4f}",
        "flows": 8,
        "round_robin": True,
        "sizes": "cdf",
        "cdf": [["1.5KB", 0], ["6KB", 0.4], ["20KB", 0.8], ["60KB", 1]],
        "transport": {"plugin": "go-back-n"},
    }
    return made


def _with_dctcp(draw: random.Random, made: Table, sources: int) -> None:
    mark = draw.choice([15, 30, 45])
    marking = {
        "plugin": "red",
        "low": f"{mark * 1000 - 1}B",
        "high": f"{mark}KB",
        "max_probability": 1,
    }
    made["nodes"]["s"]["ports"]["d"]["congestion_point"] = marking
    for number in range(sources):
        made["nodes"][f"h{number}"]["reaction_point"] = {"plugin": "dctcp", "segment": "1500B"}


KINDS: dict[str, Callable[[random.Random], Table]] = {
    "loaded": loaded,
    "notified": notified,
    "windowed": windowed,
    "messages": messages,
}


def plan(seed: int, number: int) -> Table:
    """The plan of that number: the kinds take turns, the rest is drawn."""
    kind = list(KINDS)[number % len(KINDS)]
    table = KINDS[kind](random.Random(f"{seed} {number}"))
    return {
        "name": f"{kind}-{number}",
        "duration": DURATION,
        "sample_interval": "500us",
        "phases": {"steady": {"from": "0.2s", "to": DURATION}},
        **table,
    }
