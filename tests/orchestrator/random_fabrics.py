"""Small fabrics that pause, as tables: rings and random graphs, hosts that send for a while.

Drawn by a seed alone. Buffers are small and sources fast, so that what can deadlock often does; in
the rest of a run everything drains, unless it is stuck.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

from tests.orchestrator.worlds import US, Table

SENDING, DRAINING = 400 * US, 1_800 * US
RATE = 10**10
MARKS = {"low": 15_000, "high": 30_000}
INPUT_BUFFER = 60_000


def fabric(seed: int) -> Table:
    """The table of a plan."""
    random = Random(seed)
    count = random.choice([2, 3, 3, 3, 4, 4, 5])
    switches = [f"s{n}" for n in range(count)]
    pairs = _pairs(random, switches)
    each = random.choice([1, 2, 2])
    hosts = {f"h{n}x{m}": f"s{n}" for n in range(count) for m in range(each)}
    lanes = random.choice([[0], [0], [0, 3], [0, 3]])
    nodes: Table = {name: {"kind": "nic", "reaction_points": 0} for name in hosts}
    usual = random.choice(["inputs", "inputs", "inputs", "outputs"])
    for name in switches:
        where = usual if random.random() < 0.9 else random.choice(["inputs", "outputs", "none"])
        nodes[name] = _switch(random, lanes, where)
    if random.random() < 0.6 and count > 2:
        _lead_round(random, nodes, switches, pairs, hosts)
    links = {f"a{n}": _link([name, hosts[name]]) for n, name in enumerate(hosts)}
    links |= {f"b{n}": _link(list(pair)) for n, pair in enumerate(pairs)}
    return {
        "name": "fabric",
        "seed": seed,
        "duration": SENDING + DRAINING,
        "sample_interval": 100 * US,
        "priorities": "separate" if len(lanes) > 1 else "shared",
        **({"more_priorities": lanes} if len(lanes) > 1 else {}),
        "nodes": nodes,
        "links": links,
        "traffic": _traffic(random, switches, hosts, lanes),
    }


def _pairs(random: Random, switches: list[str]) -> list[tuple[str, str]]:
    """Links between switches: a line, a ring, and now and then some across."""
    pairs = list(pairwise(switches))
    if len(switches) > 2 and random.random() < 0.8:
        pairs.append((switches[-1], switches[0]))
    for _ in range(random.choice([0, 0, 1, 2])):
        one, other = random.sample(switches, 2)
        if (one, other) not in pairs and (other, one) not in pairs:
            pairs.append((one, other))
    return pairs


def _link(ends: list[str]) -> Table:
    return {"ends": ends, "rate": RATE, "delay": 100_000}


def _switch(random: Random, lanes: list[int], where: str) -> Table:
    """Pausing at inputs, at outputs or not at all; flows spread or not, moved to a lane or not."""
    node: Table = {"kind": "switch", "buffer": 60_000}
    plugin = random.choice(["pfc", "pfc", "pause"])
    if where == "inputs":
        node["inputs"] = {"buffer": INPUT_BUFFER, "pause": {"plugin": plugin, **MARKS}}
        node["buffer"] = 20_000
        if random.random() < 0.15:
            node["inputs"]["pause"] = {"plugin": "credit-flow-control"}
    elif where == "outputs":
        node["pause"] = {"plugin": plugin, **MARKS}
    node["spread"] = random.choice(["none", "flows", "frames"])
    if len(lanes) > 1 and random.random() < 0.2:
        node["congestion_point"] = {
            "plugin": "priority-demotion",
            "threshold": 8_000,
            "priority": lanes[-1],
        }
    return node


def _lead_round(
    random: Random,
    nodes: Table,
    switches: list[str],
    pairs: list[tuple[str, str]],
    hosts: dict[str, str],
) -> None:
    """Some hosts are reached the same way round from everywhere, where there is a ring."""
    if (switches[-1], switches[0]) not in pairs:
        return
    for host, home in hosts.items():
        if random.random() < 0.7:
            for at, name in enumerate(switches):
                if name != home:
                    after = switches[(at + 1) % len(switches)]
                    nodes[name].setdefault("forwarding", {})[host] = after


def _traffic(random: Random, switches: list[str], hosts: dict[str, str], lanes: list[int]) -> Table:
    found: Table = {}
    for host in hosts:
        for _ in range(random.choice([1, 1, 2])):
            target = random.choice([name for name in hosts if name != host])
            found[f"t{len(found)}"] = {
                "plugin": "cbr",
                "from": host,
                "to": target,
                "rate": RATE,
                "priority": random.choice(lanes),
                "stop": SENDING,
            }
    return found
