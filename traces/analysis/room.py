"""Whether a frame may have room for stamps: by one octet of it, whatever its type is."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.wide import big64, octet
from orchestrator.engine.jit import inlined

WORD = 8
"""Octets that are loaded at once."""


def words_with(places: np.ndarray) -> np.ndarray:
    """Words of 8 octets in which all of `places` lie, int64[n, 2]: where one begins in a frame, and
    the bits of those places in it. One at least, which may be of no place."""
    found: list[list[int]] = []
    for place in sorted(places.tolist()):
        if not found or place >= found[-1][0] + WORD:
            found.append([place, 0])
        found[-1][1] |= 0xFF << 8 * (WORD - 1 - place + found[-1][0])
    return np.array(found or [[0, 0]], np.uint64).view(np.int64)


@inlined
def has_room(octets, at, size, places, words):  # type: ignore[no-untyped-def]
    """Whether one of the octets `places` int64[..] of a frame is captured and not 0: 0 or 1.

    `words` are their `words_with`, by which all are looked at at once where all were captured.
    """
    last = (words.shape[0] - 1) & 0x7FFFFFFF
    if size >= words[last, 0] + WORD:
        for one in range(words.shape[0]):
            if big64(octets, at + words[one, 0]) & words[one, 1] != 0:
                return np.int64(1)
        return np.int64(0)
    for place in places:
        if size > place and octet(octets, at + place) != 0:
            return np.int64(1)
    return np.int64(0)
