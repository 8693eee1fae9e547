"""Small plans of every shape: drawn by hypothesis, valid by construction."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.orchestrator.worlds import MS, US, Table

RATES = st.sampled_from([10**7, 10**8, 999_999_937, 10**9])
DELAYS = st.sampled_from([0, 1, 5 * US, 50 * US + 7, 300 * US])
LENGTHS = st.one_of(st.sampled_from([70, 1500]), st.integers(70, 1500))


@st.composite
def congestion_points(draw: st.DrawFn) -> Table:
    """QCN that samples often enough for a short run."""
    return {
        "plugin": "qcn-cp",
        "set_point": draw(st.integers(1_000, 40_000)),
        "weight": draw(st.integers(0, 4)),
        "sample_base": draw(st.sampled_from([64, 3_000, 20_000])),
        "sampling": draw(st.sampled_from(["arrival", "head", "departure"])),
        "jitter": draw(st.booleans()),
    }


@st.composite
def pies(draw: st.DrawFn) -> Table:
    """PIE that is quick enough to drop in a short run."""
    return {
        "plugin": "pie",
        "target": US,
        "update_interval": draw(st.sampled_from([US, 40 * US])),
        "alpha": 100,
        "beta": 100,
        "max_burst": 0,
        "min_queue": draw(st.sampled_from([0, 3_000])),
        "ecn": draw(st.booleans()),
    }


@st.composite
def codels(draw: st.DrawFn) -> Table:
    """CoDel whose interval is over soon."""
    return {
        "plugin": "codel",
        "target": draw(st.sampled_from([1_000, 20 * US])),
        "interval": draw(st.sampled_from([US, 50 * US])),
        "mtu": draw(st.sampled_from([64, 1_500])),
    }


@st.composite
def occupancy_sampling(draw: st.DrawFn) -> Table:
    """QCN that picks its culprits among the frames in the buffer."""
    return draw(congestion_points()) | {
        "sampling": draw(st.sampled_from(["occupancy-random", "occupancy-max"])),
        "searches": draw(st.sampled_from([0, 1, 8])),
        "keep_alive": draw(st.booleans()),
    }


@st.composite
def inputs(draw: st.DrawFn) -> Table:
    """The inputs of a combined input/output queued switch."""
    table: Table = {
        "buffer": draw(st.integers(1_500, 60_000)),
        "speedup": draw(st.sampled_from(["1", "8/5", "4"])),
        "crossbar_latency": draw(st.sampled_from([0, 1, US])),
        "hold_until_departure": draw(st.booleans()),
    }
    if draw(st.booleans()):
        table["congestion_point"] = draw(
            st.one_of(congestion_points(), occupancy_sampling(), pies())
        )
    if draw(st.booleans()):
        table["pause"] = draw(pauses())
    elif table["buffer"] >= 4_000:
        step = draw(st.integers(1, table["buffer"] - 3_000))
        table["pause"] = {"plugin": "credit-flow-control", "max_frame": 3_000, "min_grant": step}
    return table


@st.composite
def pauses(draw: st.DrawFn) -> Table:
    """PAUSE whose marks may be tighter or wider than the buffer."""
    low = draw(st.integers(64, 40_000))
    high = low + draw(st.integers(1, 40_000))
    quanta = draw(st.sampled_from([2, 300, 3_000, 65_535]))
    return {
        "plugin": draw(st.sampled_from(["pause", "pfc"])),
        "low": low,
        "high": high,
        "quanta": quanta,
    }


@st.composite
def switches(draw: st.DrawFn) -> Table:
    """A switch with or without its own service rate, congestion points and PAUSE."""
    node: Table = {"kind": "switch", "buffer": draw(st.integers(1_000, 100_000))}
    if draw(st.booleans()):
        node["service_rate"] = draw(RATES)
    if draw(st.booleans()):
        trim = st.builds(dict, plugin=st.just("trim"), above=st.sampled_from([0, 4_500, 20_000]))
        node["congestion_point"] = draw(st.one_of(congestion_points(), pies(), codels(), trim))
    if draw(st.booleans()):
        node["pause"] = draw(pauses())
    if draw(st.booleans()):
        node["inputs"] = draw(inputs())
        node["buffer"] = max(node["buffer"], 1_500)
    elif draw(st.integers(0, 3)) == 0:
        node["congestion_point"] = draw(occupancy_sampling())
    node["spread"] = draw(st.sampled_from(["none", "flows", "frames"]))
    if draw(st.booleans()):
        timeout = draw(st.sampled_from([1, 20 * US, MS]))
        node["reassembly"] = {"buffer": draw(st.integers(64, 60_000)), "timeout": timeout}
    return node


@st.composite
def nics(draw: st.DrawFn) -> Table:
    """A NIC, with limiters or without."""
    node: Table = {"kind": "nic", "host_queue": draw(st.integers(64, 12_000))}
    node["reaction_time"] = draw(st.sampled_from([0, 1, 30 * US]))
    if draw(st.booleans()):
        node["reaction_points"] = draw(st.integers(0, 3))
        reset = draw(st.sampled_from([100 * US, MS]))
        node["reaction_point"] = {"plugin": "qcn-rp", "time_reset": reset, "byte_reset": 3_000}
        node["limiter"] = {"granularity": draw(st.sampled_from([0, 500_000]))}
    return node


@st.composite
def links(draw: st.DrawFn, ends: list[str]) -> Table:
    """A link, now and then with a short delay line or a jittered one."""
    link: Table = {
        "ends": ends if draw(st.booleans()) else ends[::-1],
        "rate": draw(RATES),
        "delay": draw(DELAYS),
        "overhead": draw(st.sampled_from([0, 20])),
    }
    if draw(st.booleans()):
        link["delay_back"] = draw(DELAYS)
    if draw(st.integers(0, 3)) == 0:
        link["buffer"] = draw(st.integers(1_500, 20_000))
    if draw(st.integers(0, 3)) == 0:
        link["delay_line"] = {"plugin": "jittered-delay", "jitter": draw(DELAYS)}
    return link


@st.composite
def timelines(draw: st.DrawFn, plan: Table) -> list[Table]:
    """Up to six steps of any kind."""
    some_link = st.sampled_from(sorted(plan["links"]))
    some_switch = st.sampled_from([n for n in plan["nodes"] if n.startswith("switch")])
    some_traffic = st.sampled_from(sorted(plan["traffic"]))
    changes: list[st.SearchStrategy[Table]] = [
        st.builds(lambda link: {"cut": link}, some_link),
        st.builds(lambda link: {"mend": link}, some_link),
        st.builds(lambda entry: {"start": entry}, some_traffic),
        st.builds(lambda entry: {"stop": entry}, some_traffic),
        _set("links.{}.rate", some_link, RATES),
        _set("links.{}.delay", some_link, DELAYS),
        _set("links.{}.delay_back", some_link, DELAYS),
        _set("nodes.{}.service_rate", some_switch, RATES),
        _set("nodes.{}.buffer", some_switch, st.integers(64, 200_000)),
        _set("traffic.{}.rate", some_traffic, RATES),
    ]
    steps = draw(st.lists(st.one_of(changes), max_size=6))
    return [step | {"at": draw(st.integers(0, plan["duration"]))} for step in steps]


def _set(
    key: str, name: st.SearchStrategy[str], value: st.SearchStrategy[int]
) -> st.SearchStrategy[Table]:
    return st.builds(lambda name, value: {"set": key.format(name), "to": value}, name, value)


@st.composite
def plans(draw: st.DrawFn, length: st.SearchStrategy[int] = LENGTHS) -> Table:
    """The tables of a valid plan: NICs and sinks around one switch or two, some links parallel."""
    ring = [f"switch{n}" for n in range(draw(st.integers(1, 2)))]
    hosts = [f"nic{n}" for n in range(draw(st.integers(1, 3)))]
    ends = [*hosts, *(f"sink{n}" for n in range(draw(st.integers(1, 2))))]
    nodes: dict[str, Any] = {name: draw(switches()) for name in ring}
    nodes |= {name: draw(nics()) for name in hosts}
    nodes |= {name: {"kind": "sink"} for name in ends if name not in hosts}
    joined = [[name, draw(st.sampled_from(ring))] for name in ends]
    joined += [ring] if len(ring) == 2 else []
    joined += draw(st.lists(st.sampled_from(joined), max_size=1))
    plan: Table = {
        "name": "random",
        "seed": draw(st.integers(0, 1000)),
        "duration": draw(st.integers(1, 3)) * MS,
        "sample_interval": 100 * US,
        "priorities": draw(st.sampled_from(["shared", "separate"])),
        "nodes": nodes,
        "links": {f"link{n}": draw(links(pair)) for n, pair in enumerate(joined)},
        "traffic": {},
    }
    if draw(st.booleans()):
        members = draw(st.lists(st.sampled_from(ends[1:]), min_size=1, max_size=3, unique=True))
        plan["groups"] = {"all": members}
        plan["traffic"]["wide"] = {
            "plugin": "cbr",
            "from": hosts[0],
            "to": "all",
            "flows": draw(st.integers(1, 2)),
            "frame": draw(length),
            "priority": draw(st.sampled_from([0, 3])),
            "rate": draw(RATES),
        }
    for number in range(draw(st.integers(1, 3))):
        source = draw(st.sampled_from(hosts))
        plan["traffic"][f"gen{number}"] = {
            "plugin": "cbr",
            "from": source,
            "to": draw(st.sampled_from([name for name in ends if name != source])),
            "flows": draw(st.integers(1, 3)),
            "frame": draw(length),
            "priority": draw(st.sampled_from([0, 3, 7])),
            "rate": draw(RATES),
            "start": draw(st.sampled_from([0, 1, 123 * US])),
        }
        mine = [n for n, link in plan["links"].items() if source in link["ends"]]
        if draw(st.booleans()):
            plan["traffic"][f"gen{number}"]["via"] = draw(st.sampled_from(mine))
    plan["timeline"] = draw(timelines(plan))
    return plan
