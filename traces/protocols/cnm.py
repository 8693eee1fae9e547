"""Congestion notification of 802.1Qau: the message (0x22E7) and the tag (0x22E9)."""

from __future__ import annotations

from typing import Any

import dpkt  # type: ignore[import-untyped]

from orchestrator.engine.frames.frame_layout import CNM_UNIT


class Cnm(dpkt.Packet):
    """A congestion notification message; `data` is the sampled frame's first octets."""

    __hdr__ = (
        ("_first", "H", 0),
        ("cpid", "Q", 0),
        ("offset", "h", 0),
        ("delta", "h", 0),
        ("_priority", "H", 0),
        ("destination", "6s", bytes(6)),
        ("msdu_length", "H", 0),
    )
    __bit_fields__ = {  # noqa: RUF012 (a name that dpkt gives)
        "_first": (("version", 4), ("_reserved", 6), ("feedback", 6)),
        "_priority": (("priority", 3), ("_rest", 13)),
    }

    @property
    def offset_bytes(self) -> int:
        """Octets that the queue is above the set point."""
        return int(self.offset) * CNM_UNIT

    @property
    def delta_bytes(self) -> int:
        """Octets that the queue has grown since the last sample."""
        return int(self.delta) * CNM_UNIT


class CnTag(dpkt.Packet):
    """A CN-TAG; `data` is what dpkt knows of the EtherType `type`, or bytes."""

    __hdr__ = (("flow", "H", 0), ("type", "H", 0))
    data: Any

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        try:
            inner = dpkt.ethernet.Ethernet.get_type(self.type)
            self.data = inner(self.data)
        except (KeyError, dpkt.UnpackError):
            return  # stays bytes, as in dpkt's own Ethernet
