"""Agreement criterion of two or more runs.

In every phase, of every switch port: the mean queues lie within 10 % of each other, or within one
full frame (a nearly empty queue has no meaningful percentage); the utilisations lie within 0.01
of each other, that is 1 % of what the port could serve. "Of each other" is the largest difference
over the smallest value, so that the order of the runs does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

QUEUE = "queue_bytes.mean"
UTILIZATION = "utilization"
QUEUE_SHARE = 0.10
QUEUE_FLOOR_BYTES = 1500
UTILIZATION_MARGIN = 0.01

TEXT = (
    "runs agree when in every phase the mean queues of each port are within 10 % of each other "
    "(or 1500 B) and the utilisations within 0.01"
)


def spread(values: Sequence[float]) -> float:
    """Largest difference of the values."""
    return max(values) - min(values)


def relative(values: Sequence[float]) -> float | None:
    """Largest difference over the smallest magnitude; None when that is 0 and they differ."""
    smallest = min(abs(value) for value in values)
    if smallest == 0:
        return 0.0 if spread(values) == 0 else None
    return spread(values) / smallest


def queues_agree(values: Sequence[float]) -> bool:
    """True if mean queues in bytes agree."""
    share = relative(values)
    return spread(values) <= QUEUE_FLOOR_BYTES or (share is not None and share <= QUEUE_SHARE)


def utilizations_agree(values: Sequence[float]) -> bool:
    """True if utilisations (ratios) agree."""
    return spread(values) <= UTILIZATION_MARGIN + 1e-12  # the margin itself is within


RULES = {QUEUE: queues_agree, UTILIZATION: utilizations_agree}
"""Metric -> do its values in several runs agree? Metrics that are not here never decide."""
