"""Formats of a capture file that `tailback export pcap` writes."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """Format of a capture file, by Wireshark's name."""

    pcapng = "pcapng"
    nsecpcap = "nsecpcap"
    pcap = "pcap"
