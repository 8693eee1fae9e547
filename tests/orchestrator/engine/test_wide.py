"""Unaligned loads against Python's own reading of the same octets."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.frames import unaligned
from orchestrator.engine.jit import compiled


@compiled
def everything(octets, at, found):
    found[0] = unaligned.big16(octets, at)
    found[1] = unaligned.big32(octets, at)
    found[2] = unaligned.big64(octets, at)
    found[3] = unaligned.little16(octets, at)
    found[4] = unaligned.little32(octets, at)
    found[5] = unaligned.native16(octets, at)
    found[6] = unaligned.native64(octets, at)


@given(st.binary(min_size=8, max_size=40), st.data())
def test_loads(text, data) -> None:
    at = data.draw(st.integers(0, len(text) - 8))
    found = np.zeros(7, np.int64)
    everything(np.frombuffer(text, np.uint8).copy(), at, found)
    assert found.tolist() == [
        struct.unpack_from(form, text, at)[0] for form in (">H", ">I", ">q", "<H", "<I", "=H", "=q")
    ]


@compiled
def compared(octets, at, words, place, masks, which):
    return unaligned.unlike(octets, at, words, place, masks, which)


@given(
    st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 63), st.integers(1, 255)
)
def test_octets_are_unlike_where_they_differ_in_a_bit_of_the_mask(
    at: int, place: int, which: int, spot: int, bits: int
) -> None:
    rng = np.random.default_rng(at)
    seen = rng.integers(0, 256, at + 64, np.uint8)  # nothing lies behind
    words = rng.integers(0, 2**62, place + 8, np.int64)
    words[place:] = seen[at:].copy().view(np.int64)
    masks = np.full(which + 8, -1, np.int64)
    masks[which:].view(np.uint8)[spot] = 0x3C
    assert compared(seen, at, words, place, masks, which) == 0
    seen[at + spot] ^= bits
    assert (compared(seen, at, words, place, masks, which) != 0) == (bits & 0x3C != 0)
