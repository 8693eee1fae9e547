"""Recovery of a NIC from lost packets, from the packets at its port.

As responder it gets a gap in the PSNs: the first packet behind it is answered by one NAK (PSN
sequence error) with the missing PSN, and nothing behind the gap is acknowledged (InfiniBand, volume
1, 9.7.5.2.2). As requester it gets a NAK, or no answer: it resends all packets from that PSN on
(go-back-N), after a NAK or after a timeout (9.7.6.1.3). No injection has to be known: a loss
in front of the port is a gap there, and one behind it is a NAK or silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from traces.pytest_plugin.nic_description import GoBackN
from traces.pytest_plugin.roce_packets import (
    ACK_OPCODE,
    NAK_SEQUENCE,
    RocePackets,
    extended,
    other_ends,
)

US = 10**6
LATEST = 4
"""Timeouts after which a requester has resent at the latest."""
SHORT = 8
"""A packet that is resent within a timeout divided by this is no timeout."""


def per_pair(packets: RocePackets, of_nic: bool) -> Iterator[tuple[int, RocePackets]]:
    """Each queue pair that data goes to, and its packets: data, and answers the other way."""
    for (peer, number), back in sorted(other_ends(packets, of_nic).items()):
        address = np.frombuffer(peer, np.uint8)
        out = (packets.destination == address).all(axis=1) & packets.from_nic
        came = (packets.source == address).all(axis=1) & ~packets.from_nic
        forth, reverse = (out, came) if of_nic else (came, out)
        data = forth & (packets.opcode < ACK_OPCODE) & (packets.pair == number)
        answers = reverse & (packets.opcode == ACK_OPCODE) & (packets.pair == back)
        yield number, packets.where(data | answers)


def events(mine: RocePackets) -> Iterator[tuple[int, bool, int, int]]:
    """(time in ps, whether it is an answer, PSN, syndrome) of the packets of a queue pair."""
    columns = (mine.times_ps, mine.opcode == ACK_OPCODE, mine.psn, mine.syndrome)
    return zip(*(column.tolist() for column in columns), strict=True)


@dataclass
class Gap:
    """A missing PSN of a queue pair: `at` the first packet behind it came, `nak` the NIC's NAK went
    (ps; None: it sent none)."""

    pair: int
    psn: int
    at: int
    nak: int | None = None

    def __str__(self) -> str:
        return f"PSN {self.psn} of queue pair {self.pair:#x} is missing at {self.at / US:.6g} us"


@dataclass
class Responder:
    """What a NIC answered: gaps, and sentences about answers that it should not have sent."""

    gaps: list[Gap] = field(default_factory=list)
    packets: int = 0
    wrong_naks: list[str] = field(default_factory=list)
    early_acks: list[str] = field(default_factory=list)

    def follow(self, number: int, mine: RocePackets) -> None:
        """Follow one queue pair."""
        expected: int | None = None
        gap: Gap | None = None
        is_open = False
        for at, is_answer, low, syndrome in events(mine):
            psn = low if expected is None else extended(low, expected)
            if not is_answer:
                self.packets += 1
                if expected is None or psn == expected:
                    expected, is_open = psn + 1, False
                elif psn > expected and not is_open:
                    gap, is_open = Gap(number, expected, at), True
                    self.gaps.append(gap)
            elif expected is None:
                continue
            elif syndrome == NAK_SEQUENCE:
                self._nak(gap, is_open, expected, number, psn, at)
            elif syndrome >> 5 == 0 and psn >= expected:
                self.early_acks.append(
                    f"it acknowledges PSN {psn} of queue pair {number:#x} at {at / US:.6g} us, "
                    f"where PSN {expected} has not come"
                )

    def _nak(
        self, gap: Gap | None, is_open: bool, expected: int, number: int, psn: int, at: int
    ) -> None:
        """A NAK: the first one of a gap, or a wrong one."""
        where = f"a NAK for PSN {psn} of queue pair {number:#x} at {at / US:.6g} us"
        if gap is not None and psn == gap.psn and gap.nak is None:
            gap.nak = at
        elif gap is not None and psn == gap.psn and gap.nak is not None:
            passed = (at - gap.nak) / US
            self.wrong_naks.append(f"{where} is the second one for it, {passed:.4g} us behind")
        elif is_open:
            self.wrong_naks.append(f"{where}, where PSN {expected} is missing")
        else:
            self.wrong_naks.append(f"{where}, where nothing is missing before PSN {expected}")

    def late(self, stated: GoBackN, slack: int) -> list[str]:
        """A sentence for each gap without a NAK in time."""
        found = []
        for gap in self.gaps:
            if gap.nak is None:
                found.append(f"{gap}, and the NIC sends no NAK")
            elif gap.nak - gap.at > stated.nak_time + slack:
                found.append(f"{gap}, and the NAK comes {(gap.nak - gap.at) / US:.4g} us later")
        return found

    def times(self) -> list[int]:
        """From the first packet behind each gap to its NAK, ps."""
        return [gap.nak - gap.at for gap in self.gaps if gap.nak is not None]


@dataclass
class Requester:
    """What a NIC resent: sentences about what it should not have done, and times in ps."""

    slack: int
    stated: GoBackN
    naks: int = 0
    packets: int = 0
    times: list[int] = field(default_factory=list)
    """From a NAK to the packet that it asks for."""
    timeouts: list[int] = field(default_factory=list)
    """From the last packet or acknowledgement to the resent one."""
    late: list[str] = field(default_factory=list)
    not_all: list[str] = field(default_factory=list)
    causeless: list[str] = field(default_factory=list)
    off_time: list[str] = field(default_factory=list)

    def follow(self, number: int, mine: RocePackets, end: int) -> None:
        """Follow one queue pair until a time."""
        one = _Sender(self, number)
        for at, is_answer, low, syndrome in events(mine):
            if not is_answer:
                self.packets += 1
                one.sent(at, low)
            elif one.highest is not None:
                one.answered(at, extended(low, one.highest), syndrome)
        one.finish(end)


@dataclass
class _Sender:
    """State of a requester's queue pair as its port shows it. Packets up to `highest` were sent,
    those before `unanswered` acknowledged; from `resumes` to `until` packets are being resent."""

    found: Requester
    number: int
    highest: int | None = None
    unanswered: int = 0
    progress: int = 0
    nak: tuple[int, int] | None = None
    resumes: int | None = None
    until: int = 0
    began: int = 0
    left: dict[int, int] = field(default_factory=dict)

    def sent(self, at: int, low: int) -> None:
        """A packet leaves."""
        if self.highest is None:
            self.highest, self.unanswered = low, low
            self.left[low] = at
            return
        psn = extended(low, self.highest)
        if self.nak is not None and psn == self.nak[0]:
            self._nak_obeyed(at)
            self._goes_back(psn)
        elif self.resumes is not None and psn == self.resumes:
            self.resumes = psn + 1 if psn < self.until else None
        elif psn <= self.highest and self._is_timeout(at, psn):
            self._goes_back(psn)
        elif self.resumes is not None:
            self.found.not_all.append(
                f"queue pair {self.number:#x} goes back to PSN {self.began} and then sends {psn} "
                f"in place of {self.resumes}; go-back-N resends {self.began} to {self.until}"
            )
            self.resumes = None
        elif psn <= self.highest:
            self.found.causeless.append(
                f"queue pair {self.number:#x} resends PSN {psn} at {at / US:.6g} us, which no NAK "
                f"asks for, and {self._waited(at, psn) / US:.4g} us is no timeout"
            )
        self.left[psn] = at
        self.highest = max(self.highest, psn)

    def answered(self, at: int, psn: int, syndrome: int) -> None:
        """An acknowledgement or a NAK arrives; a NAK acknowledges what is before its PSN."""
        is_nak = syndrome == NAK_SEQUENCE
        if is_nak:
            self.found.naks += 1
            self._nak_ignored(at, True)
            self.nak = (psn, at)
        until = psn if is_nak else psn + 1
        if until > self.unanswered:
            self.unanswered, self.progress = until, at

    def finish(self, end: int) -> None:
        """The capture ends: packets may be unanswered for longer than any timeout."""
        self._nak_ignored(end, False)
        if self.highest is None or self.unanswered > self.highest:
            return
        waited = self._waited(end, self.unanswered)
        if waited > LATEST * self.found.stated.timeout_ps + self.found.slack:
            self.found.off_time.append(
                f"PSN {self.unanswered} of queue pair {self.number:#x} is not acknowledged for "
                f"{waited / US:.4g} us, and not resent"
            )

    def _goes_back(self, psn: int) -> None:
        assert self.highest is not None
        self.began, self.until = psn, self.highest
        self.resumes = psn + 1 if psn < self.highest else None

    def _waited(self, at: int, psn: int) -> int:
        return at - max(self.progress, self.left.get(psn, 0))

    def _nak_obeyed(self, at: int) -> None:
        assert self.nak is not None
        passed = at - self.nak[1]
        self.found.times.append(passed)
        if passed > self.found.stated.retransmission_time + self.found.slack:
            self.found.late.append(
                f"PSN {self.nak[0]} of queue pair {self.number:#x} is resent {passed / US:.4g} us "
                "behind its NAK"
            )
        self.nak = None

    def _nak_ignored(self, at: int, again: bool) -> None:
        """A NAK is not obeyed until another one, or the end, comes."""
        limit = self.found.stated.retransmission_time + self.found.slack
        if self.nak is not None and (again or at - self.nak[1] > limit):
            self.found.late.append(
                f"the NAK for PSN {self.nak[0]} of queue pair {self.number:#x} at "
                f"{self.nak[1] / US:.6g} us is not answered by that packet"
            )
        self.nak = None

    def _is_timeout(self, at: int, psn: int) -> bool:
        """Whether the oldest packet is resent because no answer came; its time is judged."""
        waited, least = self._waited(at, psn), self.found.stated.timeout_ps
        if psn != self.unanswered or waited < least // SHORT:
            return False
        self._nak_ignored(at, False)
        self.found.timeouts.append(waited)
        slack = self.found.slack
        if not least - slack <= waited <= LATEST * least + slack:
            self.found.off_time.append(
                f"PSN {psn} of queue pair {self.number:#x} is resent after {waited / US:.4g} us "
                f"without an answer; timeout = {self.found.stated.timeout} is {least / US:.4g} to "
                f"{LATEST * least / US:.4g} us"
            )
        return True


def responder_of(packets: RocePackets) -> Responder:
    """The NIC as responder, over all queue pairs that data comes to."""
    found = Responder()
    for number, mine in per_pair(packets, of_nic=False):
        found.follow(number, mine)
    return found


def requester_of(packets: RocePackets, stated: GoBackN, slack: int) -> Requester:
    """The NIC as requester, over all queue pairs that it sends data to."""
    found = Requester(slack, stated)
    end = int(packets.times_ps[-1]) if len(packets) else 0
    for number, mine in per_pair(packets, of_nic=True):
        found.follow(number, mine, end)
    return found
