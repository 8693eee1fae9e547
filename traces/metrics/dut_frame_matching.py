"""Matching of the frames that entered and left an external device (DUT).

A frame is known again by its octets behind the addresses, but for those that a switch or a router
may change: VLAN tags, of IPv4 the TOS octet, the TTL and the checksum, of IPv6 traffic class and
hop limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.records import NONE, PAUSE, PFC
from orchestrator.recording import PortCapture
from traces.dissect.native_frames import descriptors, with_hosts

SLACK_PS = 10_000_000
"""By how much a frame may seem to come out before it went in: two threads read the clock."""
ADDRESSES, TAG = 12, 4
VLANS, IPV4, IPV6 = (0x8100, 0x88A8), 0x0800, 0x86DD
MOST_TAGS = 2
CHANGED = (1, 8, 10, 11)
"""Octets of an IPv4 header that may change on the way."""
CHANGED_OF_IPV6 = (0, 1, 7)
"""The same of an IPv6 header; its version and flow label share two of them."""
GROUP = 1
"""The bit of a destination address that makes it one of several."""


@dataclass
class SideFrames:
    """Frames that one side saw, in order of time: `times_ps`, `octets_on_wire`, `key`, `kind`,
    `flow` int64[n] and `group` bool[n]; `port` int64[n] numbers the testbed port, `row` is that of
    its capture."""

    times_ps: np.ndarray
    octets_on_wire: np.ndarray
    key: np.ndarray
    kind: np.ndarray
    flow: np.ndarray
    group: np.ndarray
    port: np.ndarray
    row: np.ndarray

    def __len__(self) -> int:
        return len(self.times_ps)


@dataclass
class MatchedFrames:
    """Both sides of a device. `partner` int64[n of out]: the row of `into` that a frame which came
    out is, NONE where it never went in; `again` bool: it had come out there before."""

    ports: list[str]
    """Of the device, in the order of their numbers."""
    into: SideFrames
    out: SideFrames
    partner: np.ndarray
    again: np.ndarray
    horizon_ps: int | None
    """From when on a capture was full; None: never."""

    @property
    def latency_ps(self) -> np.ndarray:
        """int64[n of out]: how long a frame took; where it has no partner, nothing is meant."""
        if not len(self.into):
            return np.zeros(len(self.out), np.int64)
        return np.maximum(self.out.times_ps - self.into.times_ps[self.partner], 0)

    @property
    def lost(self) -> np.ndarray:
        """bool[n of into]: frames to one destination that came out nowhere."""
        came = np.zeros(len(self.into), bool)
        came[self.partner[self.partner != NONE]] = True
        return ~came & ~self.into.group


def match_frames(
    facing: Mapping[str, str], captures: Sequence[PortCapture], apart_ps: int = 0
) -> MatchedFrames | None:
    """Frames through a device; `facing` maps its ports to testbed ports, whose clocks may differ by
    `apart_ps`. None where a capture is missing."""
    found = {f"{one.node}.{one.port}": one for one in captures}
    if not facing or not set(facing.values()) <= found.keys():
        return None
    mine = [found[ours] for ours in facing.values()]
    into, out = _side_frames(mine, True), _side_frames(mine, False)
    to_device = np.isin(into.kind, (PAUSE, PFC))
    into = SideFrames(
        *(getattr(into, name)[~to_device] for name in SideFrames.__dataclass_fields__)
    )
    partner, again = _partners(into, out, SLACK_PS + apart_ps)
    full = [int(one.times_ps[-1]) for one in mine if one.dropped and len(one.times_ps)]
    return MatchedFrames(list(facing), into, out, partner, again, min(full, default=None))


def _side_frames(captures: Sequence[PortCapture], outgoing: bool) -> SideFrames:
    parts = [_of_port(one, outgoing, number) for number, one in enumerate(captures)]
    whole = [np.concatenate([part[column] for part in parts]) for column in range(len(parts[0]))]
    order = np.argsort(whole[0], kind="stable")
    return SideFrames(*(column[order] for column in whole))


def _of_port(capture: PortCapture, outgoing: bool, number: int) -> tuple[np.ndarray, ...]:
    rows = np.flatnonzero(capture.outgoing == outgoing)
    octets, lengths = np.ascontiguousarray(capture.octets[rows]), capture.lengths[rows]
    frames = descriptors(octets, capture.kept[rows], lengths)
    frames = with_hosts(frames, octets, capture.kept[rows], lengths)
    return (
        capture.times_ps[rows],
        lengths.astype(np.int64),
        frame_keys(octets, lengths),
        np.array(frames["kind"], np.int64),
        np.array(frames["flow"], np.int64),
        (octets[:, 0] & GROUP).astype(bool) if len(rows) else np.zeros(0, bool),
        np.full(len(rows), number, np.int64),
        rows,
    )


def frame_keys(octets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """int64[n]: by what each frame of uint8[n, snap] is known again, whatever it passed."""
    count, across = octets.shape
    if not count:
        return np.zeros(0, np.int64)
    body = np.zeros((count, -(-across // 8) * 8), np.uint8)
    width = across - ADDRESSES
    body[:, :width] = octets[:, ADDRESSES:]
    tags = np.zeros(count, np.int64)
    for _ in range(MOST_TAGS):
        tagged = np.isin(_ether_type(body), VLANS)
        body[tagged, : width - TAG] = body[tagged, TAG:width]
        tags += tagged
    body[:, width - TAG * MOST_TAGS :] = 0  # as many octets of either are compared
    for kind, changed in ((IPV4, CHANGED), (IPV6, CHANGED_OF_IPV6)):
        ip = _ether_type(body) == kind
        for place in changed:
            body[ip, 2 + place] = 0
    words = body.view("<u8")
    odd = np.random.default_rng(1).integers(1, 2**63, words.shape[1], np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = (words ^ (words >> np.uint64(29))) * odd
        mixed ^= mixed >> np.uint64(32)
        found = (mixed * odd[::-1]).sum(axis=1, dtype=np.uint64)
        found += (lengths - TAG * tags).astype(np.uint64) * odd[0]
    return found.view(np.int64)


def _ether_type(body: np.ndarray) -> np.ndarray:
    """int64[n]: the first two octets of each row."""
    return body[:, 0].astype(np.int64) << 8 | body[:, 1]


def _partners(into: SideFrames, out: SideFrames, slack_ps: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of the frame that each frame which came out had been: the latest of its key that had gone
    in and was not out.

    A segment that is sent again has the octets of the first: it came out if its latest did.
    """
    partner = np.full(len(out), NONE, np.int64)
    again = np.zeros(len(out), bool)
    rows: dict[int, list[int]] = {}
    wanted = set(out.key.tolist())
    for row, key in enumerate(into.key.tolist()):
        if key in wanted:
            rows.setdefault(key, []).append(row)
    taken: set[tuple[int, int]] = set()
    times = into.times_ps.tolist()
    for at, (key, time, port) in enumerate(
        zip(out.key.tolist(), out.times_ps.tolist(), out.port.tolist(), strict=True)
    ):
        for row in reversed(rows.get(key, ())):
            if times[row] > time + slack_ps:
                continue
            again[at] = True
            if (row, port) not in taken:
                taken.add((row, port))
                partner[at], again[at] = row, False
                break
    return partner, again
