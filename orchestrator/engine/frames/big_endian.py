"""Big-endian fields in a row of octets. int64 throughout, so plain Python gives the same bits."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.index_types import int64
from orchestrator.engine.jit import compiled


@compiled
def put16(octets: np.ndarray, at: int, value: int) -> None:
    """Write the low 16 bits of `value` at octet `at`."""
    octets[at] = (value >> 8) & 0xFF
    octets[at + 1] = value & 0xFF


@compiled
def put32(octets: np.ndarray, at: int, value: int) -> None:
    """Write the low 32 bits of `value` at octet `at`."""
    octets[at] = (value >> 24) & 0xFF
    octets[at + 1] = (value >> 16) & 0xFF
    octets[at + 2] = (value >> 8) & 0xFF
    octets[at + 3] = value & 0xFF


@compiled
def put48(octets: np.ndarray, at: int, value: int) -> None:
    """Write the low 48 bits of `value` at octet `at`."""
    put16(octets, at, value >> 32)
    put32(octets, at + 2, value)


@compiled
def put64(octets: np.ndarray, at: int, value: int) -> None:
    """Write `value`, two's complement, at octet `at`."""
    put32(octets, at, value >> 32)
    put32(octets, at + 4, value)


@compiled
def get16(octets: np.ndarray, at: int) -> int:
    """The unsigned 16 bits at octet `at`."""
    return (int64(octets[at]) << 8) | int64(octets[at + 1])


@compiled
def get32(octets: np.ndarray, at: int) -> int:
    """The unsigned 32 bits at octet `at`."""
    return (get16(octets, at) << 16) | get16(octets, at + 2)


@compiled
def get48(octets: np.ndarray, at: int) -> int:
    """The unsigned 48 bits at octet `at`."""
    return (get16(octets, at) << 32) | get32(octets, at + 2)


@compiled
def get64(octets: np.ndarray, at: int) -> int:
    """The two's complement 64 bits at octet `at`."""
    return (get32(octets, at) << 32) | get32(octets, at + 4)


@compiled
def signed16(value: int) -> int:
    """The number that unsigned 16 bits stand for in two's complement."""
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000


@compiled
def signed32(value: int) -> int:
    """The number that unsigned 32 bits stand for in two's complement."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
