"""Latency histograms: a bin is one of 32 equal steps within a factor of two."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.index_types import range
from orchestrator.engine.jit import binary_digits, inlined
from orchestrator.engine.node.world_arrays import LATENCY_OCTAVES, LATENCY_STEPS, World

SHIFT = LATENCY_STEPS.bit_length() - 1
BINS = LATENCY_STEPS * LATENCY_OCTAVES


@inlined
def latency_bin(value: int) -> int:
    """The bin of a latency (ps, not negative), or of a queue's length (octets); the last one holds
    everything longer."""
    octave = max(binary_digits(value) - SHIFT - 1, 0)
    return min(octave * LATENCY_STEPS + (value >> octave), BINS - 1)


@inlined
def count_latency(w: World, group: int, value: int) -> None:
    """Count one frame's latency (ps) in its traffic entry's histogram."""
    w.latency[group, latency_bin(max(value, 0))] += 1


def latency_edges() -> np.ndarray:
    """int64[BINS + 1]: bin b holds latencies in [edges[b], edges[b + 1]) ps."""
    edges = np.empty(BINS + 1, np.int64)
    for position in range(BINS + 1):
        octave = max(position // LATENCY_STEPS - 1, 0)
        edges[position] = (position - octave * LATENCY_STEPS) << octave
    return edges
