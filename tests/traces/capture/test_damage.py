"""Files that are damaged anywhere: no crash, no hang, and the same frames as other readers give.

Differences to Wireshark 4.0 that are accepted:

- STRICT: we stop at a block of an interface that was not described (also a block of statistics),
  and at a block that is cut off behind its frame; Wireshark goes on.
- GUESSED: by the first records of a pcap file Wireshark guesses at variants with other record
  headers; we know one. So what is compared is sound in the first records.
"""

from __future__ import annotations

import json
import random
import struct

import pytest

from orchestrator.errors import BadInput
from tests.traces.capture import captures as make
from tests.traces.capture.tshark import counts, needs_capinfos, needs_tshark, rows
from tests.traces.dissect.samples import FRAMES
from traces.analysis import Settings, analyze
from traces.capture import NO_TIME, Damage, open_capture
from traces.capture.capture_stream import CaptureStream

SECTION = b"\x0a\x0d\x0d\x0a"
T = 1_763_000_000_123_456_789


def pcapng(order: str = "<") -> bytes:
    """A little of everything."""
    flags = make.option(2, struct.pack(order + "I", 2), order)
    statistics = struct.pack(order + "III", 0, 0, 0) + make.option(5, bytes(8), order)
    return b"".join(
        [
            make.section(order, make.option(4, b"a tool", order)),
            make.interface(order, [(2, b"eth0"), (9, b"\x09")], 96),
            make.enhanced(0, T, bytes(range(60)), order, flags),
            make.block(0x7777, b"of an unknown type", order),
            make.interface(order, [(9, b"\x06"), (14, struct.pack(order + "q", 5))]),
            make.enhanced(1, T // 1000, bytes(14), order, length=1500),
            make.simple(bytes(20), 20, order),
            make.block(5, statistics, order),
            make.enhanced(1, T // 1000 + 9, bytes(33), order),
        ]
    )


def seeds() -> list[bytes]:
    records = [(1, index, bytes(60), 60) for index in range(4)]
    records += [(1, 5, bytes(range(60)), 60), (2, 6, b"", 5), (3, 7, bytes(90), 1500)]
    files = [
        make.pcap(records, order, magic) for order in "<>" for magic in (0xA1B2C3D4, 0xA1B23C4D)
    ]
    return [*files, pcapng(), pcapng(">"), pcapng() + pcapng(">")]


def mutate(rng: random.Random, data: bytes, least: int = 0) -> bytes:
    """Octets exchanged, words exchanged by telling ones, parts removed, doubled, cut off."""
    octets = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        what, place = rng.randrange(6), rng.randrange(least, len(octets))
        if what < 2:
            octets[place] = rng.randrange(256)
        elif what == 2:
            word = rng.choice((0, 1, 4, 12, 28, 0x7FFFFFFF, 0xFFFFFFFF, 0x1000000, 3, 6, len(data)))
            octets[place & ~3 : (place & ~3) + 4] = struct.pack(rng.choice("<>") + "I", word)
        elif what == 3:
            del octets[place : place + rng.choice((1, 4, 16))]
        elif what == 4:
            octets[place:place] = octets[place : place + rng.choice((4, 28, 60))]
        elif rng.random() < 0.3:
            del octets[place:]
        if len(octets) <= least:
            break
    return bytes(octets)


def read(path, buffer: int = 1 << 20) -> tuple[list[tuple[int, bytes, int]], Damage | None]:
    """All frames and the damage. A file that is refused has none and damage at 0."""
    found = []
    try:
        with CaptureStream(path, buffer) as stream:
            for batch in stream.batches():
                for row in range(len(batch)):
                    time, length = int(batch.time_ns[row]), int(batch.original[row])
                    found.append((time, batch.frame(row), length))
            return found, stream.damage
    except BadInput as error:
        return [], Damage(0, str(error))


def test_any_damage_ends_the_reading_in_good_order(tmp_path) -> None:
    rng = random.Random(1)
    path, damaged, files = tmp_path / "a", 0, seeds()
    for _ in range(6000):
        data = mutate(rng, rng.choice(files))
        path.write_bytes(data)
        found, damage = read(path)
        damaged += damage is not None
        assert damage is None or 0 <= damage.offset <= len(data)
        assert sum(len(octets) for _, octets, _ in found) <= len(data)
        # where the buffer's borders lie makes no difference, also for damage
        if rng.random() < 0.1:
            assert read(path, 64) == (found, damage)
    assert 1500 < damaged < 5500


def test_every_cut_is_read_up_to_it(tmp_path) -> None:
    path = tmp_path / "a"
    for data in seeds():
        path.write_bytes(data)
        whole, damage = read(path)
        assert damage is None
        best = 0
        for size in range(24, len(data)):
            path.write_bytes(data[:size])
            found, damage = read(path)
            assert found == whole[: len(found)]
            assert len(found) >= best
            assert damage is None or damage.offset <= size
            best = len(found)
        assert best >= len(whole) - 1


def times(value: str) -> int:
    seconds, _, fraction = value.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


@needs_tshark
@pytest.mark.parametrize("index", range(7))
def test_tshark_reads_the_same_frames(tmp_path, index) -> None:
    path = tmp_path / "a.cap"
    path.write_bytes(seeds()[index])
    found, damage = read(path)
    seen = rows(path, ["frame.time_epoch", "frame.len", "frame.cap_len"])
    assert damage is None
    assert [(int(row["frame.len"]), int(row["frame.cap_len"])) for row in seen] == [
        (length, len(octets)) for _, octets, length in found
    ]
    for row, (time, _, _) in zip(seen, found, strict=True):
        if time != NO_TIME:
            assert times(row["frame.time_epoch"]) == time


@needs_capinfos
def test_wireshark_reads_as_many_frames_of_damaged_files(tmp_path) -> None:
    rng = random.Random(2)
    files = seeds()
    mutants = []
    for number in range(800):
        # the magic numbers stay, or Wireshark tries some fifty other formats
        mutants.append(tmp_path / f"{number:04}")
        data = rng.choice(files)
        sound = 12 if data.startswith(SECTION) else 24 + 4 * 76  # GUESSED
        mutants[-1].write_bytes(mutate(rng, data, sound))
    strict = compared = 0
    for path, theirs in zip(mutants, counts(mutants), strict=True):
        found, damage = read(path)
        if theirs is None:  # not even opened
            continue
        compared += 1
        assert len(found) <= theirs, path
        if len(found) < theirs:  # STRICT
            assert damage is not None, path
            known = ("has not been described", "time offset", "ends inside a block")
            assert any(part in damage.what for part in known), (path, damage)
            strict += 1
    assert compared > 400
    assert strict < 0.03 * compared


def test_a_short_time_for_a_long_file_of_nothing(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(make.section() + make.interface() + make.block(9, b"") * 1_000_000)
    with open_capture(path) as stream:
        assert list(stream.batches()) == []
        assert stream.damage is None


def test_mutants_are_analysed_without_a_crash(tmp_path) -> None:
    rng = random.Random(3)
    plain = make.pcap([(1, index, frame, len(frame)) for index, frame in enumerate(FRAMES)])
    blocks = make.section() + make.interface(options=[(8, struct.pack("<Q", 10**9))])
    blocks += b"".join(make.enhanced(0, index, frame) for index, frame in enumerate(FRAMES))
    for number in range(300):
        path = tmp_path / f"{number % 2}"
        path.write_bytes(mutate(rng, rng.choice((plain, blocks)), 24))
        try:
            found = analyze(path, settings=Settings(rate_bps=10**9))
        except BadInput:
            continue
        total = sum(sum(one.frames.values()) for one in found.interfaces)
        assert total == found.captures[0].frames
        json.dumps(found.as_json(), allow_nan=False)
