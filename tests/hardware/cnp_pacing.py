"""CNP pacing of a NIC, from the packets at its port: marked ones that it gets, CNPs that it sends.

The rule is DCQCN's notification point (SIGCOMM 2015, 3.1): a marked packet is answered by a CNP at
once unless one went out less than N before. N is NVIDIA's `min_time_between_cnps`, which a NIC
applies by queue pair, by address or by port. Each mark is judged by the CNPs that the NIC did send
before it, so that one error is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.records import CE
from traces.pytest_plugin.nic_description import ADDRESS, PORT, QUEUE_PAIR, CnpPacing
from traces.pytest_plugin.roce_packets import RocePackets, other_ends, shown

US = 10**6
SCOPES = (QUEUE_PAIR, ADDRESS, PORT)


@dataclass(frozen=True)
class Marked:
    """A queue pair of the NIC: `peer` its other end's address, `number` that of the NIC's end, and
    `back` of the other end; times int64 in ps of `marks` that came and of `cnps` that went."""

    peer: bytes
    number: int
    back: int
    marks: np.ndarray
    cnps: np.ndarray

    def __str__(self) -> str:
        return f"queue pair {self.number:#x}"

    def key(self, per: str) -> tuple[object, ...]:
        """What paces its CNPs."""
        return {QUEUE_PAIR: (self.peer, self.number), ADDRESS: (self.peer,), PORT: ()}[per]


def marked_pairs(packets: RocePackets) -> list[Marked]:
    """The queue pairs that data came to and that an acknowledgement ties to their other end."""
    data, cnps = packets.data, packets.cnps
    into, out = data.where(~data.from_nic), cnps.where(cnps.from_nic)
    found = []
    for (peer, number), back in sorted(other_ends(packets).items()):
        address = np.frombuffer(peer, np.uint8)
        came = (into.pair == number) & (into.source == address).all(axis=1)
        went = (out.pair == back) & (out.destination == address).all(axis=1)
        marks = into.times_ps[came & (into.ecn == CE)]
        found.append(Marked(peer, number, back, marks, out.times_ps[went]))
    return found


def by_key(pairs: Sequence[Marked], per: str) -> dict[tuple[object, ...], np.ndarray]:
    """Times of CNPs in order, by what paces them."""
    times: dict[tuple[object, ...], list[np.ndarray]] = {}
    for one in pairs:
        times.setdefault(one.key(per), []).append(one.cnps)
    return {key: np.sort(np.concatenate(rows)) for key, rows in times.items()}


def _after(times: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The first of `times` at or after each of `at`; a time beyond all where there is none."""
    return np.append(times, np.iinfo(np.int64).max)[np.searchsorted(times, at)]


