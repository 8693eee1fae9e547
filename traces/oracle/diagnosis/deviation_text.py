"""Text of a deviation: a frame in a few words, by how much it is late, a rate that differs."""

from __future__ import annotations

from orchestrator.engine.frames.type_registry import registered_types
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from traces.oracle.diagnosis.diagnosis_case import Case, kind_of
from traces.oracle.node_check import Expected, SeenFrame

STRETCH = 20
"""Frames over which a rate is compared."""
FEWEST_OF_A_RATE = 5
LEAST_SHARE = 0.002
PLAIN = (DATA, CNM, PAUSE, PFC)
"""Kinds that flow and sequence number identify; of others more fields differ."""


def identity(one: Expected | SeenFrame) -> tuple[int, ...]:
    """Identity of a frame among all others."""
    more = () if kind_of(one) in PLAIN else ("feedback", "offset", "delta", "inner")
    return tuple(int(one.frame[name]) for name in ("kind", "flow", "sequence", *more))


def frame_name(one: Expected | SeenFrame) -> str:
    """A frame in a few words: its kind, flow and sequence number."""
    kind = kind_of(one)
    name = next((t.name for t in registered_types() if t.kind == kind), "frame of an unknown type")
    if kind in (PAUSE, PFC) or int(one.frame["flow"]) < 0:
        return f"the {name}"
    return f"the {name} of flow {one.frame['flow']} (sequence {one.frame['sequence']})"


def moved_by(one: SeenFrame, other: Expected) -> str:
    """Time that a frame leaves late or early, as text."""
    late_ns = one.time_ns - other.due_ps // 1000
    return f"{abs(late_ns) / 1000:.3f} us {'late' if late_ns > 0 else 'early'}"


def another_rate(case: Case) -> str:
    """By how much the frames from the deviation on leave slower or faster; empty: by nothing."""
    due = {identity(e): e.due_ps / 1000 for e in case.expected}
    pairs = [(s.time_ns, due[identity(s)]) for s in case.seen if identity(s) in due][1:STRETCH]
    if len(pairs) < FEWEST_OF_A_RATE or pairs[-1][0] <= pairs[0][0]:
        return ""
    share = (pairs[-1][1] - pairs[0][1]) / (pairs[-1][0] - pairs[0][0]) - 1
    if abs(share) < LEAST_SHARE:
        return ""
    how = "faster" if share > 0 else "slower"
    return f"{abs(share):.1%} {how} over {len(pairs)} frames".replace("%", " %")
