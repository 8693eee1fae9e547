"""Decoder of frames whose headers are not known before, such as those of a capture."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.big_endian import get16
from orchestrator.engine.frames.frame_codec import decode
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import Frame


@compiled
def header_shape(octets: np.ndarray, length: int) -> int:
    """Row of the tables of `type_registry.captured_tables` for the headers that a frame has, by its
    EtherTypes: up to two VLAN tags, IPv6 or not."""
    tags, place = 0, at.VLAN
    held = min(length, octets.shape[0])
    while tags < at.MOST_TAGS and place + at.TAG_OCTETS + 2 <= held:
        kind = get16(octets, place)
        if kind != at.VLAN_TYPE and kind != at.OUTER_TYPE:
            break
        tags += 1
        place += at.TAG_OCTETS
    six = place + 2 <= held and get16(octets, place) == at.IPV6_TYPE
    return tags + (at.MOST_TAGS + 1 if six else 0)


@compiled
def decode_captured(tables: np.ndarray, octets: np.ndarray, length: int, frame: Frame) -> int:
    """`decode` of a frame whose headers are not known before: by those that it has.

    `tables` is FRAME_TYPE[shapes, KINDS] (`type_registry.captured_tables`).
    """
    return decode(tables[header_shape(octets, length)], octets, length, frame)
