"""Values of `tailback run --stamps`: the sources of receive and transmit timestamps."""

from __future__ import annotations

SOFTWARE, HARDWARE, AUTO = STAMPS = ("software", "hardware", "auto")
"""The kernel; the NICs, or a refusal; the NICs where all have clocks, else the kernel."""
