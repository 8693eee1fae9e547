"""Guards of a run's links: which links have one, where each frame kind's check word lies, and what
both ends counted (`orchestrator.engine.datapath.frame_guard`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from orchestrator.engine.datapath import frame_guard as at
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.engine.frames import frame_layout, ipv6_header
from orchestrator.engine.frames.frame_field import (
    AT,
    CHECKSUM,
    FLAGS,
    ICRC,
    LAST_ICRC,
    OCTETS,
    OP,
    UDP_CHECKSUM,
    WORD,
    WRITTEN,
)
from orchestrator.engine.frames.frame_type import COMPARED_OCTETS, KINDS
from orchestrator.engine.frames.header_options import DEFAULT, HeaderOptions
from orchestrator.engine.frames.type_registry import registered_types, type_table
from orchestrator.engine.histogram import BINS, edges_ps, mean_ps, percentile_ps
from orchestrator.engine.records import NONE
from orchestrator.plan import Plan
from orchestrator.run.guarded_link import STALLED, GuardedLink, KindCounts
from orchestrator.targets.software.realtime_scheduling import prefault

RING, RING_OF_MANY, MANY = 4096, 512, 64
"""Frames of a link whose due times are kept; of a run with more than MANY directions."""
UNREAD_NS = 20_000_000
"""Before the end of a run (machine's time): frames due later may still wait in a socket."""
IP_HALF, UDP_HALF, LABEL_HALF = 4, 26, 2
"""Octets of an IPv4 packet that no node reads: identification (RFC 6864: any value in a packet that
is not fragmented) and UDP's checksum (RFC 768: optional); of an IPv6 packet the low 16 bits of its
flow label (RFC 6437: 0 where a source sets none)."""


def layouts(types: np.recarray) -> np.ndarray:
    """int64[kinds, LAYOUT_WORDS]: where the check word of each frame type lies.

    An IPv4 packet over UDP, or the one that a message samples, has it in its identification and
    UDP checksum; one over IPv6 in the low half of its flow label and its UDP checksum, which the
    receiver restores; another frame in the last four of its known octets, if these say nothing.
    """
    found = np.zeros((KINDS, at.LAYOUT_WORDS), np.int64)
    found[:, at.HIGH] = found[:, at.LOW] = NONE
    for kind in range(KINDS):
        if types[kind]["described"] and 0 < types[kind]["known"] <= COMPARED_OCTETS:
            _fill_layout(types[kind], found[kind])
    return found


def _fill_layout(each: np.ndarray, row: np.ndarray) -> None:
    fields = each["fields"][: each["fields_used"]]
    taken = (each["template"] != 0) | (each["mask"] != 0)
    for field in fields[fields[:, FLAGS] & WRITTEN != 0]:
        taken[field[AT] : field[AT] + field[OCTETS]] = True
    known = int(each["known"])
    packet = (int(each["sample"]) or int(each["msdu"])) + frame_layout.IP - frame_layout.MSDU
    if _is_udp(each["template"], packet, known):
        high, low = packet + IP_HALF, packet + UDP_HALF
        if taken[[high, high + 1, low, low + 1]].any():
            return
        row[at.IP] = packet
    elif each["ip_version"] == 6:
        high, low = packet + LABEL_HALF, packet + ipv6_header.UDP_CHECKSUM
        row[at.IPV6] = packet
    elif known >= 4 and not taken[known - 4 : known].any():
        high, low = known - 4, known - 2
    else:
        return
    row[at.HIGH], row[at.LOW], row[at.KNOWN] = high, low, known
    covered = np.zeros(4 * (at.LAYOUT_WORDS - at.MASKS), np.uint8)
    covered[:known] = 0xFF
    covered[high : high + 2] = covered[low : low + 2] = 0
    for field in fields:
        if field[OP] in (CHECKSUM, ICRC, UDP_CHECKSUM):
            covered[field[AT] : field[AT] + field[OCTETS]] = 0
        if field[OP] in (ICRC, LAST_ICRC) and (row[at.IP] or row[at.IPV6]):
            last = field[OP] == LAST_ICRC
            row[at.ICRC], row[at.ICRC_FROM] = at.LAST if last else field[AT], field[WORD]
    row[at.MASKS :] = covered.view(">u4")


def _is_udp(template: np.ndarray, packet: int, known: int) -> bool:
    if known < packet + UDP_HALF + 2:
        return False
    ethertype = int(template[packet - 2]) << 8 | int(template[packet - 1])
    protocol = int(template[packet + 9])
    return ethertype == frame_layout.IPV4_TYPE and protocol == frame_layout.IP_PROTOCOL_UDP


def unguarded_kinds() -> list[str]:
    """Names of frame types that have no room for a check word."""
    rows = layouts(type_table())
    return [one.name for one in registered_types() if rows[one.kind, at.HIGH] == NONE]


@dataclass
class LinkGuards:
    """The guards of a run's links: rows of links by port, and the arrays that both ends share."""

    senders: Mapping[str, int]
    receivers: Mapping[str, int]
    names: Sequence[str]
    """Of each link (direction), as in `Plan.directions`."""
    arrays: at.Guard
    """Without wires."""

    @classmethod
    def of(cls, plan: Plan, local: Mapping[str, tuple[str, int]], reaction_ps: int) -> LinkGuards:
        """Guards of the links whose two ends are emulated machines of this process. `local`: the
        machine of each port; `reaction_ps`: the extra delay beyond which a frame is delayed."""
        ways = [
            way
            for way in plan.directions()
            if all(
                local.get(end.entity, ("", 0))[0] == end.node for end in (way.sender, way.receiver)
            )
        ]
        return cls(
            {way.sender.entity: row for row, way in enumerate(ways)},
            {way.receiver.entity: row for row, way in enumerate(ways)},
            [way.entity for way in ways],
            _arrays(len(ways), max(plan.duration, 1), reaction_ps, plan.headers.options()),
        )

    def wired(self, ports: Sequence[str]) -> at.Guard:
        """The guard of a thread whose wires belong to these ports, in order."""
        return self.arrays._replace(
            out=np.array([self.senders.get(port, NONE) for port in ports], np.int64),
            into=np.array([self.receivers.get(port, NONE) for port in ports], np.int64),
        )

    def prefault(self) -> LinkGuards:
        """Have the arrays in memory before the run (`realtime_scheduling.prefault`)."""
        prefault(*(array for array in self.arrays if array.size))
        return self

    def words(self, threads: Sequence[Any]) -> dict[str, Any]:
        """The results of a run whose threads have ended, for a file: `run.guarded_link.read`."""
        clock, rig = threads[0].assembly.world, threads[0].rig
        ended = int(clock.row_times[clock.clock[0].row - 1])
        found = self.results(ended, int(rig.horizon[0]), float(rig.speed[0]) / REAL_TIME)
        return {name: asdict(one) for name, one in found.items()}

    def results(self, ended_ps: int, horizon_ps: int, pace: float) -> dict[str, GuardedLink]:
        """What both ends of each link counted, when all threads have ended.

        `ended_ps` is the end of the run, `horizon_ps` what its clock may run ahead of a thread.
        """
        unread_ps = max(4 * horizon_ps, int(UNREAD_NS * 1000 * pace))
        return {
            name: self._result(row, ended_ps - unread_ps) for row, name in enumerate(self.names)
        }

    def _result(self, row: int, read_until_ps: int) -> GuardedLink:
        arrays = self.arrays
        sent, state = arrays.sent[row], arrays.state[row]
        waiting = self._waiting(row, read_until_ps)
        kinds = {}
        for each in registered_types():
            counts = [int(word) for word in arrays.counts[row, each.kind]]
            handed = int(sent[at.SENT_KINDS + each.kind])
            if not handed and not counts[at.RECEIVED]:
                continue
            came = counts[at.RECEIVED] - counts[at.REPEATED]
            guarded = arrays.layouts[each.kind, at.HIGH] != NONE
            kinds[each.name] = KindCounts(
                sent=handed,
                received=counts[at.RECEIVED],
                changed=counts[at.CHANGED],
                repeated=counts[at.REPEATED],
                reordered=counts[at.LATE],
                missing=max(handed - came - waiting.get(each.kind, 0), 0) if guarded else 0,
                delayed=counts[at.DELAYED],
                timed=counts[at.TIMED],
                extra_ps=counts[at.EXTRA_PS],
                longest_ps=counts[at.LONGEST_PS],
            )
        delays, windows = arrays.delays[row], arrays.windows[row]
        used = windows[:, at.FRAMES] > 0
        means = windows[used, at.WINDOW_PS] / windows[used, at.FRAMES]
        bound = STALLED * float(arrays.bounds[at.BOUND_PS])
        stall_mean, stall_rms = _moments_ps(delays, bound)
        worst = int(windows[:, at.WINDOW_LONGEST_PS].argmax())
        return GuardedLink(
            kinds=kinds,
            marks_sent=int(sent[at.SENT_MARKS]),
            marks_received=int(state[at.MARKS]),
            extra_mean_ps=mean_ps(delays),
            extra_p99_ps=percentile_ps(delays, 0.99),
            extra_max_ps=int(delays[BINS]),
            stall_mean_ps=stall_mean,
            stall_rms_ps=stall_rms,
            windows=int(used.sum()),
            stalled_windows=int((means > bound).sum()),
            worst_window_ps=worst << int(arrays.bounds[at.SHIFT]),
        )

    def _waiting(self, row: int, read_until_ps: int) -> dict[int, int]:
        """Frames by kind that were sent too late in the run for the receiver to have read them."""
        arrays, found = self.arrays, dict[int, int]()
        last = int(arrays.sent[row, at.NEXT])
        places = arrays.ring.shape[1]
        for number in range(max(int(arrays.state[row, at.EXPECTED]), last - places), last):
            word, due = (int(one) for one in arrays.ring[row, number & (places - 1)])
            if word >> at.KIND_BITS == number and due > read_until_ps:
                kind = word & ((1 << at.KIND_BITS) - 1)
                found[kind] = found.get(kind, 0) + 1
        return found


def no_guard(wires: int) -> at.Guard:
    """The guard of a thread none of whose links has one."""
    none = np.full(wires, NONE, np.int64)
    return _arrays(0, 1, 0)._replace(out=none, into=none)


def _arrays(
    links: int, duration_ps: int, reaction_ps: int, headers: HeaderOptions = DEFAULT
) -> at.Guard:
    places = RING if links <= MANY else RING_OF_MANY
    shift = max((duration_ps // at.WINDOWS).bit_length(), 1)
    none = np.zeros(0, np.int64)
    return at.Guard(
        out=none,
        into=none,
        keys=np.frombuffer(os.urandom(8 * at.KEYS), np.int64).copy(),
        layouts=layouts(type_table(replace(headers, roce=True))),
        sent=np.zeros((links, at.SENT_KINDS + KINDS), np.int64),
        ring=np.full((links, places, 2), NONE, np.int64),
        state=np.zeros((links, 2), np.int64),
        seen=np.full((links, places), NONE, np.int64),
        counts=np.zeros((links, KINDS, at.COUNTS), np.int64),
        delays=np.zeros((links, BINS + 1), np.int64),
        windows=np.zeros((links, at.WINDOWS, 3), np.int64),
        bounds=np.array([reaction_ps, shift], np.int64),
    )


def _moments_ps(delays: np.ndarray, beyond_ps: float) -> tuple[float, float]:
    """Mean and root mean square (ps) of a histogram, times up to `beyond_ps` taken for 0."""
    counts, upper = delays[:BINS], edges_ps()[1:].astype(np.float64)
    upper = np.where(upper > beyond_ps, upper, 0.0)
    total = max(int(counts.sum()), 1)
    return float((counts * upper).sum() / total), float(np.sqrt((counts * upper**2).sum() / total))
