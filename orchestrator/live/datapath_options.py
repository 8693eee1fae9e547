"""Values of `tailback run --datapath`: the sockets that carry a run's frames."""

from __future__ import annotations

KERNEL_STAMPS, NIC_STAMPS, STAMPS_AUTO = STAMPS = ("software", "hardware", "auto")
"""Timestamps by the kernel; by the NICs, or a refusal; by the NICs where all have clocks, else by
the kernel."""


PACKET, STAMPED, XDP, AUTO = DATAPATHS = ("packet", "stamped", "xdp", "auto")
"""AF_PACKET sockets; the same with the kernel's receive timestamp of every frame; AF_XDP sockets,
or a refusal; AF_XDP where available, else AF_PACKET."""
CALIBRATED = (PACKET, XDP, AUTO)
"""Data paths that `tailback calibrate` measures."""
