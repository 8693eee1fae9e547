"""Captures of a run as one file: pcapng, or pcap in nanoseconds or microseconds.

The formats have Wireshark's names (`editcap -F`). pcapng keeps the port and the direction of every
frame, pcap neither.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import near
from traces.capture import Frame, frames, open_capture
from traces.export.capture_format import Format
from traces.pcapng import pcapng_blocks

LONGEST = 262_144
"""Snap length of the file: the most that readers accept."""
NS = 10**9
SECONDS = 1 << 32
"""pcap counts seconds in 32 bits."""


MAGIC = {Format.nsecpcap: (0xA1B23C4D, 1), Format.pcap: (0xA1B2C3D4, 1000)}
"""Format -> first word of the file, and nanoseconds of a unit of its times."""


def chosen(paths: Sequence[Path], ports: Sequence[str]) -> list[Path]:
    """Captures of the ports that were named, all where none is. Raises BadInput."""
    by_port = {path.stem: path for path in paths}
    found = []
    for port in ports:
        name = port.replace(".", "-", 1)
        if name not in by_port:
            names = sorted(_port(path) for path in paths)
            raise BadInput("--port", f"{port!r} is no captured port; {near(port, names)}")
        found.append(by_port[name])
    return found or list(paths)


def _port(path: Path) -> str:
    """The name of the port whose capture this is; it stands in the file."""
    with open_capture(path) as stream:
        for _ in stream.batches():
            break
        return stream.interfaces[0].name if stream.interfaces else path.stem


def write_capture(file: BinaryIO, paths: Sequence[Path], kind: Format) -> int:
    """Write all frames of captures in order of time; returns how many there are."""
    names = [_port(path) for path in paths]
    file.write(_head(names, kind))
    count = 0
    for time, interface, frame in _merged(paths):
        file.write(_record(time, interface, frame, kind))
        count += 1
    return count


def _merged(paths: Sequence[Path]) -> Iterator[tuple[int, int, Frame]]:
    """(ns since 1970, place of the capture, frame), in order of time; of equal times the first
    capture goes first."""

    def of(place: int, path: Path) -> Iterator[tuple[int, int, Frame]]:
        for frame in frames(path):
            if frame.time_ns is None:
                raise BadInput(str(path), f"frame {frame.number} has no time")
            yield frame.time_ns, place, frame

    streams = [of(place, path) for place, path in enumerate(paths)]
    return heapq.merge(*streams, key=lambda each: each[:2])


def _head(names: Sequence[str], kind: Format) -> bytes:
    if kind in MAGIC:
        ethernet = pcapng_blocks.ETHERNET
        return struct.pack("<IHHiIII", MAGIC[kind][0], 2, 4, 0, 0, LONGEST, ethernet)
    section = pcapng_blocks.block(
        pcapng_blocks.SECTION,
        struct.pack("<IHHq", pcapng_blocks.BYTE_ORDER, 1, 0, -1),
        pcapng_blocks.text_option(pcapng_blocks.SHB_USERAPPL, "tailback"),
    )
    body = struct.pack("<HHI", pcapng_blocks.ETHERNET, 0, LONGEST)
    return section + b"".join(
        pcapng_blocks.block(
            pcapng_blocks.INTERFACE,
            body,
            pcapng_blocks.text_option(pcapng_blocks.IF_NAME, name)
            + pcapng_blocks.option(pcapng_blocks.IF_TSRESOL, bytes([9])),
        )
        for name in names
    )


def _record(time: int, interface: int, frame: Frame, kind: Format) -> bytes:
    octets = frame.octets
    if kind not in MAGIC:
        body = struct.pack(
            "<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(octets), frame.length
        )
        flags = b""
        if frame.direction:
            flags = pcapng_blocks.option(
                pcapng_blocks.EPB_FLAGS, struct.pack("<I", frame.direction)
            )
        return pcapng_blocks.block(pcapng_blocks.PACKET, body + pcapng_blocks.padded(octets), flags)
    seconds, rest = divmod(time, NS)
    if not 0 <= seconds < SECONDS:
        text = "has a time that pcap cannot say; --format pcapng does"
        raise BadInput("export pcap", f"frame {frame.number} {text}")
    unit = MAGIC[kind][1]
    return struct.pack("<IIII", seconds, rest // unit, len(octets), frame.length) + octets
