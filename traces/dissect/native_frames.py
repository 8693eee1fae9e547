"""Decoder of captured frames to the core's frame descriptors, by its codec."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import captured_tables
from orchestrator.engine.frames.captured_codec import decode_captured
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import FOREIGN
from orchestrator.engine.frames.frame_layout import IP
from orchestrator.engine.frames.host_frames import decode_host
from orchestrator.engine.jit import compiled

LEAST = IP + 20
"""Octets of a frame up to the end of its IPv4 header."""


@compiled
def _decode_all(tables, octets, kept, lengths, frames):
    """Decode every row; one that no codec knows stays blank: its kind is FOREIGN."""
    for row in range(frames.size):
        decode_captured(tables, octets[row, : kept[row]], lengths[row], frames[row])


@compiled
def _decode_hosts(octets, kept, lengths, frames):
    """Fill in what programs sent, among those that no codec knows."""
    for row in range(frames.size):
        if frames[row].kind == FOREIGN and kept[row] >= LEAST:
            decode_host(octets[row, : kept[row]], lengths[row], frames[row])


def descriptors(octets: np.ndarray, kept: np.ndarray, lengths: np.ndarray) -> np.recarray:
    """FRAME[n] of captured frames: `octets` uint8[n, snap], `kept` int64[n] of them real, `lengths`
    int64[n] on the wire."""
    frames = empty_descriptors(len(lengths))
    if len(lengths):
        whole = [np.ascontiguousarray(column) for column in (octets, kept, lengths)]
        _decode_all(captured_tables(), *whole, frames)  # type: ignore[call-arg]
    return frames


def with_hosts(
    frames: np.recarray, octets: np.ndarray, kept: np.ndarray, lengths: np.ndarray
) -> np.recarray:
    """Descriptors that include the packets of programs, which no codec knows: their flow is that of
    their two ends."""
    if len(lengths):
        whole = [np.ascontiguousarray(column) for column in (octets, kept, lengths)]
        _decode_hosts(*whole, frames)  # type: ignore[call-arg]
    return frames
