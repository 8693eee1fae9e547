"""A capture as a source: its times, its lengths, its flows; on both targets."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.run.run_result import measure
from orchestrator.targets.software.namespace_probe import probe
from tests.plugins.described import check_page
from tests.traces.capture.captures import block, enhanced, interface, pcap, section
from traffic.capture_replay import Trace, load

PLAN = """
name = "repeat"
duration = "20ms"
clock_ppm = 0

[nodes.nic]
kind = "nic"
reaction_points = 0

[nodes.sink]
kind = "sink"

[links.up]
ends = ["nic", "sink"]
rate = "10Gb/s"

[traffic.again]
plugin = "trace"
file = "{file}"
from = "nic"
to = "sink"
{more}

[capture]
ports = ["nic.sink"]
"""
NANOSECONDS = 0xA1B23C4D
CREATED = slice(62, 70)
LONG, SHORT = (
    bytes.fromhex("02000000000a02000000000b88b5"),
    bytes.fromhex("02000000000a02000000000c88b5"),
)
MAC_CONTROL = bytes.fromhex("0180c200000102000000000b880800010000")


def foreign(folder: Path) -> tuple[Path, np.ndarray, np.ndarray, np.ndarray]:
    """A capture of two senders: its path, and times (ns), lengths and senders of its frames."""
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.integers(2_000, 30_000, 400))
    lengths = rng.integers(60, 1400, 400)
    senders = rng.integers(0, 2, 400)
    senders[0] = 0
    records = [
        (1_700_000_000, int(t), (LONG, SHORT)[s] + bytes(46), int(length))
        for t, length, s in zip(times, lengths, senders, strict=True)
    ]
    records.insert(7, (1_700_000_000, int(times[6]) + 5, MAC_CONTROL + bytes(42), 60))
    path = folder / "foreign.pcap"
    path.write_bytes(pcap(records, magic=NANOSECONDS))
    return path, times, lengths, senders


def sent(path: Path, more: str, target: str = "simulated") -> tuple[np.ndarray, np.ndarray]:
    """When the source made its frames (ps), and how long they are, without the first one."""
    plan = Plan.load(PLAN.format(file=path, more=more))
    recording = Registry.load().target(target).run(plan.check(Registry.load()), silent)
    (capture,) = recording.captures
    created = capture.octets[:, CREATED].copy().view(">i8").reshape(-1).astype(np.int64)
    return created[1:] - created[0], capture.lengths[1:]


@pytest.mark.parametrize(
    ("more", "flow", "speed"),
    [("", None, 1), ("flow = 1", 1, 1), ('speed = "2"', None, 2), ('speed = "1/2"', None, 0.5)],
)
def test_times_and_lengths(tmp_path: Path, more: str, flow: int | None, speed: float) -> None:
    path, times, lengths, senders = foreign(tmp_path)
    mine = np.ones(len(times), bool) if flow is None else senders == flow
    made, long = sent(path, more)
    wanted = (times[mine] - times[mine][0])[1:] * 1000 / speed
    wanted = wanted[wanted <= 20e9]
    assert len(made) == np.sum(wanted <= made[-1])
    assert np.abs(made - wanted[: len(made)]).max() <= 1
    assert (long == np.maximum(lengths[mine][1:][: len(made)], 70)).all()


@pytest.mark.parametrize("length", [70, 122, 1499, 4154, 9216])
def test_lengths_are_those_of_the_capture_from_the_first_frame_on(
    tmp_path: Path, length: int
) -> None:
    path = tmp_path / "even.pcap"
    records = [(0, 1_000 * (10 * n), LONG + bytes(46), length) for n in range(50)]
    path.write_bytes(pcap(records, magic=NANOSECONDS))
    plan = Plan.load(PLAN.format(file=path, more="")).check(Registry.load())
    recording = Registry.load().target("simulated").run(plan, silent)
    (capture,) = recording.captures
    assert capture.lengths.tolist() == [length] * 50
    assert int(recording.column("nic>sink", "bytes_out")[-1]) == 50 * length
    assert plan.uses["traffic"]["again"].params.notes() == []


def test_what_is_not_repeated_as_it_was_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "uneven.pcap"
    records = [(0, 10_000 * n, LONG + bytes(46), [60, 500, 65_000][n % 3]) for n in range(30)]
    path.write_bytes(pcap(records, magic=NANOSECONDS))
    more = 'speed = "2"'
    plan = Plan.load(PLAN.format(file=path, more=more)).check(Registry.load())
    recording = Registry.load().target("simulated").run(plan, silent)
    assert measure(Registry.load(), plan, recording)["notes"] == [
        "again: 10 of 30 captured frames are shorter than 70 B and sent as long",
        "again: 10 of 30 captured frames are longer than 9216 B and cut to that",
        "again: the capture's frames are sent at 2 times their pace",
    ]


def test_of_a_flow_the_gap_from_the_last_frame_to_the_first_is_its_own_mean_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "two.pcap"
    records = [
        (0, 10_000 * n, (LONG if n % 10 == 0 else SHORT) + bytes(46), 100) for n in range(41)
    ]
    path.write_bytes(pcap(records, magic=NANOSECONDS))
    made, _ = sent(path, "flow = 0\nrepeat = true")
    assert set(np.diff(made).tolist()) == {100_000_000}


def test_it_can_begin_again(tmp_path: Path) -> None:
    path, times, _, _ = foreign(tmp_path)
    once, _ = sent(path, 'speed = "4"')
    again, _ = sent(path, 'speed = "4"\nrepeat = true')
    assert len(once) == len(times) - 1
    assert len(again) > 2 * len(times)
    assert (again[: len(once)] == once).all()


def test_an_exhausted_source_is_silent(tmp_path: Path) -> None:
    path, times, _, _ = foreign(tmp_path)
    made, _ = sent(path, 'speed = "1000"')
    assert len(made) == len(times) - 1


@pytest.mark.software
def test_on_real_frames(tmp_path: Path) -> None:
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    path, _, _, _ = foreign(tmp_path)
    simulated, real = sent(path, ""), sent(path, "", "software")
    assert (simulated[0] == real[0]).all()
    assert (simulated[1] == real[1]).all()


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"traffic\.again\.file"):
        Plan.load(PLAN.format(file=tmp_path / "none.pcap", more="")).check(Registry.load())
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pcap([]))
    with pytest.raises(BadInput, match="no frame that a source could repeat"):
        load(str(empty))
    long = tmp_path / "long.pcap"
    octets = LONG + bytes(60)
    long.write_bytes(pcap([(0, 0, octets, len(octets)), (200_000, 0, octets, len(octets))]))
    with pytest.raises(BadInput, match=r"lasts 200000 s: a source repeats one of 100000 s at most"):
        load(str(long))
    text = tmp_path / "text.pcap"
    text.write_text("this is no capture, by any means")
    with pytest.raises(BadInput, match="not a pcap"):
        load(str(text))


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.capture_replay") > 0


@pytest.mark.parametrize("linktype", [101, 12, 228, 0, 108, 1])
def test_ip_packets_without_a_link_header_are_sent_with_one(tmp_path: Path, linktype: int) -> None:
    """An IP packet of n octets is an Ethernet frame of n + 14, whatever link it was captured at."""
    front = {0: bytes([2, 0, 0, 0]), 108: bytes([0, 0, 0, 2]), 1: bytes(12) + b"\x08\x00"}
    packets = [
        bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=7, dport=9) / bytes(octets))
        for octets in (200, 700, 1_200)
    ]
    frames = [front.get(linktype, b"") + packet for packet in packets]
    path = tmp_path / "packets.pcap"
    records = [(0, 10_000 * n, frame, len(frame)) for n, frame in enumerate(frames)]
    path.write_bytes(pcap(records, magic=NANOSECONDS, linktype=linktype))
    assert load(str(path))[:, 1].tolist() == [len(packet) + 14 for packet in packets]
    note = (
        "3 captured IP packets have no link header and are sent with one of Ethernet, 14 B longer"
    )
    assert Trace(file=str(path)).notes() == ([] if linktype == 1 else [note])


@pytest.mark.parametrize("linktype", [9999, 147, 105, 127, 2])
def test_frames_that_are_no_ethernet_are_refused_with_their_link_type(
    tmp_path: Path, linktype: int
) -> None:
    octets = LONG + bytes(60)
    path = tmp_path / "odd.pcap"
    path.write_bytes(pcap([(0, 0, octets, len(octets))], linktype=linktype))
    with pytest.raises(BadInput, match=rf"link type {linktype}; Ethernet \(1\), Linux cooked"):
        load(str(path))


def test_frames_of_another_interface_that_are_no_ethernet_are_noted(tmp_path: Path) -> None:
    octets = LONG + bytes(60)
    path = tmp_path / "two.pcapng"
    blocks = [
        section(),
        interface(),
        block(1, struct.pack("<HHI", 9999, 0, 0)),
        enhanced(0, 1_000, octets),
        enhanced(1, 2_000, octets),
        enhanced(1, 3_000, octets),
    ]
    path.write_bytes(b"".join(blocks))
    assert len(load(str(path))) == 1
    note = "2 captured frames have the link type 9999, no Ethernet, and are not sent"
    assert note in Trace(file=str(path)).notes()
