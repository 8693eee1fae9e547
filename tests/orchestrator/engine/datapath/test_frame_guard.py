"""Check words of frames: any change of any octet is counted, as are copies, losses and disorder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.datapath import frame_guard as at
from orchestrator.engine.frames import FOREIGN, decode, encode, frame_layout, type_table
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import sampled_length
from orchestrator.engine.frames.ipv4_header import checksum
from orchestrator.engine.frames.telemetry_header import WORDS, get_stamps, put_stamps, room_octets
from orchestrator.engine.frames.type_registry import registered_types
from orchestrator.engine.records import ACK, BRIDGED, CNM, CNP, DATA, FLOW, HOST, PFC, RETURNED
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software import link_guards
from tests.orchestrator.worlds import line_of_three

Registry.load()
US, SECOND = 10**6, 10**12
LENGTHS = {DATA: 200, CNM: 106}
KINDS = [one for one in registered_types() if one.kind not in (HOST, BRIDGED)]
NAMES = {one.kind: one.name for one in KINDS}


class World(NamedTuple):
    """The arrays of a world that a guard reads."""

    types: np.ndarray
    frames: np.ndarray
    octets: np.ndarray
    stamps: np.ndarray
    flows: np.recarray


class Ends:
    """Both ends of a link, up from nic to switch; octets go from one to the other by hand."""

    def __init__(self, hops: int = 0, reaction_ps: int = 100 * US) -> None:
        plan = Plan(**line_of_three(duration=SECOND))
        local = {port.entity: (port.node, 0) for port in plan.ports()}
        self.guards = link_guards.LinkGuards.of(plan, local, reaction_ps)
        self.guard = self.guards.arrays
        self.row = self.guards.senders["nic.switch"]
        self.hops = hops
        width = 2 + WORDS * max(hops, 1)
        self.world = World(
            type_table(),
            empty_descriptors(2),
            np.zeros((2, 2048), np.uint8),
            np.zeros((2 if hops else 1, width), np.int64),
            np.zeros(8, FLOW).view(np.recarray),
        )

    def plain(self, kind: int, sequence: int = 7) -> bytes:
        """Write a frame of a kind at the sender; its octets before it is guarded."""
        w = self.world
        frame = w.frames[0]
        for name, value in {
            "flow": 3,
            "source": 3,
            "destination": 9,
            "inner": 9,
            "mark": 2,
        }.items():
            frame[name] = value
        frame.kind, frame.priority, frame.sequence, frame.created = kind, 3, sequence, 10**9
        frame.feedback, frame.offset, frame.delta = 5, 640, 64
        frame.mark = {CNM: 1500, RETURNED: 23, PFC: 3}.get(kind, 2)
        frame.destination = 3 if kind == RETURNED else 9
        row = w.types[kind]
        frame.length = max(LENGTHS.get(kind, 0), int(row.least))
        if self.hops and row.stamps:
            frame.length = int(row.stamps) + room_octets(self.hops)
        frame.due = sequence * US
        w.octets[0] = 0
        assert encode(frame, w.octets[0]) == row.known
        if self.hops:
            w.stamps[0, :2] = (self.hops if row.stamps else 0), 1
            w.stamps[0, 2:] = np.arange(w.stamps.shape[1] - 2)
            if row.stamps:
                put_stamps(row.stamps, w.stamps[0], w.octets[0])
        return w.octets[0, : frame.length].tobytes()

    def sent(self, kind: int, sequence: int = 7, link: int | None = None) -> bytes:
        """The octets of a frame on the wire."""
        self.plain(kind, sequence)
        at.guard_sent(self.world, self.guard, self.row if link is None else link, 0)
        return self.world.octets[0, : self.world.frames[0].length].tobytes()

    def receive(self, octets: bytes, now: int = 0) -> int:
        """Take octets in; the kind they were understood as."""
        w = self.world
        w.octets[1] = 0
        w.octets[1, : len(octets)] = list(octets)
        kind = decode(w.octets[1], len(octets), w.frames[1])
        if kind == FOREIGN:
            return int(kind)
        if self.hops:
            get_stamps(w.types[kind].stamps, w.octets[1], len(octets), w.stamps[1])
        at.guard_received(w, self.guard, self.row, 1, now)
        return int(kind)

    def counted(self, word: int) -> int:
        """A count of all kinds at the receiver."""
        return int(self.guard.counts[self.row, :, word].sum())


def test_every_frame_of_the_core_has_room_for_a_check_word_within_its_shortest() -> None:
    rows = link_guards.layouts(type_table())
    for one in KINDS:
        least = sampled_length(frame_layout.DATA_HEADER) if one.sample else one.least
        assert 0 < rows[one.kind, at.HIGH] < rows[one.kind, at.LOW] <= least - 2, one.name
    assert link_guards.unguarded_kinds() == ["host", "bridged"]


@pytest.mark.parametrize("kind", NAMES, ids=NAMES.get)
@pytest.mark.parametrize("hops", [0, 3])
def test_an_untouched_frame_passes_and_its_octets_are_those_before(kind: int, hops: int) -> None:
    ends = Ends(hops)
    for sequence in range(600):  # the low octet of a frame's number wraps twice
        before = ends.plain(kind, sequence)
        on_wire = ends.sent(kind, sequence)
        assert on_wire != before
        assert ends.receive(on_wire, sequence * US + 5 * US) == kind
        assert ends.world.octets[1, : len(before)].tobytes() == before
    counts = ends.guard.counts[ends.row, kind]
    assert counts.tolist() == [600, 0, 0, 0, 600, 3000 * US, 5 * US, 0]
    assert ends.guard.delays[ends.row, :-1].sum() == 600


def unseen(ends: Ends, kind: int, bit: int) -> bool:
    """True if a frame with that bit changed, and its checksum set right again, passes as it is."""
    packet = int(ends.guard.layouts[kind, at.IP])
    octets = np.frombuffer(ends.sent(kind, bit), np.uint8).copy()
    octets[bit // 8] ^= 0x80 >> bit % 8
    in_header = packet and packet <= bit // 8 < packet + 20
    if in_header and bit // 8 not in (packet + 10, packet + 11):
        octets[packet + 10 : packet + 12] = 0
        octets[packet + 10 : packet + 12] = divmod(int(checksum(octets, packet)), 256)
    before = ends.counted(at.CHANGED)
    return ends.receive(octets.tobytes()) != FOREIGN and ends.counted(at.CHANGED) == before


@pytest.mark.parametrize("kind", NAMES, ids=NAMES.get)
@pytest.mark.parametrize("hops", [0, 2])
def test_every_bit_that_a_node_reads_is_guarded(kind: int, hops: int) -> None:
    """A changed bit makes a frame foreign, or is counted as changed.

    A word of 16 bits misses one change of 65 536, another one under other keys."""
    ends, others = Ends(hops), Ends(hops)
    row = ends.world.types[kind]
    packet = int(ends.guard.layouts[kind, at.IP])
    covered = int(row.known) + (room_octets(hops) if row.stamps else 0)
    passed = [bit for bit in range(8 * covered) if unseen(ends, kind, bit)]
    always = {bit for bit in passed if unseen(others, kind, bit)}
    sampled = range(8 * (packet + 10), 8 * (packet + 12)) if kind == CNM else range(0)
    assert always <= set(sampled)  # a sample with a wrong checksum is a foreign one's
    assert len(set(passed) - set(sampled)) <= 2
    assert ends.counted(at.CHANGED) > 50


def test_a_congestion_mark_that_is_cleared_with_a_right_checksum_is_counted() -> None:
    ends = Ends()
    ends.plain(DATA)
    ends.world.frames[0].mark = 3
    encode(ends.world.frames[0], ends.world.octets[0])
    at.guard_sent(ends.world, ends.guard, ends.row, 0)
    octets = ends.world.octets[0, :200].copy()
    octets[frame_layout.IP + 1] = 2
    octets[frame_layout.IP + 10 : frame_layout.IP + 12] = 0
    total = int(checksum(octets, frame_layout.IP))
    octets[frame_layout.IP + 10 : frame_layout.IP + 12] = divmod(total, 256)
    assert ends.receive(octets.tobytes()) == DATA
    (link,) = [
        one for name, one in ends.guards.results(SECOND, 0, 1.0).items() if name == "nic>switch"
    ]
    assert (link.marks_cleared, link.marks_added, link.total("changed")) == (1, 0, 1)


def test_a_frame_of_another_link_or_run_is_counted_as_changed() -> None:
    ends, other = Ends(), Ends()
    ends.receive(ends.sent(DATA, link=1 - ends.row))
    assert ends.counted(at.CHANGED) == 1
    ends.receive(other.sent(DATA))
    assert ends.counted(at.CHANGED) == 2
    ends.receive(ends.plain(DATA))
    assert ends.counted(at.CHANGED) == 3


def test_random_check_words_do_not_pass() -> None:
    ends = Ends()
    draw = np.random.default_rng(1)
    octets = np.frombuffer(ends.plain(CNM), np.uint8).copy()
    high, low = (int(ends.guard.layouts[CNM, half]) for half in (at.HIGH, at.LOW))
    for _ in range(500):
        octets[[high, high + 1, low, low + 1]] = draw.integers(0, 256, 4)
        ends.receive(octets.tobytes())
    assert ends.counted(at.CHANGED) == 500


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["pass", "lose", "copy", "late"]), min_size=1, max_size=60),
    st.sampled_from([DATA, ACK, CNP, CNM]),
)
def test_losses_copies_and_disorder_are_counted_by_kind(fates: list[str], kind: int) -> None:
    ends, held = Ends(), list[bytes]()
    expected = dict.fromkeys(["pass", "lose", "copy", "late"], 0)
    for number, fate in enumerate(fates):
        octets = ends.sent(kind, number)
        expected[fate] += 1
        if fate == "late":
            held.append(octets)
        elif fate != "lose":
            ends.receive(octets)
            ends.receive(octets) if fate == "copy" else None
    last = ends.sent(kind, len(fates))
    ends.receive(last)
    for octets in held:
        ends.receive(octets)
    link = ends.guards.results(SECOND, 0, 1.0)["nic>switch"]
    counts = link.kinds[NAMES[kind]]
    assert (counts.missing, counts.repeated) == (expected["lose"], expected["copy"])
    assert (counts.reordered, counts.changed) == (expected["late"], 0)
    assert counts.sent == len(fates) + 1


@pytest.mark.parametrize("gap", [1, 127, 128, 255, 256, 300, 5000, 60_000])
def test_the_number_of_a_frame_is_known_again_after_a_burst_of_losses(gap: int) -> None:
    ends = Ends()
    ends.receive(ends.sent(ACK, 0))
    ends.guard.sent[ends.row, at.NEXT] += gap
    ends.receive(ends.sent(ACK, 1))
    assert ends.counted(at.CHANGED) == 0
    assert ends.guard.state[ends.row, at.EXPECTED] == gap + 2


def test_frames_at_the_end_of_a_run_are_in_flight_and_earlier_ones_are_missing() -> None:
    ends = Ends()
    for number in range(10):  # due at 0 to 9 us, none arrives
        ends.sent(CNM, number)
    until = 20_000 * US + 5 * US
    link = ends.guards.results(until, 0, 1.0)["nic>switch"]
    assert link.kinds["CNM"].missing == 6
    assert ends.guards.results(SECOND, 0, 1.0)["nic>switch"].kinds["CNM"].missing == 10
    for number in range(5000):  # more than the ring holds
        ends.sent(CNM, number)
    assert ends.guards.results(SECOND, 0, 1.0)["nic>switch"].kinds["CNM"].missing == 5010


def test_delays_are_kept_by_kind_and_by_window() -> None:
    ends = Ends(reaction_ps=100 * US)
    for number in range(1000):
        kind, late = (CNM, 700 * US) if number % 10 == 0 else (DATA, 3 * US)
        ends.plain(kind, number)
        ends.world.frames[0].due = number * 10**9
        at.guard_sent(ends.world, ends.guard, ends.row, 0)
        octets = ends.world.octets[0, : ends.world.frames[0].length].tobytes()
        stalled = 2 * 10**9 if 500 <= number < 520 else 0
        ends.receive(octets, number * 10**9 + late + stalled)
    link = ends.guards.results(SECOND, 0, 1.0)["nic>switch"]
    cnm, data = link.kinds["CNM"], link.kinds["data"]
    assert (cnm.timed, cnm.delayed, data.timed, data.delayed) == (100, 100, 900, 18)
    assert cnm.extra_ps == 100 * 700 * US + 2 * 2 * 10**9
    assert data.longest_ps == 2 * 10**9 + 3 * US
    assert link.extra_max_ps == 2 * 10**9 + 700 * US
    assert link.worst_window_ps <= 500 * 10**9 < link.worst_window_ps + SECOND // 50
    assert 1 <= link.stalled_windows < link.windows
