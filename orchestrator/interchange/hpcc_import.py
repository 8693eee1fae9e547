"""Plans from topology, flows, trace and configuration of HPCC's simulator."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from orchestrator.assembly.telemetry_space import headers
from orchestrator.engine.frames.telemetry_header import MOST_STAMPS
from orchestrator.errors import BadInput
from orchestrator.interchange.hpcc_files import (
    SECOND,
    HpccConfig,
    HpccFlow,
    Topology,
    read_config,
    read_flows,
    read_topology,
    read_trace,
)
from orchestrator.interchange.hpcc_schemes import BUFFERS, HELD, Fabric, Scheme, scheme_of
from orchestrator.interchange.imported_plan import (
    CLOCKS,
    FlowRow,
    Imported,
    with_duration,
    with_flows,
)
from orchestrator.interchange.source_text import SourceText
from orchestrator.plan.units import format_duration, format_rate, format_size

PAYLOAD = 1000
"""Octets of a packet, PACKET_PAYLOAD_SIZE, where no configuration says another."""
MEMORY = 16
"""MiB of a switch, BUFFER_SIZE, where no configuration says another."""
RESUME = 3072
"""Octets below the threshold of a pause at which it ends."""
MOST_FRAME = 9216
DRAIN = 20 * 10**9
"""ps behind the last start, where no configuration says when the run ends ..."""
DRAIN_FACTOR = 10
"""... and so many times the time of the largest flow on the slowest link of a host."""
CAPTURED = 500_000_000
"""Octets that captures of traced nodes keep at the most."""
SNAP = 128
OTHER_HEADER = 48
"""Octets of headers of the simulator's packets without telemetry."""


@dataclass(frozen=True)
class Paths:
    """Facts of shortest paths between hosts: longest round trip in ps, most switches on a path."""

    round_trip: int
    switches: int


def import_hpcc(
    name: str,
    topology: Path,
    flows: Path,
    flow_file: str,
    trace: Path | None = None,
    config: Path | None = None,
) -> Imported:
    """The plan `name` of these files, whose flows stand in `flow_file`. Raises BadInput."""
    network = read_topology(SourceText.read(topology))
    listed = read_flows(SourceText.read(flows), network)
    settings = read_config(SourceText("no configuration", ()))
    if config is not None:
        settings = read_config(SourceText.read(config))
    if not listed:
        raise BadInput(str(flows), "has no flow; a plan needs one at least")
    read = [path for path in (topology, flows, trace, config) if path is not None]
    made = Imported("hpcc", [path.name for path in read], {"name": name, **CLOCKS})
    payload = settings.integer("PACKET_PAYLOAD_SIZE", PAYLOAD, MOST_FRAME)
    paths = _paths(network, max(payload, 1))
    fabric = Fabric(
        round_trip=paths.round_trip,
        stamps=min(max(paths.switches, 1), MOST_STAMPS),
        switches=len(network.switches),
        host_rate=_host_rate(topology, network),
    )
    scheme = scheme_of(settings, fabric)
    frame = max(payload, 1) + headers(fabric.stamps if scheme.stamps else 0)
    if frame > MOST_FRAME:
        source = settings.source
        accepted = f"at most {MOST_FRAME - frame + payload} octets, as frames are of {MOST_FRAME}"
        raise source.refused("PACKET_PAYLOAD_SIZE", payload, accepted)
    _nodes(made, network, settings, scheme, fabric, frame)
    _link_tables(made, network, settings)
    shift = min(flow.start for flow in listed) // SECOND * SECOND
    made.rows = _rows(network, listed, shift)
    transport = {"plugin": "go-back-n"}
    with_flows(made, flow_file, {"frame": f"{frame}B", "transport": transport})
    _timeline(made, network, settings, shift)
    if trace is not None:
        _captures(made, network, read_trace(SourceText.read(trace), network), settings)
    with_duration(made.data, _duration(settings, listed, shift, fabric.host_rate))
    _comments(made, settings, config is not None, scheme, shift, frame, payload)
    return made


def _paths(network: Topology, payload: int) -> Paths:
    """Longest round trip as the simulator reckons it: twice the delays, once a packet's times.

    Over shortest paths by hops, of which the first found counts; hosts do not forward.
    """
    neighbours: list[list[tuple[int, int, int]]] = [[] for _ in range(network.nodes)]
    for link in network.links:
        sending = payload * 8 * SECOND // link.rate
        for end, other in (link.ends, link.ends[::-1]):
            neighbours[end].append((other, link.delay, sending))
    switches = set(network.switches)
    longest, most = 0, 0
    for host in network.hosts:
        known = {host: (0, 0, 0)}
        queue = deque([host])
        while queue:
            node = queue.popleft()
            hops, delay, sending = known[node]
            for other, more, time in neighbours[node]:
                if other in known:
                    continue
                known[other] = (hops + 1, delay + more, sending + time)
                if other in switches:
                    queue.append(other)
                else:
                    longest = max(longest, 2 * known[other][1] + known[other][2])
                    most = max(most, hops)
    return Paths(longest, most)


