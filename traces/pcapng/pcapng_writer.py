"""Writer of port captures as pcapng: whole batches of packet blocks at a time, in numpy."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from orchestrator.recording import PortCapture
from traces.pcapng import pcapng_blocks

BATCH = 1 << 16
"""Frames that are laid out at once; bounds the memory to a few tens of MB."""
HEAD_WORDS = 7
"""Words of a packet block before the octets: type, length, interface, time (2), kept, original."""
TAIL_WORDS = 4
"""Words after them: epb_flags (2), end of options, length."""
NS_PER_PS = 1000


def write(
    target: str | os.PathLike[str] | BinaryIO,
    captures: PortCapture | Sequence[PortCapture],
    epoch_ns: int = 0,
    *,
    hardware: str = "",
    system: str = "",
) -> None:
    """Write one or several ports' frames, in time order, to a path or a binary file.

    Time stamps are `epoch_ns` plus the frame's time, rounded down to whole nanoseconds.
    `hardware` and `system` go into the section header when given, and always a comment that says
    when the run began: a capture can be laid over its plan by itself.
    """
    ports = [captures] if isinstance(captures, PortCapture) else list(captures)
    with contextlib.ExitStack() as stack:
        file: BinaryIO
        if isinstance(target, str | os.PathLike):
            file = stack.enter_context(open(target, "wb"))
        else:
            file = target
        file.write(_section(hardware, system, epoch_ns))
        for port in ports:
            file.write(_interface(port))
        if len(ports) == 1:
            _write_port(file, ports[0], epoch_ns)
        else:
            _write_merged(file, ports, epoch_ns)
        for index, port in enumerate(ports):
            file.write(_statistics(index, port, epoch_ns))


def _section(hardware: str, system: str, epoch_ns: int) -> bytes:
    options = (
        pcapng_blocks.text_option(pcapng_blocks.COMMENT, f"{pcapng_blocks.EPOCH} {epoch_ns}")
        + pcapng_blocks.text_option(pcapng_blocks.SHB_HARDWARE, hardware)
        + pcapng_blocks.text_option(pcapng_blocks.SHB_OS, system)
        + pcapng_blocks.text_option(pcapng_blocks.SHB_USERAPPL, "tailback")
    )
    # version 1.0; the section's length is left open (-1), as the format allows
    return pcapng_blocks.block(
        pcapng_blocks.SECTION, struct.pack("<IHHq", pcapng_blocks.BYTE_ORDER, 1, 0, -1), options
    )


def _interface(port: PortCapture) -> bytes:
    options = pcapng_blocks.text_option(pcapng_blocks.COMMENT, port.comment)
    options += pcapng_blocks.text_option(pcapng_blocks.IF_NAME, f"{port.node}.{port.port}")
    options += pcapng_blocks.option(pcapng_blocks.IF_TSRESOL, bytes([9]))
    body = struct.pack("<HHI", pcapng_blocks.ETHERNET, 0, port.octets.shape[1])
    return pcapng_blocks.block(pcapng_blocks.INTERFACE, body, options)


def _statistics(index: int, port: PortCapture, epoch_ns: int) -> bytes:
    """Interface statistics: frames seen, and those of them that found the buffer full."""
    seen = port.times_ps if len(port.times_ps) else np.zeros(1, np.int64)
    first, last = (int(time) // NS_PER_PS + epoch_ns for time in (seen[0], seen[-1]))
    options = (
        pcapng_blocks.time_option(pcapng_blocks.ISB_STARTTIME, first)
        + pcapng_blocks.time_option(pcapng_blocks.ISB_ENDTIME, last)
        + pcapng_blocks.option(
            pcapng_blocks.ISB_IFRECV, struct.pack("<Q", len(port.times_ps) + port.dropped)
        )
        + pcapng_blocks.option(pcapng_blocks.ISB_IFDROP, struct.pack("<Q", port.dropped))
    )
    body = struct.pack("<III", index, last >> 32, last & 0xFFFFFFFF)
    return pcapng_blocks.block(pcapng_blocks.STATISTICS, body, options)


def _write_port(file: BinaryIO, port: PortCapture, epoch_ns: int) -> None:
    for start in range(0, len(port.times_ps), BATCH):
        part = slice(start, start + BATCH)
        heads = _heads(
            np.zeros(1, np.int64),
            port.times_ps[part] // NS_PER_PS + epoch_ns,
            port.kept[part],
            port.lengths[part],
            port.outgoing[part],
        )
        file.write(_layout(heads, _words(port.octets[part])).data)


def _write_merged(file: BinaryIO, ports: Sequence[PortCapture], epoch_ns: int) -> None:
    """Interleave several ports by time (ties: in the order of the ports)."""
    if not ports:
        return
    times = np.concatenate([port.times_ps for port in ports])
    owner = np.repeat(np.arange(len(ports)), [len(port.times_ps) for port in ports])
    row = np.concatenate([np.arange(len(port.times_ps)) for port in ports])
    order = np.argsort(times, kind="stable")
    width = max(-(-port.octets.shape[1] // 4) for port in ports)
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        who, where = owner[some], row[some]
        kept, lengths = np.zeros(len(some), np.int64), np.zeros(len(some), np.int64)
        outgoing = np.zeros(len(some), bool)
        words = np.zeros((len(some), width), "<u4")
        for index, port in enumerate(ports):
            mine = np.flatnonzero(who == index)
            rows = where[mine]
            kept[mine], lengths[mine] = port.kept[rows], port.lengths[rows]
            outgoing[mine] = port.outgoing[rows]
            octets = _words(port.octets[rows])
            words[mine, : octets.shape[1]] = octets
        heads = _heads(who, times[some] // NS_PER_PS + epoch_ns, kept, lengths, outgoing)
        file.write(_layout(heads, words).data)


def _heads(
    interface: np.ndarray,
    times_ns: np.ndarray,
    kept: np.ndarray,
    lengths: np.ndarray,
    outgoing: np.ndarray,
) -> np.ndarray:
    """All words of the packet blocks but the octets, uint32[n, HEAD_WORDS + TAIL_WORDS]."""
    heads = np.empty((len(times_ns), HEAD_WORDS + TAIL_WORDS), "<u4")
    heads[:, 0] = pcapng_blocks.PACKET
    heads[:, 1] = 4 * (HEAD_WORDS + TAIL_WORDS + (kept + 3) // 4)
    heads[:, 2] = interface
    heads[:, 3] = times_ns >> 32
    heads[:, 4] = times_ns & 0xFFFFFFFF
    heads[:, 5] = kept
    heads[:, 6] = lengths
    heads[:, 7] = (
        pcapng_blocks.EPB_FLAGS | 4 << 16
    )  # option code and length as one little-endian word
    heads[:, 8] = np.where(outgoing, pcapng_blocks.OUTBOUND, pcapng_blocks.INBOUND)
    heads[:, 9] = pcapng_blocks.END_OF_OPTIONS
    heads[:, 10] = heads[:, 1]
    return heads


def _words(octets: np.ndarray) -> np.ndarray:
    """uint8[n, snap] as uint32[n, ceil(snap / 4)], a view when snap is a multiple of 4."""
    rest = -octets.shape[1] % 4
    if rest:
        octets = np.pad(octets, ((0, 0), (0, rest)))
    return np.ascontiguousarray(octets).view("<u4")


def _layout(heads: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The packet blocks one after another, uint32[total words].

    Blocks of equal size form a table of fixed stride; a mixture is laid out one size at a time.
    What lies beyond the kept octets in their last word must be zero already.
    """
    data = heads[:, 1].astype(np.int64) // 4 - (HEAD_WORDS + TAIL_WORDS)
    sizes = np.unique(data)
    if len(sizes) == 1:
        return _table(heads, words[:, : sizes[0]]).reshape(-1)
    starts = np.zeros(len(data) + 1, np.int64)
    np.cumsum(data + (HEAD_WORDS + TAIL_WORDS), out=starts[1:])
    out = np.empty(starts[-1], "<u4")
    for size in sizes:
        rows = np.flatnonzero(data == size)
        table = _table(heads[rows], words[rows, :size])
        out[starts[rows, None] + np.arange(table.shape[1])] = table
    return out


def _table(heads: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Blocks of one size, uint32[n, words]."""
    return np.concatenate([heads[:, :HEAD_WORDS], data, heads[:, HEAD_WORDS:]], axis=1)
