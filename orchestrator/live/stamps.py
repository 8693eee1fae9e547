"""Who may be asked for the times at which frames arrive and leave: `tailback run --stamps`."""

from __future__ import annotations

SOFTWARE, HARDWARE, AUTO = STAMPS = ("software", "hardware", "auto")
"""The kernel; the NICs, or a refusal; the NICs where all have clocks, else the kernel."""
