"""Probe frames through a DUT before a run: check of cabling and frame length.

From each port of ours a broadcast goes out that says where it began; it has to arrive at every
other port that faces the same device, and nowhere else. It is sent from the addresses of the nodes
that live there, so that a switch knows by the start of the run where they are. Then one frame as
long as the plan's longest goes from each port to each other.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.engine.frames.frame_layout import OUTER_TYPE, VLAN_ID, VLAN_TYPE
from orchestrator.engine.frames.header_options import DEFAULT, HeaderOptions
from orchestrator.errors import Refused
from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.raw_sockets import PACKET_AUXDATA, SOL_PACKET

ETHER_TYPE = 0x88B5
"""IEEE 802 local experimental."""
MAGIC = b"tBKcable"
BROADCAST = b"\xff" * 6
SHORTEST = 64
TAG = struct.pack("!HH", VLAN_TYPE, VLAN_ID)
"""What every frame of a run has behind its addresses where the plan has no table `headers`: a
priority, in our VLAN."""
AUXDATA, ROOM = "IIIHHHH", 64
"""struct tpacket_auxdata (linux/if_packet.h): status, lengths, offsets, tag, its protocol."""
TAGGED, PROTOCOL_TOLD, VLAN_MASK = 1 << 4, 1 << 6, 0xFFF
PATIENCE_S, TRIES = 0.25, 8
"""How long each of so many rounds is waited for what has not arrived: a port that has just come up
may take a second (and one with spanning tree thirty: `portfast`, or none)."""


@dataclass(frozen=True)
class Arrival:
    """Received probe: where it was sent, where it arrived, its length in octets."""

    sent: int
    arrived: int
    octets: int
    tagged: bool


def tags_of(headers: HeaderOptions) -> bytes:
    """The VLAN tags of a plan's frames, of priority 0."""
    return b"".join(struct.pack("!HH", kind, vlan) for kind, vlan in headers.tags)


def probe(
    nonce: bytes,
    sent: int,
    source: bytes,
    octets: int,
    to: bytes = BROADCAST,
    tags: bytes = TAG,
) -> bytes:
    """The frame that says by which cable it was sent, and how long it was."""
    head = to + source + tags + struct.pack("!H", ETHER_TYPE) + MAGIC + nonce
    return (head + struct.pack("!HH", sent, octets)).ljust(octets, b"\0")


def read(octets: bytes, nonce: bytes) -> tuple[int, int] | None:
    """(cable, octets with its tags) of a probe of this run, whose tags were taken; None of any
    other frame."""
    begin = 14 + len(MAGIC) + len(nonce)
    if octets[12:14] != struct.pack("!H", ETHER_TYPE) or octets[14:begin] != MAGIC + nonce:
        return None
    if len(octets) < begin + 4:
        return None
    sent, length = struct.unpack_from("!HH", octets, begin)
    tagged = [len(octets) + len(TAG) * tags for tags in (1, 2)]
    return (sent, length) if length in (*tagged, max(len(octets), SHORTEST)) else None


def take(raw: socket.socket, tags: bytes = TAG) -> tuple[bytes, bool]:
    """A frame without its VLAN tags, and whether it had those of our frames and no others."""
    octets, tagged, _ = take_at(raw, tags)
    return octets, tagged


def take_at(raw: socket.socket, tags: bytes = TAG) -> tuple[bytes, bool, str]:
    """The same, and the interface that it came in by. Raises OSError."""
    octets, beside, _, origin = raw.recvmsg(65536, ROOM)
    found = _outer_tag(beside)
    while len(octets) >= 18 and struct.unpack_from("!H", octets, 12)[0] in (VLAN_TYPE, OUTER_TYPE):
        found += octets[12:14] + struct.pack("!H", int.from_bytes(octets[14:16]) & VLAN_MASK)
        octets = octets[:12] + octets[16:]
    return octets, found == tags, str(origin[0])


def _outer_tag(beside: Sequence[tuple[int, int, bytes]]) -> bytes:
    """The tag that the kernel took out of a frame, of priority 0; empty where it took none."""
    for level, kind, data in beside:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, *_, tag, protocol = struct.unpack(AUXDATA, data[: struct.calcsize(AUXDATA)])
            if status & TAGGED:
                outer = protocol if status & PROTOCOL_TOLD else VLAN_TYPE
                return struct.pack("!HH", outer, tag & VLAN_MASK)
    return b""


def faults(cables: Sequence[Cable], arrived: set[tuple[int, int]]) -> list[str]:
    """A sentence for every cable whose broadcast did not arrive as it should.

    `arrived`: (cable that it was sent by, cable that it came in by).
    """
    found = []
    for row, one in enumerate(cables):
        due = {n for n, other in enumerate(cables) if other.device == one.device and n != row}
        came = {there for here, there in arrived if here == row}
        where = ", ".join(str(cables[n]) for n in sorted(due - came))
        wrong = ", ".join(str(cables[n]) for n in sorted(came - due))
        if row in came:
            found.append(f"what is sent to {one} comes back out of it (a loop, or a hub)")
        elif wrong:
            found.append(
                f"what is sent to {one} comes out of {wrong}, which is another device (wrong "
                f"cable){', and not out of ' + where if where else ''}"
            )
        elif due and not came:
            found.append(
                f"what is sent to {one} comes out nowhere; {where} is expected (a dead cable, or a "
                "port that does not forward)"
            )
        elif due - came:
            found.append(f"what is sent to {one} does not come out of {where} (not forwarded)")
    return found


