"""Probes of FECN's rate discovery as tailback sends them: EtherType 0x88B6."""

from __future__ import annotations

import dpkt  # type: ignore[import-untyped]

from orchestrator.engine.frames.core_frame_types import BACK, FORWARD
from orchestrator.engine.frames.frame_layout import PROBE_VERSION


class Probe(dpkt.Packet):
    """A probe (`way` 1) or its echo (2); `data` is the padding.

    The EtherType is one of those for local experiments: what is not of our version or has another
    way is not tailback's probe, and stays octets.
    """

    __hdr__ = (
        ("version", "B", PROBE_VERSION),
        ("way", "B", FORWARD),
        ("rate_bps", "Q", 0),
        ("flow", "i", 0),
        ("sequence", "Q", 0),
        ("created_ps", "Q", 0),
    )

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        if self.version != PROBE_VERSION or self.way not in (FORWARD, BACK):
            raise dpkt.UnpackError(f"version {self.version}, way {self.way}")
