"""Provenance of a profile's fields: measured here, stated by a source, or assumed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

Evidence = Literal["measured", "stated", "assumed"]
"""measured: by this tool, on that machine and day. stated: the system or a driver says so.
assumed: a decision of tailback that numbers are read with."""

EVIDENCE: dict[str, Evidence] = {
    "tailback_profile": "stated",
    "date": "stated",
    "tailback": "stated",
    "took_s": "measured",
    "machine": "stated",
    "path": "stated",
    "forwarding": "measured",
    "forwarding.frame_octets": "stated",
    "forwarding.trials": "stated",
    "departures": "measured",
    "departures.load": "stated",
    "departures.frame_octets": "stated",
    "stalls": "measured",
    "stalls.floor_ns": "assumed",
    "stalls.stolen_share": "stated",
    "stalls.unexplained_share": "assumed",
    "limiter": "measured",
    "limiter.rate_bps": "stated",
    "limiter.frame_octets": "stated",
    "limiter.ideal_gap_ns": "stated",
    "limiter.windows.window_ns": "stated",
    "delay": "measured",
    "delay.delay_ns": "stated",
    "delay.load": "stated",
    "delay.rate_bps": "stated",
    "delay.frame_octets": "stated",
    "turnaround": "measured",
    "timestamps": "measured",
    "evidence": "stated",
}
"""Of settings that a measurement was made with `stated` means: set so."""


def keys(data: Any, prefix: str = "") -> Iterator[str]:
    """The dotted key of every value in a profile's data; those of a list share one."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from keys(value, f"{prefix}.{name}" if prefix else name)
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        for value in data:
            yield from keys(value, prefix)
    else:
        yield prefix


def evidence_of(key: str) -> Evidence:
    """The class of a dotted key. Raises KeyError for one that has none."""
    parts = key.split(".")
    for length in range(len(parts), 0, -1):
        if (found := EVIDENCE.get(".".join(parts[:length]))) is not None:
            return found
    raise KeyError(key)
