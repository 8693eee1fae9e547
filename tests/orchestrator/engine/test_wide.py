"""Unaligned loads against Python's own reading of the same octets."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.frames import wide
from orchestrator.engine.jit import compiled


@compiled
def everything(octets, at, found):  # type: ignore[no-untyped-def]
    found[0] = wide.big16(octets, at)
    found[1] = wide.big32(octets, at)
    found[2] = wide.big64(octets, at)
    found[3] = wide.little16(octets, at)
    found[4] = wide.little32(octets, at)


@given(st.binary(min_size=8, max_size=40), st.data())
def test_loads(text, data) -> None:  # type: ignore[no-untyped-def]
    at = data.draw(st.integers(0, len(text) - 8))
    found = np.zeros(5, np.int64)
    everything(np.frombuffer(text, np.uint8).copy(), at, found)
    assert found.tolist() == [
        struct.unpack_from(form, text, at)[0] for form in (">H", ">I", ">q", "<H", "<I")
    ]