def refuse_wrong(
    who: str,
    cables: Sequence[Cable],
    arrived: set[tuple[int, int]],
    bare: set[int],
    headers: HeaderOptions = DEFAULT,
) -> None:
    """Raises Refused where probes did not arrive as they should; `bare`: the cables that they came
    in by with other tags than those of `headers`."""
    if wrong := faults(cables, arrived):
        raise Refused(
            who,
            "the cables are not as the plan says: " + "; ".join(wrong),
            "Remedy: look at the cabling, the switch's VLANs and its spanning tree (docs/dut.md).",
        )
    if bare:
        names = ", ".join(str(cables[row]) for row in sorted(bare))
        if headers.tags != DEFAULT.tags:
            vlans = " in ".join(f"VLAN {vlan}" for _, vlan in reversed(headers.tags))
            raise Refused(
                who,
                f"frames come out of {names} with other VLAN tags than they went in with: the "
                f"plan's are {f'tagged, {vlans}' if vlans else 'untagged'}",
                "Remedy: make the device's ports so, or change the plan's table `headers` "
                "(docs/dut.md).",
            )
        raise Refused(
            who,
            f"frames come out of {names} without the VLAN tag that they went in with, and with "
            "it their priority",
            f"Remedy: make VLAN {VLAN_ID} tagged at every port of the device (docs/dut.md).",
        )


def refuse_narrow(who: str, lacking: Sequence[str], octets: int) -> None:
    """Raises Refused where long frames lack ways that short ones have."""
    if lacking:
        raise Refused(
            who,
            f"frames of {octets} octets do not pass: " + "; ".join(lacking),
            f"Remedy: an MTU of {octets - 14} or more on the device, or shorter frames.",
        )


def device_paths(
    cables: Sequence[Cable], addresses: Mapping[str, Sequence[bytes]]
) -> list[tuple[int, int, bytes]]:
    """(cable, cable, an address behind it): every way through a device that a frame can take."""
    return [
        (row, there, target)
        for row, one in enumerate(cables)
        for there, other in enumerate(cables)
        if other.device == one.device and there != row
        for target in addresses[other.ours][:1]
    ]


class Prober:
    """Probes over the cables of a plan. `addresses`: of each cable, the MAC addresses behind our
    end of it; `headers`: those of the plan, whose tags the probes have."""

    def __init__(
        self,
        cables: Sequence[Cable],
        addresses: Mapping[str, Sequence[bytes]],
        headers: HeaderOptions = DEFAULT,
    ) -> None:
        self.cables, self.addresses = list(cables), addresses
        self.headers, self.tags = headers, tags_of(headers)
        self.nonce = secrets.token_bytes(8)

    def check(self, sockets: Sequence[socket.socket], octets: int) -> None:
        """Raises Refused, naming every cable that is not as the plan has it. `sockets`: one of
        each cable, bound to its interface; `octets` of the plan's longest frame."""
        arrived: set[tuple[int, int]] = set()
        bare: set[int] = set()
        for _ in range(TRIES):
            self._announce(sockets)
            came = self._collect(sockets, PATIENCE_S, arrived)
            arrived |= {(one.sent, one.arrived) for one in came}
            bare |= {one.arrived for one in came if not one.tagged}
            if not faults(self.cables, arrived):
                break
        refuse_wrong(WHO, self.cables, arrived, bare, self.headers)
        refuse_narrow(WHO, self._too_long(sockets, max(octets, SHORTEST)), octets)

    def _announce(self, sockets: Sequence[socket.socket]) -> None:
        for row, (cable, raw) in enumerate(zip(self.cables, sockets, strict=True)):
            for source in self.addresses[cable.ours]:
                raw.send(probe(self.nonce, row, source, SHORTEST, tags=self.tags))

    def _too_long(self, sockets: Sequence[socket.socket], octets: int) -> list[str]:
        """Ways that a short frame takes, and one of so many octets does not."""
        due = device_paths(self.cables, self.addresses)
        came: set[tuple[int, int]] = set()
        wanted = {(row, there) for row, there, _ in due}
        for _ in range(TRIES // 2):
            for row, there, target in due:
                if (row, there) in came:
                    continue
                source = self.addresses[self.cables[row].ours][0]
                try:
                    sockets[row].send(probe(self.nonce, row, source, octets, target, self.tags))
                except OSError:  # our own interface is too narrow: it does not arrive
                    continue
            found = self._collect(sockets, PATIENCE_S, wanted_of=(wanted - came, octets))
            came |= {(one.sent, one.arrived) for one in found if one.octets == octets}
            if wanted <= came:
                return []
        return [
            f"from {self.cables[row]} to {self.cables[there]}"
            for row, there in sorted(wanted - came)
        ]

    def _collect(
        self,
        sockets: Sequence[socket.socket],
        within_s: float,
        known: set[tuple[int, int]] | None = None,
        wanted_of: tuple[set[tuple[int, int]], int] | None = None,
    ) -> list[Arrival]:
        """Probes received within a time, or until none is missing and a grace period is over."""
        found: list[Arrival] = []
        end = time.monotonic() + within_s
        while (rest := end - time.monotonic()) > 0:
            ready, _, _ = select.select(sockets, [], [], rest)
            for raw in ready:
                octets, tagged = take(raw, self.tags)
                if (data := read(octets, self.nonce)) is not None and data[0] < len(self.cables):
                    found.append(Arrival(data[0], sockets.index(raw), data[1], tagged))
            if wanted_of is not None:
                pairs, length = wanted_of
                if pairs <= {(one.sent, one.arrived) for one in found if one.octets == length}:
                    break
            elif known is not None and found:
                pairs = known | {(one.sent, one.arrived) for one in found}
                if not faults(self.cables, pairs):
                    end = min(
                        end, time.monotonic() + within_s / 10
                    )  # what comes where it should not
        return found
