"""Agreement criterion of two or more runs.

In every phase, of every switch port: the mean queues lie within 10 % of each other, or within one
full frame (a nearly empty queue has no meaningful percentage); the utilisations lie within 0.01
of each other, that is 1 % of what the port could serve. In the whole run, of every traffic entry
with several flows: Jain's index and each flow's share of what the entry delivered lie within 0.1.
"Of each other" is the largest difference over the smallest value, so that the order of the runs
does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

QUEUE = "queue_bytes.mean"
UTILIZATION = "utilization"
SHARE = "throughput_share"
"""Of a flow: its throughput over that of its traffic entry."""
QUEUE_SHARE = 0.10
QUEUE_FLOOR_BYTES = 1500
JAIN = "fairness.jain"
UTILIZATION_MARGIN = 0.01
SHARE_MARGIN = 0.1

TEXT = (
    "runs agree when in every phase the mean queues of each port are within 10 % of each other "
    "(or 1500 B), the utilisations within 0.01, and in the whole run of each traffic entry "
    "with several flows Jain's index and each flow's share of the throughput within 0.1"
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


def shares_agree(values: Sequence[float]) -> bool:
    """Are a flow's shares, or an entry's indices of Jain (ratios), close enough?"""
    return spread(values) <= SHARE_MARGIN + 1e-12


RULES = {
    QUEUE: queues_agree,
    UTILIZATION: utilizations_agree,
    SHARE: shares_agree,
    JAIN: shares_agree,
}
"""Metric -> do its values in several runs agree? Metrics that are not here never decide."""
PORTS = (QUEUE, UTILIZATION)
"""Those of switch ports; the others are of traffic."""


def shares(table: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """Flow -> its share of the throughput of its traffic entry, of entries with several flows that
    delivered anything; `table` is entity -> metrics of one phase."""
    flows: dict[str, dict[str, float]] = {}
    for entity, metrics in table.items():
        entry, dot, number = entity.rpartition(".")
        value = metrics.get("throughput_bps")
        if dot and number.isdigit() and JAIN in table.get(entry, {}) and value is not None:
            flows.setdefault(entry, {})[entity] = float(value)
    found: dict[str, float] = {}
    for of in flows.values():
        total = sum(of.values())
        if len(of) > 1 and total > 0:
            found |= {entity: value / total for entity, value in of.items()}
    return found
