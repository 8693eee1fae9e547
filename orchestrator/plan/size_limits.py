"""Size limits of a plan, so that none exhausts memory or runs without end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized

from orchestrator.errors import Problem
from orchestrator.plan.external_nodes import captured
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Nic
from orchestrator.plan.units import format_duration

MOST = {
    "nodes": 12_000,
    "links": 32_000,
    "traffic": 4096,
    "phases": 1000,
    "timeline": 1000,
    "programs": 1000,
}
MOST_EXPECTATIONS = 10_000
MOST_FIGURES = 100
MOST_FLOWS = 100_000
MOST_PAIRS = 4_000_000
"""Pairs of sources and targets that one permutation may look at: 1024 nodes take a million."""
MOST_LIMITERS = 100_000
MOST_SAMPLES = 64_000_000
"""Values in the table of samples: 512 MB."""
MOST_CAPTURED = 2_000_000_000
"""Octets kept for captures."""


def section_problems(data: Mapping[str, object]) -> Iterator[Problem]:
    """Sections of a plan's data, checked or not, that have too many entries to look at each."""
    for section, most in {**MOST, "expect": MOST_EXPECTATIONS, "figure": MOST_FIGURES}.items():
        entries = data.get(section)
        if isinstance(entries, Sized) and len(entries) > most and not isinstance(entries, str):
            yield Problem(section, len(entries), f"at most {most} of them are expected")


def size_problems(plan: PlanModel) -> Iterator[Problem]:
    """Problems of size, each with the number that would be accepted."""
    too_many = list(_pairs(plan))
    if too_many:  # all that follows walks over the pairs
        yield from too_many
        return
    flows = sum(entry.count for entry in plan.traffic.values())
    if flows > MOST_FLOWS:
        yield Problem("traffic", flows, f"at most {MOST_FLOWS} flows in all are expected")
        return
    limiters = sum(n.reaction_points for n in plan.nodes.values() if isinstance(n, Nic))
    if limiters > MOST_LIMITERS:
        yield Problem("nodes", limiters, f"at most {MOST_LIMITERS} reaction points are expected")
    yield from _samples(plan, flows, limiters)
    kept = captured(plan)
    octets = len(kept) * plan.capture.frames * plan.capture.snap
    if octets > MOST_CAPTURED:
        accepted = (
            f"captures of {len(kept)} ports may keep {MOST_CAPTURED} octets in all "
            f"(ports x frames x snap); these are {octets}"
        )
        yield Problem("capture.frames", plan.capture.frames, accepted)


def _pairs(plan: PlanModel) -> Iterator[Problem]:
    """Entries whose pairs would take long to find or fill the memory, before any is made."""
    for name, entry in plan.traffic.items():
        # Twice as many as there may be flows: no end is paired with itself.
        most = MOST_PAIRS if entry.pairing == "permutation" else 2 * MOST_FLOWS
        if entry.most_pairs > most:
            accepted = f"'from' and 'to' of at most {most} pairs are expected"
            yield Problem(f"traffic.{name}", f"{entry.most_pairs} pairs", accepted)


def columns(plan: PlanModel, flows: int, limiters: int) -> int:
    """Upper estimate of the sampled quantities: 10 per port, 5 per direction, and so on."""
    return 30 * len(plan.links) + 6 * limiters + 4 * flows + 2 * len(plan.nodes)


def _samples(plan: PlanModel, flows: int, limiters: int) -> Iterator[Problem]:
    wide = columns(plan, flows, limiters)
    rows = plan.duration // plan.sample_interval + 2 * len(plan.phases) + 2
    if rows * wide > MOST_SAMPLES:
        fewer = max(1, MOST_SAMPLES // max(wide, 1) - 2 * len(plan.phases) - 2)
        least = -(-plan.duration // (fewer * 10**6)) * 10**6
        accepted = (
            f"{rows} rows of {wide} quantities are more than {MOST_SAMPLES} samples; "
            f"an interval of at least {format_duration(least)} is expected"
        )
        yield Problem("sample_interval", format_duration(plan.sample_interval), accepted)
