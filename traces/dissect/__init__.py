"""Compiled dissection of batches of frames. For one frame by hand, use dpkt with
`traces.protocols`."""

from traces.dissect.control_fields import (
    CNM_RECORD,
    PAUSE_RECORD,
    PROBE_RECORD,
    messages,
    pauses,
    probes,
)
from traces.dissect.header_parser import dissect
from traces.dissect.header_record import ABSENT, HEADERS, KINDS, TUNNELS, Kind

__all__ = [
    "ABSENT",
    "CNM_RECORD",
    "HEADERS",
    "KINDS",
    "PAUSE_RECORD",
    "PROBE_RECORD",
    "TUNNELS",
    "Kind",
    "dissect",
    "messages",
    "pauses",
    "probes",
]
