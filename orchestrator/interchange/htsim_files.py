"""Readers of htsim's files: fat trees (.topo) and connection matrices (.cm).

Formats as sim/datacenter of github.com/Broadcom/csg-htsim reads them (fat_tree_topology.cpp,
connection_matrix.cpp): a line per setting, `#` before remarks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.interchange.source_text import SourceText, Token

GIGABIT = 10**9
NS = 1000
MOST_HOSTS = 12_000
MOST_SIZE = (1 << 31) - 1
"""Octets: the simulator reads a signed number of 32 bits."""
MOST_START = 3600 * 10**12
"""ps."""
HEADER = ("nodes", "tiers", "podsize")
TIER_KEYS = (
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "queue_down",
    "queue_up",
    "oversubscribed",
    "bundle",
    "switch_latency_ns",
    "downlink_latency_ns",
)
NEEDED = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")
MOST = {"downlink_speed_gbps": 10_000, "switch_latency_ns": 10**9, "downlink_latency_ns": 10**9}


@dataclass
class Tier:
    """Settings of the switches of a tier: key -> value; `line` is where it begins."""

    line: int
    values: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def get(self, key: str) -> int:
        """A value, or what it is where the file does not say."""
        return self.values.get(key, 1 if key in ("bundle", "oversubscribed") else 0)


@dataclass(frozen=True)
class FatTree:
    """Hosts, and the numbers of switches: under each other, 0 to radix up."""

    hosts: int
    pods: int
    tors_per_pod: int
    aggs_per_pod: int
    cores: int
    tiers: tuple[Tier, ...]


def read_fat_tree(source: SourceText) -> FatTree:
    """The fat tree of a file. Raises BadInput with the line of what is wrong."""
    header, tiers = _settings(source)
    missing = [key for key in HEADER if key not in header]
    if missing:
        raise source.refused(missing[0], "missing", "a line with it and a number is expected")
    count = header["tiers"][0]
    if not 2 <= count <= 3:
        raise source.refused("tiers", count, "2 or 3 is expected", header["tiers"][1])
    for number in range(count):
        if number not in tiers:
            raise source.refused(
                f"tier {number}", "missing", f"tiers 0 to {count - 1} are expected"
            )
        needed = (*NEEDED, *(("radix_up",) if number < count - 1 else ()))
        for key in needed:
            if not tiers[number].get(key):
                accepted = "a number from 1 on is expected"
                raise source.refused(
                    f"tier {number} {key}", "missing", accepted, tiers[number].line
                )
    return _numbers(source, header, tuple(tiers[number] for number in range(count)))


def _settings(source: SourceText) -> tuple[dict[str, tuple[int, int]], dict[int, Tier]]:
    """Key -> (value, line) of the header, and the tiers."""
    header: dict[str, tuple[int, int]] = {}
    tiers: dict[int, Tier] = {}
    current: Tier | None = None
    for row in source.rows():
        key, line = row[0].text.lower(), row[0].line
        if len(row) < 2:
            raise source.refused(row[0].text, "end of line", "a number is expected", line)
        if key == "tier":
            number = source.integer(key, row[1], 0, 2)
            if number in tiers:
                raise source.refused(key, number, "each tier once is expected", line)
            current = tiers[number] = Tier(line)
        elif key in HEADER and current is None:
            header[key] = (source.integer(row[0].text, row[1], 1, MOST_HOSTS), line)
        elif key in TIER_KEYS and current is not None:
            if key in current.values:
                accepted = f"one value is expected; line {current.lines[key]} has another"
                raise source.refused(row[0].text, row[1].text, accepted, line)
            current.values[key] = source.integer(row[0].text, row[1], 0, MOST.get(key, 10**9))
            current.lines[key] = line
        else:
            known = ", ".join((*HEADER, "tier") if current is None else ("tier", *TIER_KEYS))
            raise source.refused("key", row[0].text, f"{known} are expected", line)
    return header, tiers


def _numbers(
    source: SourceText, header: dict[str, tuple[int, int]], tiers: tuple[Tier, ...]
) -> FatTree:
    """Numbers of switches that the radices give. Raises BadInput where they do not go together."""
    hosts, pod = header["nodes"][0], header["podsize"][0]
    low, high = tiers[0], tiers[1]

    def exact(number: int, by: int, key: str, line: int, accepted: str) -> int:
        if not by or number % by or not number:
            raise source.refused(key, by, accepted, line)
        return number // by

    pods = exact(hosts, pod, "podsize", header["podsize"][1], f"a divisor of {hosts} is expected")
    tors = exact(
        pod, low.get("radix_down"), "tier 0 radix_down", low.line, f"a divisor of {pod} is expected"
    )
    if low.get("bundle") != 1:
        raise source.refused("tier 0 bundle", low.get("bundle"), "1 is expected", low.line)
    up = _uplinks(source, hosts, low, high, 0)
    accepted = f"a divisor of the {up // pods} uplinks of a pod is expected"
    if up % pods:
        raise source.refused("podsize", pod, f"{up} uplinks in equal pods are expected", low.line)
    aggs = exact(up // pods, high.get("radix_down"), "tier 1 radix_down", high.line, accepted)
    if aggs * high.get("bundle") != low.get("radix_up"):
        accepted = f"{aggs * high.get('bundle')} is expected: {aggs} switches above, in bundles"
        raise source.refused("tier 0 radix_up", low.get("radix_up"), accepted, low.line)
    if len(tiers) == 2:
        return FatTree(hosts, pods, tors, aggs, 0, tiers)
    top = tiers[2]
    up = _uplinks(source, up, high, top, 1)
    accepted = f"a divisor of the {up} uplinks of tier 1 is expected"
    cores = exact(up, top.get("radix_down"), "tier 2 radix_down", top.line, accepted)
    accepted = f"{cores} cores in groups of equal size are expected"
    each = exact(cores, aggs, "tier 1 switches per pod", high.line, accepted)
    if each * top.get("bundle") != high.get("radix_up"):
        accepted = f"{each * top.get('bundle')} is expected: {each} switches above, in bundles"
        raise source.refused("tier 1 radix_up", high.get("radix_up"), accepted, high.line)
    return FatTree(hosts, pods, tors, aggs, cores, tiers)


def _uplinks(source: SourceText, downlinks: int, tier: Tier, above: Tier, number: int) -> int:
    """Uplinks of a tier that carry what its downlinks do, over its oversubscription."""
    carried = downlinks * tier.get("downlink_speed_gbps")
    each = above.get("downlink_speed_gbps") * tier.get("oversubscribed")
    if not each or carried % each:
        accepted = f"a divisor of {carried} Gb/s over uplinks is expected"
        raise source.refused(f"tier {number} oversubscribed", each, accepted, tier.line)
    return carried // each


@dataclass(frozen=True)
class MatrixFlow:
    """A connection: hosts, octets, start in ps."""

    source: int
    destination: int
    size: int
    start: int


@dataclass
class ConnectionMatrix:
    """Connections that begin at a time, and the numbers of what a plan does not take."""

    nodes: int
    flows: list[MatrixFlow] = field(default_factory=list)
    triggered: int = 0
    triggers: int = 0
    failures: int = 0
    priorities: int = 0


def read_matrix(source: SourceText) -> ConnectionMatrix:
    """The connections of a file. Raises BadInput with the line of what is wrong."""
    counts: dict[str, tuple[int, int]] = {}
    made = ConnectionMatrix(0)
    for row in source.rows():
        first = row[0]
        if first.text in ("Nodes", "Connections", "Triggers", "Failures"):
            if len(row) < 2:
                raise source.refused(first.text, "end of line", "a number is expected", first.line)
            counts[first.text] = (source.integer(first.text, row[1]), first.line)
        elif "->" in first.text:
            _connection(source, row, made, counts.get("Nodes", (0, 0))[0])
        elif first.text == "trigger":
            made.triggers += 1
        elif first.text == "failure":
            made.failures += 1
        else:
            accepted = (
                "Nodes, Connections, Triggers, Failures, a->b, trigger or failure is expected"
            )
            raise source.refused("line", first.text, accepted, first.line)
    for key, found in (
        ("Nodes", counts.get("Nodes", (0, 0))[0]),
        ("Connections", len(made.flows) + made.triggered),
        ("Triggers", made.triggers),
        ("Failures", made.failures),
    ):
        given, line = counts.get(key, (0, None))
        if given != found or (key == "Nodes" and not given):
            accepted = "a line with the number of nodes" if key == "Nodes" else f"{found}"
            raise source.refused(key, given, f"{accepted} is expected: so many are there", line)
    made.nodes = counts["Nodes"][0]
    return made


def _connection(source: SourceText, row: list[Token], made: ConnectionMatrix, nodes: int) -> None:
    line = row[0].line
    start_text, _, end_text = row[0].text.partition("->")
    ends = [
        source.integer(key, Token(text, line), 0, max(nodes - 1, 0))
        for key, text in (("source", start_text), ("destination", end_text))
    ]
    if ends[0] == ends[1]:
        accepted = "two different hosts are expected"
        raise source.refused("connection", row[0].text, accepted, line)
    values: dict[str, Token] = {}
    words = iter(row[1:])
    for word in words:
        if word.text == "addon":
            continue
        value = next(words, None)
        known = ("start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
        if word.text not in known:
            raise source.refused("key", word.text, f"{', '.join(known)} are expected", line)
        if value is None:
            raise source.refused(word.text, "end of line", "a number is expected", line)
        values[word.text] = value
    if "size" not in values:
        raise source.refused("size", "missing", "a number of octets is expected", line)
    size = source.integer("size", values["size"], 1, MOST_SIZE)
    made.priorities += "prio" in values
    if "trigger" in values:
        made.triggered += 1
        return
    if "start" not in values:
        raise source.refused("start", "missing", "a time in picoseconds is expected", line)
    start = source.scaled("start", values["start"], 0, 0, MOST_START, "picoseconds")
    made.flows.append(MatrixFlow(ends[0], ends[1], size, start))
