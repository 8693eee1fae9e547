"""Files of one rotation are one capture at one point, whatever their order and number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.analysis.test_flow_identity import roce
from tests.traces.capture.captures import enhanced, interface, pcap, section
from traces.analysis import analyze
from traces.analysis.rotated_files import rotation_base, rotations

NAMES = {
    "dumpcap": ("ring_00001.pcap", "ring_00002.pcap"),
    "dumpcap with times": ("r_00001_20240131235959.pcap", "r_00002_20240201000001.pcap"),
    "dumpcap with nametimenum": ("r_20240131235959_00001.pcap", "r_20240201000001_00002.pcap"),
    "logrotate": ("ring.pcap.1", "ring.pcap"),
    "tcpdump -G, hours alone": ("ring-235958.pcap", "ring-235959.pcap"),
    "tcpdump -C": ("ring.pcap", "ring.pcap1"),
    "tcpdump -C, no extension": ("ring", "ring1"),
    "tcpdump -C, another extension": ("ring.trace", "ring.trace12"),
    "tcpdump -C -W": ("ring.pcap00", "ring.pcap01"),
    "tcpdump -G": ("ring-2024-01-31_23-59-59.pcap", "ring-2024-02-01_00-00-01.pcap"),
}


def frames(first: int, count: int) -> list[bytes]:
    return [roce(psn) for psn in range(first, first + count)]


def write(path: Path, octets: list[bytes], begin: int) -> Path:
    records = [(1, begin + 1000 * n, one, len(one)) for n, one in enumerate(octets)]
    path.write_bytes(pcap(records, magic=0xA1B23C4D))
    return path


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("turned", [False, True])
def test_rotated_files_are_one_point(tmp_path, names, turned) -> None:
    """5 of the first file's 20 frames are sent again in the second: retransmissions, no latency."""
    one = write(tmp_path / names[0], frames(0, 20), 0)
    two = write(tmp_path / names[1], frames(15, 25), 20_000)
    seen = analyze(*((two, one) if turned else (one, two)))
    assert (seen.latency, seen.clocks) == ([], [])
    (point,) = seen.interfaces
    (flow,) = point.conversations
    assert (flow.frames, flow.duplicates, flow.lost) == (45, 5, 0)
    assert [one.frames for one in seen.captures] == ([25, 20] if turned else [20, 25])
    whole = write(tmp_path / "whole.pcap", frames(0, 20) + frames(15, 25), 0)
    (alike,) = analyze(whole).interfaces
    assert (alike.seconds, alike.octets, alike.frames) == (
        point.seconds,
        point.octets,
        point.frames,
    )


def test_the_same_time_is_another_place(tmp_path) -> None:
    """Names as of a rotation, and times that overlap: two points, with latency between them."""
    one = write(tmp_path / "x_00001.pcap", frames(0, 20), 0)
    two = write(tmp_path / "x_00002.pcap", frames(0, 20), 500)
    seen = analyze(one, two)
    assert (len(seen.interfaces), len(seen.latency)) == (2, 1)


@pytest.mark.parametrize(
    "names",
    [("nic1.pcap", "nic2.pcap"), ("leaf_1.pcap", "leaf_2.pcap"), ("h1", "h2"), ("h", "h01")],
)
def test_other_names_are_other_places(tmp_path, names) -> None:
    one = write(tmp_path / names[0], frames(0, 5), 0)
    two = write(tmp_path / names[1], frames(5, 5), 9000)
    assert len(analyze(one, two).interfaces) == 2


def test_a_long_pause_is_no_rotation(tmp_path) -> None:
    one = write(tmp_path / "x_00001.pcap", frames(0, 5), 0)
    late = [(7200, n, octets, len(octets)) for n, octets in enumerate(frames(5, 5))]
    two = tmp_path / "x_00002.pcap"
    two.write_bytes(pcap(late, magic=0xA1B23C4D))
    assert rotations([one, two]) == [[0], [1]]


def test_interfaces_with_other_names_are_other_places(tmp_path) -> None:
    def pcapng(path: Path, name: bytes, begin: int, first: int) -> Path:
        blocks = [section(), interface(options=[(2, name)])]
        blocks += [enhanced(0, begin + n, one) for n, one in enumerate(frames(first, 5))]
        path.write_bytes(b"".join(blocks))
        return path

    one = pcapng(tmp_path / "x_00001.pcapng", b"eth0", 0, 0)
    two = pcapng(tmp_path / "x_00002.pcapng", b"eth0", 10, 5)
    other = pcapng(tmp_path / "x_00003.pcapng", b"eth1", 20, 10)
    assert rotations([two, other, one]) == [[2, 0], [1]]
    seen = analyze(two, other, one).interfaces
    assert [(point.name, point.conversations[0].frames) for point in seen] == [
        ("eth1", 5),
        ("eth0", 10),
    ] or [(point.name, point.conversations[0].frames) for point in seen] == [
        ("eth0", 10),
        ("eth1", 5),
    ]


def test_bases_of_names() -> None:
    assert rotation_base("a/x_00012.pcapng.gz") == rotation_base("a/x_00013.pcapng.gz") == "a/x"
    assert rotation_base("a/x.pcap7") == rotation_base("a/x.pcap") == "a/x.pcap"
    assert rotation_base("a/x_00012.pcap") != rotation_base("b/x_00013.pcap")
    assert rotation_base("x_1.pcap") != rotation_base("x_2.pcap")
    assert rotation_base("notes.txt") is None
