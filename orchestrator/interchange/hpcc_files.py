"""Readers of the files of HPCC's simulator: topology, flows, trace and configuration.

Formats as its repository documents and reads them (simulation/mix, simulation/scratch/third.cc of
github.com/alibaba-edu/High-Precision-Congestion-Control): words between white space, of which those
behind the last one expected are remarks.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from orchestrator.interchange.source_text import SourceText, Token, Words
from orchestrator.plan.units import UnitError, parse_duration, parse_rate, parse_ratio

LEAST_RATE, MOST_RATE = 10**3, 10**13
"""Rates of links that plans accept (bit/s)."""

MOST_NODES = 1 << 16
MOST_LINKS = 1 << 20
MOST_FLOWS = 50_000_000
MOST_FLOW_SIZE = (1 << 32) - 1
"""Octets: the simulator reads an unsigned number of 32 bits."""
MOST_START = 3600 * 10**12
"""ps."""
SECOND = 10**12


@dataclass(frozen=True)
class TopologyLink:
    """A link: ends, bit/s, delay in ps, share of the frames that are lost."""

    ends: tuple[int, int]
    rate: int
    delay: int
    loss: Fraction


@dataclass(frozen=True)
class Topology:
    """Nodes are numbered from 0; those in `switches` are switches, the others hosts."""

    nodes: int
    switches: tuple[int, ...]
    links: tuple[TopologyLink, ...]

    @functools.cached_property
    def names(self) -> list[str]:
        """Names of the nodes in the plan: h0, h1, ... for hosts, s2, s3, ... for switches."""
        switches = set(self.switches)
        return [f"{'s' if node in switches else 'h'}{node}" for node in range(self.nodes)]

    @property
    def hosts(self) -> list[int]:
        """The nodes that are no switches, in order."""
        switches = set(self.switches)
        return [node for node in range(self.nodes) if node not in switches]


@dataclass(frozen=True)
class HpccFlow:
    """A flow: hosts, priority group, destination port, octets, start in ps."""

    source: int
    destination: int
    group: int
    port: int
    size: int
    start: int


def read_topology(source: SourceText) -> Topology:
    """The topology of a file. Raises BadInput with the line of what is wrong."""
    words = Words(source)

    def number(key: str, most: int, least: int = 0) -> int:
        token = words.take(key, "numbers of nodes, of switches and of links are expected")
        return source.integer(key, token, least, most)

    nodes = number("nodes", MOST_NODES, 1)
    count, links = number("switches", nodes), number("links", MOST_LINKS)
    switches: dict[int, None] = {}
    for _ in range(count):
        token = words.take("switch", f"{count} numbers of switches are expected")
        switch = source.integer("switch", token, 0, nodes - 1)
        if switch in switches:
            raise source.refused("switch", token.text, "each switch once is expected", token.line)
        switches[switch] = None
    return Topology(nodes, tuple(switches), tuple(_links(source, words, nodes, links)))


def _links(source: SourceText, words: Words, nodes: int, count: int) -> Iterator[TopologyLink]:
    expected = f"{count} links are expected, each with ends, rate, delay and error rate"
    for number in range(count):
        ends: list[int] = []
        for _ in range(2):
            token = words.take(f"link {number}", expected)
            ends.append(source.integer(f"link {number}", token, 0, nodes - 1))
        if ends[0] == ends[1]:
            accepted = "two different ends are expected"
            raise source.refused(f"link {number}", token.text, accepted, token.line)
        rate = source.parsed("rate", words.take("rate", expected), _link_rate)
        delay = source.parsed("delay", words.take("delay", expected), parse_duration)
        loss = source.parsed("error rate", words.take("error rate", expected), _probability)
        yield TopologyLink((ends[0], ends[1]), rate, delay, loss)


def _link_rate(text: str) -> int:
    """The rate of a link, in bit/s, as plans accept it. Raises UnitError."""
    rate = parse_rate(text)
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise UnitError("1kb/s to 10Tb/s are expected")
    return rate


def _probability(text: str) -> Fraction:
    """A share of 1, from a decimal number such as 0.001 or 1e-5. Raises UnitError."""
    try:
        value = parse_ratio(float(text))
    except (ValueError, OverflowError):
        raise UnitError("a number from 0 to 1 is expected") from None
    if value > 1:
        raise UnitError("a number from 0 to 1 is expected")
    return value


def read_flows(source: SourceText, topology: Topology) -> list[HpccFlow]:
    """The flows of a file. Raises BadInput with the line of what is wrong."""
    words = Words(source)
    token = words.take("flows", "the number of flows is expected")
    count = source.integer("flows", token, 0, MOST_FLOWS)
    expected = f"{count} flows are expected, as the first line says"
    switches = set(topology.switches)

    def host(key: str) -> int:
        token = words.take(key, expected)
        found = source.integer(key, token, 0, topology.nodes - 1)
        if found in switches:
            accepted = "a host is expected, and this is a switch"
            raise source.refused(key, token.text, accepted, token.line)
        return found

    def number(key: str, least: int, most: int) -> int:
        return source.integer(key, words.take(key, expected), least, most)

    found = []
    for _ in range(count):
        start, end = host("source"), host("destination")
        group = number("priority group", 0, 7)
        port = number("destination port", 0, 65_535)
        size = number("size", 1, MOST_FLOW_SIZE)
        token = words.take("start", expected)
        time = source.scaled("start", token, 12, 0, MOST_START, "seconds")
        if start == end:
            accepted = "another host than the source is expected"
            raise source.refused("destination", end, accepted, token.line)
        found.append(HpccFlow(start, end, group, port, size, time))
    return found


def read_trace(source: SourceText, topology: Topology) -> list[int]:
    """Nodes whose events are traced; those that the topology lacks are skipped, as there."""
    words = Words(source)
    expected = "the number of nodes, then their numbers, are expected"
    count = source.integer("nodes", words.take("nodes", expected), 0, MOST_NODES)
    found = [source.integer("node", words.take("node", expected), 0, 1 << 32) for _ in range(count)]
    return [node for node in dict.fromkeys(found) if node < topology.nodes]


@dataclass(frozen=True)
class HpccConfig:
    """Settings of a configuration: key -> its words, with their line."""

    source: SourceText
    settings: dict[str, list[Token]]

    def words(self, key: str, count: int) -> list[Token] | None:
        """The first words of a key; None where it is not there. Raises BadInput for fewer."""
        found = self.settings.get(key)
        if found is None:
            return None
        if len(found) <= count:
            accepted = f"{count} value{'s' * (count > 1)} are expected"
            raise self.source.refused(key, "end of line", accepted, found[0].line)
        return found[1 : count + 1]

    def integer(self, key: str, default: int, most: int = 1 << 40) -> int:
        """The whole number of a key."""
        found = self.words(key, 1)
        return default if found is None else self.source.integer(key, found[0], 0, most)

    def time(self, key: str, digits: int, default: int, most: int = MOST_START) -> int:
        """ps of a key whose unit is 10^digits ps."""
        unit = {12: "seconds", 6: "microseconds"}[digits]
        found = self.words(key, 1)
        if found is None:
            return default
        return self.source.scaled(key, found[0], digits, 0, most, unit)

    def ratio(self, key: str, default: Fraction) -> Fraction:
        """The decimal number of a key, from 0 to 1."""
        found = self.words(key, 1)
        return default if found is None else self.source.parsed(key, found[0], _probability)

    def rate(self, key: str, default: int) -> int:
        """bit/s of a key."""
        found = self.words(key, 1)
        return default if found is None else self.source.parsed(key, found[0], parse_rate)

    def by_rate(self, key: str) -> dict[int, Token]:
        """bit/s of links -> word, of a key with a count and so many pairs."""
        head = self.words(key, 1)
        if head is None:
            return {}
        count = self.source.integer(key, head[0], 0, 1000)
        pairs = (self.words(key, 1 + 2 * count) or [])[1:]
        rates = [self.source.integer(key, token, 1, 10**13) for token in pairs[::2]]
        return dict(zip(rates, pairs[1::2], strict=True))


def read_config(source: SourceText) -> HpccConfig:
    """The settings of a file, a line each. Raises BadInput for a key that stands twice."""
    found: dict[str, list[Token]] = {}
    for row in source.rows():
        key = row[0].text
        if key in found:
            raise source.refused(key, "a second time", "each key once is expected", row[0].line)
        found[key] = row
    return HpccConfig(source, found)


def is_config(source: SourceText) -> bool:
    """True for a configuration, which begins with a key; a trace file begins with a number."""
    first = next(source.tokens(), None)
    return first is not None and not first.text[0].isdigit()
