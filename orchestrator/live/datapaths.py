"""Values of `tailback run --datapath`: the sockets that carry a run's frames."""

from __future__ import annotations

PACKET, STAMPED, XDP, AUTO = DATAPATHS = ("packet", "stamped", "xdp", "auto")
"""AF_PACKET sockets, anywhere; the same, with the kernel's time of arrival beside every frame;
AF_XDP sockets, or a refusal; AF_XDP where there is such, else packet."""
CALIBRATED = (PACKET, XDP, AUTO)
"""Those that `tailback calibrate` measures a machine by."""
