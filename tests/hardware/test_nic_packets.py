"""A NIC judged by packets that are written by hand: edges that no simulated NIC reaches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hardware.cnp_pacing import Marked, marked_pairs, missing, too_close
from tests.hardware.loss_recovery import requester_of, responder_of
from traces.pytest_plugin.nic_description import ADDRESS, PORT, QUEUE_PAIR, CnpPacing, GoBackN
from traces.pytest_plugin.roce_packets import RocePackets

US = 10**6
DATA, ACK, NAK, CNP = 4, 17, -17, 0x81
HIGH, BACK = 0x111, 0x222
RECOVERY = GoBackN(timeout=8, retransmission_time=5 * US)
T = RECOVERY.timeout_ps / US


def packets(*rows: tuple[float, bool, int, int, int]) -> RocePackets:
    """Packets by (time in us, whether the NIC sent them, kind, PSN, ECN codepoint) of one queue
    pair each way: data to HIGH, answers and CNPs to BACK."""
    count = len(rows)
    at, out, kind, psn, ecn = (np.array(column) for column in zip(*rows, strict=True))
    out = out.astype(bool)
    nic, peer = np.full((count, 16), 2, np.uint8), np.full((count, 16), 9, np.uint8)
    syndrome = np.where(kind == ACK, 0x1F, np.where(kind == NAK, 0x60, -1))
    kind = np.abs(kind)
    return RocePackets(
        (at * US).astype(np.int64),
        out,
        kind,
        np.where(kind == DATA, HIGH, BACK),
        psn,
        ecn,
        np.zeros(count, np.int64),
        syndrome,
        np.full(count, 100),
        np.where(out[:, None], nic, peer),
        np.where(out[:, None], peer, nic),
    )


def marked(number: int, marks: list[float], cnps: list[float], peer: int = 1) -> Marked:
    """A queue pair by times in us."""
    times = (np.array([round(one * US) for one in row], np.int64) for row in (marks, cnps))
    return Marked(bytes(15) + bytes([peer]), number, number, *times)


STATED = CnpPacing(min_time_between_cnps=4, response=US)


@pytest.mark.parametrize(("at", "count"), [(4.0, 0), (3.1, 0), (2.9, 1)])
def test_a_cnp_may_be_late_and_the_next_one_not(at: float, count: int) -> None:
    assert len(too_close([marked(1, [], [10.0, 10.0 + at])], STATED, 0)) == count


@pytest.mark.parametrize(("per", "count"), [(QUEUE_PAIR, 0), (ADDRESS, 1), (PORT, 2)])
def test_cnps_are_apart_within_their_scope(per: str, count: int) -> None:
    """Two queue pairs of one address and one of another."""
    pairs = [marked(1, [], [10.0]), marked(2, [], [11.0]), marked(1, [], [12.0], peer=2)]
    stated = STATED.model_copy(update={"per": per})
    assert len(too_close(pairs, stated, 0)) == count


def test_a_port_that_paces_may_answer_another_pair() -> None:
    pairs = [marked(1, [10.0], []), marked(2, [10.1], [10.2])]
    assert len(missing(pairs, STATED, 0)) == 1
    assert missing(pairs, STATED.model_copy(update={"per": PORT}), 0) == []


def test_marks_before_the_stated_number_are_due_no_cnp() -> None:
    pairs = [marked(1, [10.0, 20.0], [20.1])]
    assert len(missing(pairs, STATED, 0)) == 1
    assert missing(pairs, STATED.model_copy(update={"marks": 2}), 0) == []


def test_one_cnp_that_is_missing_is_one_miss() -> None:
    pairs = [marked(1, [10.0, 12.0, 14.0, 20.0, 30.0, 31.0], [20.1])]
    assert len(missing(pairs, STATED, 0)) == 2


def test_packets_that_are_ecn_capable_are_not_marked() -> None:
    (pair,) = marked_pairs(
        packets(
            (1, False, DATA, 5, 2),
            (2, False, DATA, 6, 3),
            (2.5, True, ACK, 6, 0),
            (3, True, CNP, 0, 0),
        )
    )
    assert (pair.marks / US).tolist() == [2]
    assert (pair.cnps / US).tolist() == [3]


def test_the_packet_behind_a_gap_is_not_acknowledged() -> None:
    """That of the gap is not either; one before it may be again."""
    rows = [(1, False, DATA, 5, 0), (2, True, ACK, 5, 0), (3, False, DATA, 7, 0)]
    for psn, count in ((5, 0), (6, 1), (7, 1)):
        assert len(responder_of(packets(*rows, (4, True, ACK, psn, 0))).early_acks) == count


def requester(*rows: tuple[float, bool, int, int, int]) -> tuple[int, int, int, int]:
    """Sentences of each kind: late, not all, without a cause, off time. PSNs 5 to 8 are sent, and 5
    acknowledged."""
    begin = [(at, True, DATA, 4 + at, 0) for at in range(1, 5)]
    found = requester_of(packets(*begin, (5, False, ACK, 5, 0), *rows), RECOVERY, 0)
    kinds = (found.late, found.not_all, found.causeless, found.off_time)
    return tuple(map(len, kinds))  # type: ignore[return-value]


RESENT = [(8.0 + one, True, DATA, 6 + one, 0) for one in range(3)]


def test_a_nak_is_obeyed() -> None:
    nak = (7.0, False, NAK, 6, 0)
    done = (20.0, False, ACK, 8, 0)
    assert requester(nak, *RESENT, done) == (0, 0, 0, 0)
    assert requester(*RESENT, done) == (0, 0, 3, 0)
    assert requester(nak, RESENT[0], RESENT[2], done) == (0, 1, 0, 0)
    assert requester(nak, done) == (1, 0, 0, 0)
    late = [(at + 5, out, kind, psn, ecn) for at, out, kind, psn, ecn in RESENT]
    assert requester(nak, *late, done) == (1, 0, 0, 0)
    assert requester(nak, (7.5, False, NAK, 7, 0), *RESENT[1:], done) == (1, 0, 0, 0)


@pytest.mark.parametrize(("times", "off"), [(0.95, 1), (1.001, 0), (1.05, 0), (3.9, 0), (4.1, 1)])
def test_a_timeout_counts_from_the_last_progress(times: float, off: int) -> None:
    """The acknowledgement of PSN 5 at 5 us, not from when PSN 6 left."""
    begin = 5 + times * T
    rows = [(begin + one, True, DATA, 6 + one, 0) for one in range(3)]
    assert requester(*rows, (begin + 9, False, ACK, 8, 0)) == (0, 0, 0, off)


def test_progress_begins_the_timeout_anew() -> None:
    """PSN 7 left at 3 us; the one before it is acknowledged late."""
    progress = (5 + 0.9 * T, False, ACK, 6, 0)
    for times, off in ((1.5, 1), (1.95, 0)):
        begin = 5 + times * T
        rows = [(begin + one, True, DATA, 7 + one, 0) for one in range(2)]
        assert requester(progress, *rows, (begin + 9, False, ACK, 8, 0)) == (0, 0, 0, off)


def test_a_timeout_resends_from_the_oldest_packet() -> None:
    begin = 5 + 2 * T
    assert requester((begin, True, DATA, 7, 0), (begin + 1, False, ACK, 8, 0)) == (0, 0, 1, 0)


def test_a_packet_that_is_never_resent_is_told_at_the_end() -> None:
    """By a NIC without a timeout, and by one that ignores the NAK for its last packet."""
    end = (5 + 4.1 * T, False, DATA, 99, 0)
    assert requester(end) == (0, 0, 0, 1)
    assert requester((7.0, False, NAK, 8, 0), end) == (1, 0, 0, 1)
    assert requester((7.0, False, ACK, 8, 0), end) == (0, 0, 0, 0)
