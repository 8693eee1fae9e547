"""What may be asked to carry a run's frames: the values of `tailback run --datapath`."""

from __future__ import annotations

PACKET, XDP, AUTO = DATAPATHS = ("packet", "xdp", "auto")
"""AF_PACKET sockets, anywhere; AF_XDP sockets, or a refusal; AF_XDP where there is such."""
