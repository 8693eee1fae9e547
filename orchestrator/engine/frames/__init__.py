"""Frame encoding and decoding: frame descriptors to octets and back, by the table of frame types.

`encode` and `decode` here are for those who are not compiled; compiled code calls those of
`engine.frames.frame_codec` with the table that it was handed.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_codec
from orchestrator.engine.frames.frame_codec import FOREIGN
from orchestrator.engine.frames.type_registry import type_table

__all__ = ["FOREIGN", "decode", "encode", "type_table"]


def encode(frame: np.record, octets: np.ndarray) -> int:
    """Write the known octets of a frame; how many there were (`codec.encode`)."""
    return int(frame_codec.encode(type_table(), frame, octets))


def decode(octets: np.ndarray, length: int, frame: np.record) -> int:
    """Fill a descriptor from octets; its kind, or FOREIGN (`codec.decode`)."""
    return int(frame_codec.decode(type_table(), octets, length, frame))
