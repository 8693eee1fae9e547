"""RoCEv2 packets at the port of a NIC, as arrays, with any queue pair numbers and tags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Self

import numpy as np

from orchestrator.engine.records import CE
from traces.dissect.header_parser import CNP_OPCODE
from traces.protocols.roce import UDP_PORT

TAGS = (0x8100, 0x88A8, 0x9100)
MOST_TAGS = 3
IPV4, IPV6, UDP = 0x0800, 0x86DD, 17
BTH_OCTETS, IPV6_OCTETS = 12, 40
ACK_OPCODE = 0x11
LAST_DATA_OPCODE = 0x0B
"""Of RC: SEND and RDMA WRITE with immediate data, the last opcode that carries a request's data."""
NO_ANSWER = -1
NAK_SEQUENCE = 0x60
"""Syndrome of a negative acknowledgement for a PSN sequence error."""
VOTES = 20_000
"""Acknowledgements that tell which queue pair belongs to which."""
PSN_BITS = 24
PS_IN_NS = 1000
OUT = 2


def _number(octets: np.ndarray, begin: np.ndarray, size: int) -> np.ndarray:
    """Big-endian number of `size` octets at `begin` int64[n] of each row; octets that were not
    captured count as 0."""
    last = octets.shape[1] - 1
    found = np.zeros(len(octets), np.int64)
    for place in range(size):
        here = begin + place
        octet = octets[np.arange(len(octets)), np.minimum(here, last)]
        found = found << 8 | np.where(here <= last, octet, 0)
    return found


@dataclass(frozen=True)
class RocePackets:
    """Packets of reliable connections at one port, in order of time.

    `times_ps` int64[n]; `from_nic` bool[n]: the NIC sent it; `opcode`, `pair` (destination queue
    pair), `psn`, `ecn`, `dscp`, `syndrome` (of acknowledgements, else -1), `lengths` (octets
    without FCS), all int64[n]; `source` and `destination` uint8[n, 16], IPv4 in the last four.
    """

    times_ps: np.ndarray
    from_nic: np.ndarray
    opcode: np.ndarray
    pair: np.ndarray
    psn: np.ndarray
    ecn: np.ndarray
    dscp: np.ndarray
    syndrome: np.ndarray
    lengths: np.ndarray
    source: np.ndarray
    destination: np.ndarray

    @classmethod
    def of(
        cls, times_ps: np.ndarray, from_nic: np.ndarray, lengths: np.ndarray, octets: np.ndarray
    ) -> Self:
        """The RoCEv2 packets among frames; `octets` uint8[n, snap]."""
        begin = np.full(len(octets), 12, np.int64)
        for _ in range(MOST_TAGS):
            begin += 4 * np.isin(_number(octets, begin, 2), TAGS)
        kind, begin = _number(octets, begin, 2), begin + 2
        four, six = kind == IPV4, kind == IPV6
        first = _number(octets, begin, 2)
        header = np.where(four, (first >> 8 & 15) * 4, IPV6_OCTETS)
        protocol = _number(octets, begin + np.where(four, 9, 6), 1)
        udp = begin + header
        chosen = (four | six) & (protocol == UDP) & (_number(octets, udp + 2, 2) == UDP_PORT)
        chosen &= udp + 8 + BTH_OCTETS <= octets.shape[1]
        octets, begin, four, first = octets[chosen], begin[chosen], four[chosen], first[chosen]
        service = np.where(four, first & 255, first >> 4 & 255)
        bth = udp[chosen] + 8
        opcode = _number(octets, bth, 1)
        syndrome = np.where(opcode == ACK_OPCODE, _number(octets, bth + BTH_OCTETS, 1), NO_ANSWER)
        ends = [
            _addresses(octets, begin, four, at_four, at_six)
            for at_four, at_six in ((12, 8), (16, 24))
        ]
        return cls(
            np.asarray(times_ps)[chosen],
            np.asarray(from_nic, bool)[chosen],
            opcode,
            _number(octets, bth + 5, 3),
            _number(octets, bth + 9, 3),
            service & CE,
            service >> 2,
            syndrome,
            np.asarray(lengths)[chosen],
            *ends,
        )

    @classmethod
    def read(cls, path: Path, address: str) -> Self:
        """Those in a pcapng file; the NIC has an IP address. Raises BadInput when it is damaged."""
        from traces.pcapng import read

        seen = read(path)
        times = (seen.times_ns - seen.times_ns.min(initial=seen.times_ns[:1].sum())) * PS_IN_NS
        every = cls.of(times, seen.direction == OUT, seen.lengths, seen.octets)
        mine = np.frombuffer(_packed(address), np.uint8)
        sent = (every.source == mine).all(axis=1)
        came = (every.destination == mine).all(axis=1)
        packets = cls(every.times_ps, sent, *(getattr(every, one.name) for one in fields(cls)[2:]))
        order = np.argsort(packets.times_ps, kind="stable")
        return packets.where(order[(sent | came)[order]])

    def __len__(self) -> int:
        return len(self.times_ps)

    def where(self, chosen: np.ndarray) -> Self:
        """The packets for which `chosen` (bool[n]) is true, or of these rows (int64)."""
        return type(self)(*(getattr(self, one.name)[chosen] for one in fields(self)))

    @property
    def data(self) -> Self:
        """Data packets: SEND and RDMA WRITE."""
        return self.where(self.opcode <= LAST_DATA_OPCODE)

    @property
    def cnps(self) -> Self:
        """Congestion notification packets."""
        return self.where(self.opcode == CNP_OPCODE)

    @property
    def answers(self) -> Self:
        """Acknowledgements, negative ones among them."""
        return self.where(self.opcode == ACK_OPCODE)