def _host_rate(path: Path, network: Topology) -> int:
    """bit/s of the slowest link of a host."""
    switches = set(network.switches)
    rates = [link.rate for link in network.links if not switches.issuperset(link.ends)]
    if not rates:
        raise BadInput(str(path), "has no link of a host; a plan needs hosts that are connected")
    return min(rates)


def _nodes(
    made: Imported,
    network: Topology,
    settings: HpccConfig,
    scheme: Scheme,
    fabric: Fabric,
    frame: int,
) -> None:
    nodes: dict[str, Any] = {}
    asked = settings.integer(BUFFERS, MEMORY, 10**6) * 2**20
    buffer = min(asked, HELD // max(fabric.switches, 1))
    high = max(buffer // 8, 2 * frame)
    pairs = Counter(frozenset(link.ends) for link in network.links)
    ports: dict[int, dict[str, int]] = {node: {} for node in range(network.nodes)}
    for number, link in enumerate(network.links):
        for end, other in (link.ends, link.ends[::-1]):
            port = network.names[other] if pairs[frozenset(link.ends)] == 1 else f"l{number}"
            ports[end][port] = link.rate
    for node, name in enumerate(network.names):
        if name.startswith("h"):
            nodes[name] = {
                "kind": "nic",
                **scheme.host(max(ports[node].values(), default=0), frame),
            }
            continue
        rates = set(ports[node].values())
        table: dict[str, Any] = {
            "kind": "switch",
            "buffer": format_size(buffer),
            "spread": "flows",
            "inputs": {
                "buffer": format_size(buffer),
                "shared_memory": format_size(buffer),
                "pause": {
                    "plugin": "pfc",
                    "high": format_size(high),
                    "low": format_size(max(high - RESUME, 0)),
                },
            },
        }
        if len(rates) == 1 and (point := scheme.port(rates.pop())):
            table["congestion_point"] = point
        elif rates:
            each = {port: scheme.port(rate) for port, rate in ports[node].items()}
            table["ports"] = {p: {"congestion_point": point} for p, point in each.items() if point}
        nodes[name] = table
    made.data["nodes"] = nodes
    hosts = len(network.hosts)
    switches = len(network.switches)
    made.taken.append(
        f"{hosts} host{'s' * (hosts != 1)} and {switches} switch{'es' * (switches != 1)}, "
        "with ECMP by flow"
    )
    made.taken.append(f"{format_size(buffer)} of memory that the ports of a switch share")
    if buffer < asked:
        made.not_taken.append(
            f"{BUFFERS} of {format_size(asked)}: all switches together have {format_size(HELD)}, "
            "as frames that wait take memory of this machine"
        )
    made.not_taken.append(
        "the PFC threshold that follows the free memory: it is that of an empty memory, an eighth"
    )


def _link_tables(made: Imported, network: Topology, settings: HpccConfig) -> None:
    everywhere = settings.ratio("ERROR_RATE_PER_LINK", Fraction(0))
    links: dict[str, Any] = {}
    lossy = 0
    for number, link in enumerate(network.links):
        table: dict[str, Any] = {
            "ends": [network.names[end] for end in link.ends],
            "rate": format_rate(link.rate),
            "delay": format_duration(link.delay),
        }
        if loss := link.loss or everywhere:
            share = loss.limit_denominator(10**9)
            table["delay_line"] = {"plugin": "lossy-delay", "loss_rate": str(share)}
            lossy += 1
        links[f"l{number}"] = table
    made.data["links"] = links
    made.taken.append(f"{len(links)} links" + (f", {lossy} of them with losses" if lossy else ""))


def _rows(network: Topology, listed: list[HpccFlow], shift: int) -> list[FlowRow]:
    classes = {(flow.group, flow.port) for flow in listed}
    several = len(classes) > 1
    return [
        FlowRow(
            network.names[flow.source],
            network.names[flow.destination],
            flow.size,
            flow.start - shift,
            flow.group,
            f"pg{flow.group}-dport{flow.port}" if several else "flows",
        )
        for flow in listed
    ]


def _timeline(made: Imported, network: Topology, settings: HpccConfig, shift: int) -> None:
    words = settings.words("LINK_DOWN", 3)
    if words is None:
        return
    source = settings.source
    after = source.scaled("LINK_DOWN", words[0], 6, 0, 3600 * 10**12, "microseconds")
    ends = [source.integer("LINK_DOWN", word, 0, network.nodes - 1) for word in words[1:]]
    if not after:
        return
    numbers = [n for n, link in enumerate(network.links) if set(link.ends) == set(ends)]
    if not numbers:
        accepted = "the two ends of a link of the topology are expected"
        raise source.refused("LINK_DOWN", f"{ends[0]} {ends[1]}", accepted, words[0].line)
    at = 2 * SECOND + after - shift
    if at >= 0:
        made.data["timeline"] = [{"at": format_duration(at), "cut": f"l{numbers[0]}"}]
        made.taken.append("LINK_DOWN, which counts from 2 s on")
        made.not_taken.append("new routes around the link that goes down")


def _captures(made: Imported, network: Topology, nodes: list[int], settings: HpccConfig) -> None:
    if not settings.integer("ENABLE_TRACE", 1):
        made.not_taken.append("the trace: ENABLE_TRACE is 0")
        return
    traced = set(nodes)
    pairs = Counter(frozenset(link.ends) for link in network.links)
    ports = [
        f"{network.names[end]}."
        + (network.names[other] if pairs[frozenset(link.ends)] == 1 else f"l{number}")
        for number, link in enumerate(network.links)
        for end, other in (link.ends, link.ends[::-1])
        if end in traced
    ]
    if not ports or len(ports) > 10_000:
        made.not_taken.append(f"the trace: {len(ports)} ports; from 1 to 10000 can be captured")
        return
    frames = min(200_000, max(CAPTURED // (SNAP * len(ports)), 1))
    made.data["capture"] = {"ports": ports, "frames": frames}
    made.taken.append(f"the trace: frames of {len(ports)} ports are captured, {frames} each")


def _duration(settings: HpccConfig, listed: list[HpccFlow], shift: int, rate: int) -> int:
    """ps of the run."""
    if words := settings.words("SIMULATOR_STOP_TIME", 1):
        stop = settings.time("SIMULATOR_STOP_TIME", 12, 0)
        if stop <= shift:
            accepted = f"a time after the first flow, {format_duration(shift)}, is expected"
            raise settings.source.refused(
                "SIMULATOR_STOP_TIME", words[0].text, accepted, words[0].line
            )
        return min(stop - shift, 3600 * SECOND)
    largest = max(flow.size for flow in listed)
    last = max(flow.start for flow in listed) - shift
    return min(last + DRAIN + DRAIN_FACTOR * largest * 8 * SECOND // rate, 3600 * SECOND)


IGNORED: Mapping[str, str] = {
    "PAUSE_TIME": "pauses are refreshed while they are needed",
    "L2_CHUNK_SIZE": "go-back-n acknowledges each segment",
    "L2_ACK_INTERVAL": "go-back-n acknowledges each segment",
    "L2_BACK_TO_ZERO": "a loss is repeated from the lost segment on",
    "ACK_HIGH_PRIO": "acknowledgements have the priority of control frames",
    "QLEN_MON_START": "every queue is sampled all the time",
    "QLEN_MON_END": "every queue is sampled all the time",
}
FILES = frozenset(
    {
        "TOPOLOGY_FILE",
        "FLOW_FILE",
        "TRACE_FILE",
        "TRACE_OUTPUT_FILE",
        "FCT_OUTPUT_FILE",
        "PFC_OUTPUT_FILE",
        "QLEN_MON_FILE",
    }
)
"""Keys that name files, which the command line names here."""
READ = frozenset(
    {
        "PACKET_PAYLOAD_SIZE",
        "SIMULATOR_STOP_TIME",
        "ERROR_RATE_PER_LINK",
        "LINK_DOWN",
        "ENABLE_TRACE",
        BUFFERS,
    }
)


def _comments(
    made: Imported,
    settings: HpccConfig,
    configured: bool,
    scheme: Scheme,
    shift: int,
    frame: int,
    payload: int,
) -> None:
    made.taken += scheme.taken
    made.taken.append(f"packets of {payload} octets, in frames of {frame} with their headers")
    if shift:
        made.taken.append(
            f"starts of flows less {format_duration(shift)}, before which nothing happens; "
            f"`tailback export fct --offset {format_duration(shift)}` adds them again"
        )
    made.not_taken += scheme.not_taken
    made.not_taken.append(
        f"the size of headers: {frame - payload} octets here, {OTHER_HEADER} and telemetry there"
    )
    if not configured:
        made.not_taken.append(
            "no configuration was given: there is no congestion control, a packet is "
            f"{payload} octets, and the run ends some time after the last start"
        )
    for key in settings.settings:
        if key in IGNORED:
            made.not_taken.append(f"{key}: {IGNORED[key]}")
    others = [key for key in settings.settings if key not in READ | FILES | scheme.keys]
    if unused := [key for key in others if key not in IGNORED]:
        made.not_taken.append(
            f"{', '.join(unused)}: of another congestion control, or without a counterpart"
        )
