"""Contents of a pcapng file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traces.capture.interface import Interface


@dataclass
class Capture:
    """Frames of a file, in file order.

    `interface` int64[n] indexes `interfaces`; `times_ns` int64[n] since 1970; `lengths` int64[n]
    on the wire; `kept` int64[n] in the file; `octets` uint8[n, max kept], zero-padded;
    `direction` int8[n]: 0 unknown, 1 in, 2 out.
    """

    interfaces: list[Interface]
    interface: np.ndarray
    times_ns: np.ndarray
    lengths: np.ndarray
    kept: np.ndarray
    octets: np.ndarray
    direction: np.ndarray


def joined(interfaces: list[Interface], batches: Sequence[Capture]) -> Capture:
    """Several captures of the same interfaces as one, in that order."""
    if len(batches) == 1:
        return batches[0]
    width = max((batch.octets.shape[1] for batch in batches), default=0)
    none = np.zeros(0, np.int64)
    whole = {
        name: np.concatenate([none, *(getattr(batch, name) for batch in batches)])
        for name in ("interface", "times_ns", "lengths", "kept", "direction")
    }
    octets = [
        np.pad(batch.octets, ((0, 0), (0, width - batch.octets.shape[1]))) for batch in batches
    ]
    return Capture(
        interfaces=interfaces,
        octets=np.concatenate([np.zeros((0, width), np.uint8), *octets]),
        **whole,
    )
