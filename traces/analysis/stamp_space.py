"""Stamp space test of a frame: by one octet, independent of the frame type."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.unaligned import big64, octet
from orchestrator.engine.jit import inlined

WORD = 8
"""Octets that are loaded at once."""


def stamp_word(places: np.ndarray) -> np.ndarray:
    """The word of 8 octets in which all of `places` lie, int64[2]: where it begins in a frame, and
    their bits in it. It begins before the frame (-1) where there is none."""
    if not len(places):
        return np.zeros(2, np.int64)
    begin = int(places.min())
    if places.max() >= begin + WORD:
        return np.array([-1, 0], np.int64)
    bits = sum(0xFF << 8 * (WORD - 1 - place + begin) for place in set(places.tolist()))
    return np.array([begin, bits], np.uint64).view(np.int64)


@inlined
def has_stamp_space(octets, at, size, places, word):
    """1 if one of the octets `places` int64[..] of a frame is captured and not 0, else 0.

    `word` is their `stamp_word`, by which all are looked at at once where all were captured.
    """
    begin = word[0]
    if begin >= 0 and size >= begin + WORD:
        return np.int64(big64(octets, at + begin) & word[1] != 0)
    for place in places:
        if size > place and octet(octets, at + place) != 0:
            return np.int64(1)
    return np.int64(0)