def _addresses(
    octets: np.ndarray, begin: np.ndarray, four: np.ndarray, at_four: int, at_six: int
) -> np.ndarray:
    """Addresses as uint8[n, 16], IPv4 ones in the last four octets."""
    found = np.zeros((len(octets), 16), np.uint8)
    for place in range(16):
        at = np.where(four, at_four - 12 + place, at_six + place)
        found[:, place] = np.where(four & (place < 12), 0, _number(octets, begin + at, 1))
    return found


def _packed(address: str) -> bytes:
    """An address as in `_addresses`."""
    return ip_address(address).packed.rjust(16, b"\0")


def shown(address: bytes) -> str:
    """An address of `source` or `destination` as text."""
    return str(ip_address(address[12:] if address[:12] == bytes(12) else address))


def other_ends(packets: RocePackets, of_nic: bool = False) -> dict[tuple[bytes, int], int]:
    """(peer, queue pair that data goes to) -> queue pair that its answers go to; `of_nic`: of data
    that the NIC sends, else of that which it gets. A packet names its destination alone; an
    acknowledgement has the PSN of a packet of the pair that it answers, and most of these PSNs in
    common decide where several pairs are of one peer."""
    data, answers = packets.data, packets.answers
    data, answers = data.where(data.from_nic == of_nic), answers.where(answers.from_nic != of_nic)
    peers = (data.destination, answers.source) if of_nic else (data.source, answers.destination)
    by_psn: dict[tuple[bytes, int], set[int]] = {}
    for peer, pair, psn in zip(peers[0], data.pair.tolist(), data.psn.tolist(), strict=True):
        by_psn.setdefault((peer.tobytes(), psn), set()).add(pair)
    votes: Counter[tuple[bytes, int, int]] = Counter()
    rows = zip(peers[1][:VOTES], answers.pair.tolist(), answers.psn.tolist(), strict=False)
    for peer, pair, psn in rows:
        candidates = by_psn.get((peer.tobytes(), psn), set())
        votes.update((peer.tobytes(), one, pair) for one in candidates)
    ends: dict[tuple[bytes, int], int] = {}
    taken: set[tuple[bytes, int]] = set()
    for (peer, number, pair), _ in votes.most_common():
        if (peer, number) not in ends and (peer, pair) not in taken:
            ends[peer, number] = pair
            taken.add((peer, pair))
    return ends


def extended(psn: int, near: int) -> int:
    """The number within 2^23 of `near` whose low 24 bits are a PSN."""
    half = 1 << (PSN_BITS - 1)
    return near + ((psn - near + half) % (1 << PSN_BITS)) - half