def _before(times: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The last of `times` before each of `at`; a time before all where there is none."""
    return np.append(-(1 << 62), times)[np.searchsorted(times, at)]


def too_close(pairs: Sequence[Marked], stated: CnpPacing, slack: int) -> list[str]:
    """A sentence for each CNP that follows another one of its pace too soon; a CNP that was late by
    less than `response` makes the interval behind it shorter."""
    found = []
    least = stated.interval_ps - stated.response - slack
    for key, times in by_key(pairs, stated.per).items():
        gaps = np.diff(times)
        where = "" if key == () else f" to {_named(pairs, key)}"
        for place in np.flatnonzero(gaps < least).tolist():
            found.append(
                f"a CNP{where} follows another one by {gaps[place] / US:.4g} us (at "
                f"{times[place] / US:.6g} us); {_pace(stated)} is stated"
            )
    return found


def _named(pairs: Iterable[Marked], key: tuple[object, ...]) -> str:
    """A key of a pace as text."""
    address = shown(bytes(key[0]))  # type: ignore[arg-type]
    return f"queue pair {key[1]:#x} of {address}" if len(key) > 1 else address


def _pace(stated: CnpPacing) -> str:
    return f"{stated.min_time_between_cnps} us per {stated.per}"


def missing(pairs: Sequence[Marked], stated: CnpPacing, slack: int) -> list[str]:
    """A sentence for each mark that is due a CNP by the rule and gets none in time."""
    found = []
    paces = by_key(pairs, stated.per)
    port = by_key(pairs, PORT).get((), np.zeros(0, np.int64))
    limit = stated.response + slack
    for one in pairs:
        mine = paces[one.key(stated.per)]
        before = _before(mine, one.marks)
        own = np.searchsorted(one.marks, _before(one.cnps, one.marks), "right")
        count = np.arange(len(one.marks)) - own + 1
        due = (one.marks - before >= stated.interval_ps + limit) & (count >= stated.marks)
        late = _after(mine, one.marks) - one.marks > limit
        answered = 0
        for place in np.flatnonzero(due & late).tolist():
            at = int(one.marks[place])
            if at < answered:  # the same CNP is missing
                continue
            answered = int(_after(mine, one.marks[place : place + 1])[0])
            since = "no CNP before"
            if one.cnps.size and one.cnps[0] < at:
                since = f"{(at - int(_before(one.cnps, np.array([at]))[0])) / US:.4g} us after the"
                since += " last CNP to it"
            last = int(_before(port, np.array([at]))[0])
            beside = ""
            if last > -(1 << 61) and at - last < stated.interval_ps and stated.per != PORT:
                beside = (
                    f", while the last CNP to any was {(at - last) / US:.4g} us before: the NIC "
                    f"does not pace per {stated.per}"
                )
            found.append(
                f"mark {count[place]} of {one} at {at / US:.6g} us, {since}, gets no CNP within "
                f"{limit / US:.4g} us{beside}"
            )
    return found


def without_cause(pairs: Sequence[Marked], slack: int) -> list[str]:
    """A sentence for each CNP to a queue pair that got no mark since the CNP before it."""
    found = []
    for one in pairs:
        marks = np.searchsorted(one.marks, one.cnps + slack, "right")
        fresh = np.diff(marks, prepend=0)
        for place in np.flatnonzero(fresh == 0).tolist():
            found.append(
                f"a CNP to {one} at {one.cnps[place] / US:.6g} us, which got no marked packet "
                "since the CNP before it"
            )
    return found


def marks_until_first(pairs: Sequence[Marked], stated: CnpPacing, slack: int) -> list[int]:
    """Marked packets until the CNP of each queue pair that had been silent, with its marks, for an
    interval: the number nearest to what is stated where marks came within `response`."""
    found = []
    paces = by_key(pairs, stated.per)
    quiet = max(stated.interval_ps, stated.response) + stated.response + slack
    for one in pairs:
        mine = paces[one.key(stated.per)]
        silent = one.marks - _before(mine, one.marks) >= quiet
        silent &= np.diff(one.marks, prepend=-(1 << 62)) >= quiet
        for first in np.flatnonzero(silent).tolist():
            cnp = int(_after(one.cnps, one.marks[first : first + 1])[0])
            burst = one.marks[first:][: _burst(one.marks[first:], quiet)]
            if cnp > burst[-1] + quiet:
                continue  # none came: `missing` tells
            most = int(np.searchsorted(burst, cnp + slack, "right"))
            least = int(np.searchsorted(burst, cnp - stated.response - slack, "right"))
            found.append(int(np.clip(stated.marks, max(least, 1), most)))
    return found


def _burst(marks: np.ndarray, quiet: int) -> int:
    """How many marks from the first on follow each other by less than `quiet`."""
    wide = np.flatnonzero(np.diff(marks) >= quiet)
    return int(wide[0]) + 1 if wide.size else len(marks)


def intervals(pairs: Sequence[Marked], stated: CnpPacing, slack: int) -> tuple[np.ndarray, int]:
    """Intervals between CNPs of one pace while its marks came one soon behind the other, int64[n]
    ps, and the longest time that these were apart."""
    most = max(stated.interval_ps // 2, 2 * stated.response) + slack
    found, apart = list[int](), 0
    for key, times in by_key(pairs, stated.per).items():
        marks = np.sort(np.concatenate([one.marks for one in pairs if one.key(stated.per) == key]))
        for begin, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
            inside = marks[(marks > begin) & (marks <= end + slack)]
            gap = int(np.diff(inside, prepend=begin, append=end).max())
            if gap <= most:
                found.append(end - begin)
                apart = max(apart, gap)
    return np.array(found, np.int64), apart


def described(pairs: Sequence[Marked]) -> str:
    """The pacing in one sentence: the shortest interval of each scope."""
    parts = []
    for per in SCOPES:
        gaps = [np.diff(times).min() for times in by_key(pairs, per).values() if len(times) > 1]
        if gaps:
            parts.append(f"{min(gaps) / US:.4g} us per {per}")
    marks = sum(len(one.marks) for one in pairs)
    cnps = sum(len(one.cnps) for one in pairs)
    shortest = f"; the shortest interval is {', '.join(parts)}" if parts else ""
    return f"{cnps} CNPs for {marks} marked packets of {len(pairs)} queue pairs{shortest}"
