"""Frame encoding and decoding: frame descriptors to octets and back, by the table of frame types.

`encode` and `decode` here are for those who are not compiled; compiled code calls those of
`engine.frames.frame_codec` with the table that it was handed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames import captured_codec, frame_codec
from orchestrator.engine.frames.frame_codec import FOREIGN
from orchestrator.engine.frames.type_registry import captured_tables, type_table

__all__ = ["FOREIGN", "captured_tables", "decode", "encode", "type_table"]


def encode(frame: Any, octets: np.ndarray) -> int:
    """Write the known octets of a frame; how many there were (`codec.encode`)."""
    types: Any = type_table()
    return frame_codec.encode(types, frame, octets)


def decode(octets: np.ndarray, length: int, frame: Any) -> int:
    """Fill a descriptor from octets; its kind, or FOREIGN (`captured_codec`)."""
    return captured_codec.decode_captured(captured_tables(), octets, length, frame)
