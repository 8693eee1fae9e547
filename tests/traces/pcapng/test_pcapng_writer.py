"""pcapng: what is written is read back exactly, by us and by tshark; damage is named."""

from __future__ import annotations

import contextlib
import io
import shutil
import struct
import subprocess
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.recording import PortCapture
from traces import pcapng
from traces.pcapng import pcapng_blocks

EPOCH_NS = 1_763_000_000_123_456_789
TSHARK = shutil.which("tshark")


def frames(draw_kept: list[int], snap: int, times: list[int]) -> PortCapture:
    rng = np.random.default_rng(len(draw_kept))
    kept = np.array(draw_kept, np.int64)
    octets = rng.integers(1, 256, (len(kept), snap), np.uint8)
    octets[np.arange(snap) >= kept[:, None]] = 0
    return PortCapture(
        node="nic1",
        port="switch",
        times_ps=np.sort(np.array(times, np.int64)),
        outgoing=kept % 2 == 0,
        lengths=kept + 3,
        kept=kept,
        octets=octets,
        dropped=len(kept) // 2,
    )


def check(capture: PortCapture, found: pcapng.Capture, epoch_ns: int) -> None:
    assert found.times_ns.tolist() == [int(t) // 1000 + epoch_ns for t in capture.times_ps]
    assert found.kept.tolist() == capture.kept.tolist()
    assert found.lengths.tolist() == capture.lengths.tolist()
    assert (found.direction == np.where(capture.outgoing, 2, 1)).all()
    width = found.octets.shape[1]
    assert (found.octets == capture.octets[:, :width]).all()
    assert not capture.octets[:, width:].any()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    snap = data.draw(st.integers(1, 131))
    kept = data.draw(st.lists(st.integers(0, snap), max_size=40))
    times = data.draw(st.lists(st.integers(0, 10**17), min_size=len(kept), max_size=len(kept)))
    capture = frames(kept, snap, times)
    path = tmp_path_factory.mktemp("pcapng") / "a.pcapng"
    pcapng.write(path, capture, EPOCH_NS, hardware="x86", system="Linux 6")
    found = pcapng.read(path)
    (interface,) = found.interfaces
    assert (interface.name, interface.linktype, interface.tsresol) == ("nic1.switch", 1, 9)
    assert interface.snaplen == snap
    assert (interface.received, interface.dropped) == (len(kept) * 3 // 2, len(kept) // 2)
    check(capture, found, EPOCH_NS)


def test_several_interfaces_are_merged_by_time(tmp_path, capture) -> None:
    ports = [capture(60, 128, 1), capture(50, 64, 2), capture(0, 96, 3)]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, ports, EPOCH_NS)
    found = pcapng.read(path)
    assert len(found.interfaces) == 3
    assert (np.diff(found.times_ns) >= 0).all()
    for index, port in enumerate(ports):
        rows = found.interface == index
        one = pcapng.Capture(
            found.interfaces,
            *(getattr(found, name)[rows] for name in ("interface", "times_ns", "lengths", "kept")),
            octets=found.octets[rows][:, : port.octets.shape[1]],
            direction=found.direction[rows],
        )
        check(port, one, EPOCH_NS)


def test_file_object_and_path_agree(tmp_path, capture) -> None:
    memory = io.BytesIO()
    pcapng.write(memory, capture(), EPOCH_NS)
    pcapng.write(tmp_path / "a", capture(), EPOCH_NS)
    assert memory.getvalue() == (tmp_path / "a").read_bytes()


def test_golden_octets() -> None:
    """One frame of 5 octets, laid out by hand from the format's description: 52 octets."""
    capture = frames([5], 6, [2_999])
    memory = io.BytesIO()
    pcapng.write(memory, capture, 2**32)
    block = (
        "06000000 34000000 00000000 01000000 02000000 05000000 08000000".replace(" ", "")
        + capture.octets[0, :5].tobytes().hex()
        + "000000"
        + "02000400 01000000 00000000 34000000".replace(" ", "")
    )
    assert block in memory.getvalue().hex()


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
@pytest.mark.parametrize("ports", [1, 2])
def test_tshark_reads_the_same(tmp_path, capture, ports: int) -> None:
    captures = [capture(200, 128, seed) for seed in range(ports)]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, captures, EPOCH_NS)
    fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_name"]
    done = subprocess.run(
        [str(TSHARK), "-r", str(path), "-T", "fields", *(w for f in fields for w in ("-e", f))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    complaints = [line for line in done.stderr.splitlines() if "root" not in line]
    assert complaints == []
    found = pcapng.read(path)
    expected = [
        f"{t // 10**9}.{t % 10**9:09d}\t{length}\t{kept}\tswitch.sink"
        for t, length, kept in zip(
            found.times_ns.tolist(), found.lengths.tolist(), found.kept.tolist(), strict=True
        )
    ]
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize("mixed", [False, True])
def test_fast(tmp_path, capture, mixed: bool) -> None:
    big = capture(200_000, 128, mixed=mixed)
    best = min(_timed(tmp_path, big) for _ in range(3))
    assert best < 1.0


def _timed(folder, capture: PortCapture) -> float:
    start = time.process_time()
    pcapng.write(folder / "big.pcapng", capture, EPOCH_NS)
    return time.process_time() - start


def swapped(data: bytes) -> bytes:
    """Our own file with every number in the other byte order (options stay one word each)."""
    out, at = b"", 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == pcapng_blocks.SECTION:
            new = struct.pack(">IHHq", pcapng_blocks.BYTE_ORDER, 1, 0, -1)
        elif kind == pcapng_blocks.INTERFACE:
            new = struct.pack(">HHI", *struct.unpack_from("<HHI", body))
            new += struct.pack(">HH", pcapng_blocks.IF_TSRESOL, 1) + b"\x09\0\0\0" + bytes(4)
        elif kind == pcapng_blocks.PACKET:
            words = struct.unpack_from("<5I", body)
            size = words[3] + -words[3] % 4
            new = struct.pack(">5I", *words) + body[20 : 20 + size]
            new += struct.pack(">HHI", 2, 4, struct.unpack_from("<I", body, 24 + size)[0])
            new += bytes(4)
        else:
            new = struct.pack(">3I", *struct.unpack_from("<3I", body))
        size = struct.pack(">I", len(new) + 12)
        out += struct.pack(">I", kind) + size + new + size
        at += length
    return out


def test_both_byte_orders_and_two_sections(tmp_path, capture) -> None:
    one = capture(30)
    memory = io.BytesIO()
    pcapng.write(memory, one, EPOCH_NS)
    path = tmp_path / "a.pcapng"
    path.write_bytes(swapped(memory.getvalue()))
    check(one, pcapng.read(path), EPOCH_NS)
    path.write_bytes(memory.getvalue() + swapped(memory.getvalue()))
    found = pcapng.read(path)
    assert len(found.interfaces) == 2
    assert found.interface.tolist() == [0] * 30 + [1] * 30
    assert (found.times_ns[:30] == found.times_ns[30:]).all()
    assert (found.octets[:30] == found.octets[30:]).all()


@pytest.mark.parametrize(
    ("place", "value", "part"),
    [
        (0, b"\0\0\0\0", "offset 0: not a pcap or pcapng file"),
        (0, b"\xd4\xc3\xb2\xa1", "pcap of version"),
        (8, b"\0\0\0\0", "byte-order mark"),
        (4, b"\x07\0\0\0", "cannot be 7 octets long"),
        (4, b"\xf0\xff\xff\x7f", "cannot be 2147483632 octets long"),
        (4, b"\xf0\xff\xff\x00", "the file ends inside a block"),
    ],
)
def test_damage_is_named(tmp_path, capture, place, value, part) -> None:
    path = tmp_path / "a.pcapng"
    pcapng.write(path, capture(3))
    data = bytearray(path.read_bytes())
    data[place : place + 4] = value
    path.write_bytes(data)
    with pytest.raises(BadInput, match=part):
        pcapng.read(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_is_bad_input_or_reads(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    memory = io.BytesIO()
    pcapng.write(memory, frames([4, 9, 9], 10, [1, 2, 3]), EPOCH_NS)
    octets = bytearray(memory.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    octets = octets[: data.draw(st.integers(0, len(octets)))]
    path = tmp_path_factory.mktemp("damage") / "a.pcapng"
    path.write_bytes(octets)
    with contextlib.suppress(BadInput):
        pcapng.read(path)


def test_pcap_is_refused_by_its_name(tmp_path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(16))
    with pytest.raises(BadInput, match="not a pcapng file but a pcap file"):
        pcapng.read(path)


def test_missing_file(tmp_path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        pcapng.read(tmp_path / "none.pcapng")
