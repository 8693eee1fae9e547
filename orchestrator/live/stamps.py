"""Values of `tailback run --stamps`: the sources of receive and transmit timestamps."""

from __future__ import annotations

SOFTWARE, HARDWARE, AUTO = STAMPS = ("software", "hardware", "auto")
"""Timestamps by the kernel; by the NICs, or a refusal; by the NICs where all have clocks, else by
the kernel."""
