"""In-band telemetry (INT): a port stamps the data frames that it sends, as HPCC's switches do.

The stamp says the octets that wait behind the frame, those that have left the queue with it, and
the rate at which it is served; time and port are the engine's to say (engine.frames.stamps). Frames
have room for stamps where the reaction point of their source asks for it, and pass unchanged
elsewhere.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import STAMP, Algorithm, Capability, Params, congestion_point, record


class Int(Params):
    """Parameters of the stamping."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"int": {}}
    former: ClassVar[dict[str, str]] = {"says_queue": "report_queue"}

    report_queue: bool = Field(True, description="if false, stamps report a queue length of 0")


STATE = record("unused")


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves; `queue` does not hold it any more."""
    message.offset = queue.bytes if params.report_queue != 0 else 0
    message.delta = queue.bytes_out
    message.feedback = min(queue.service_rate, queue.line_rate)
    return STAMP


INT: Algorithm = congestion_point(
    "int",
    "stamps data frames with queue, octets sent, time and rate, as HPCC's switches do",
    Int,
    STATE,
    needs=frozenset({Capability.STAMPS}),
    departure=on_departure,
)
