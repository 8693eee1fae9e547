"""Capture files of the generator: pcap and pcapng with times in ns."""

from __future__ import annotations

import io
from collections.abc import Sequence

import dpkt  # type: ignore[import-untyped]

NANOSECONDS = 9
Frames = Sequence[tuple[int, int, bytes]]
"""Time (ns), length on the wire without FCS, octets that were kept."""


def pcap_file(frames: Frames) -> bytes:
    """Frames as a pcap file with times in ns."""
    header = dpkt.pcap.LEFileHdr(
        magic=dpkt.pcap.TCPDUMP_MAGIC_NANO, snaplen=65_535, linktype=dpkt.pcap.DLT_EN10MB
    )
    parts = [bytes(header)]
    for at_ns, length, octets in frames:
        seconds, rest = divmod(at_ns, 10**9)
        parts += [
            bytes(dpkt.pcap.LEPktHdr(tv_sec=seconds, tv_usec=rest, caplen=len(octets), len=length)),
            octets,
        ]
    return b"".join(parts)


def pcapng_file(frames: Frames, interface: str) -> bytes:
    """Frames as a pcapng file of one interface, with times in ns."""
    ng = dpkt.pcapng
    options = [
        ng.PcapngOptionLE(code=ng.PCAPNG_OPT_IF_NAME, data=interface.encode()),
        ng.PcapngOptionLE(code=ng.PCAPNG_OPT_IF_TSRESOL, data=bytes([NANOSECONDS])),
        ng.PcapngOptionLE(code=ng.PCAPNG_OPT_ENDOFOPT, len=0),
    ]
    block = ng.InterfaceDescriptionBlockLE(snaplen=65_535, opts=options)
    file = io.BytesIO()
    writer = ng.Writer(file, idb=block)
    for at_ns, length, octets in frames:
        high, low = at_ns >> 32, at_ns & 0xFFFFFFFF
        writer.writepkt(
            ng.EnhancedPacketBlockLE(
                ts_high=high, ts_low=low, caplen=len(octets), pkt_len=length, pkt_data=octets
            )
        )
    return file.getvalue()
