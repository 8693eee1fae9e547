"""Diagnosis of a deviation: the broken rule, by the difference or by an explaining variant.

What a departure shows by itself comes first (a frame that is missing, that leaves twice or that was
changed, a message that went another way); then the variants of the reference are tried; a rule that
is merely near comes last.
"""

from __future__ import annotations

from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from orchestrator.plan import Nic
from traces.oracle.diagnosis.cnm_diagnosis import message
from traces.oracle.diagnosis.diagnosis_case import SOON_NS, Case, Diagnosis, kind_of
from traces.oracle.diagnosis.frame_diagnosis import single_frame
from traces.oracle.diagnosis.nic_diagnosis import sender
from traces.oracle.diagnosis.pause_diagnosis import pause, queue

__all__ = ["Case", "Diagnosis", "diagnose"]


def diagnose(case: Case) -> Diagnosis:
    """Name the rule."""
    alone = single_frame(case)
    if alone is not None:
        return alone
    kind = _odd_kind(case)
    if kind in (PAUSE, PFC):
        return pause(case.departure)
    if kind == CNM:
        return message(case)
    if isinstance(case.resolved.plan.nodes[case.departure.node], Nic):
        return sender(case)
    return queue(case)


def _odd_kind(case: Case) -> int:
    """The kind of frame that is wrong: PAUSE before messages before data, where two differ."""
    departure = case.departure
    kinds = {kind_of(departure.expected), kind_of(departure.seen)}
    for other in departure.others:
        if other.time_ns - departure.time_ns < SOON_NS:
            kinds |= {kind_of(other.expected), kind_of(other.seen)}
    for kind in (PAUSE, PFC, CNM):
        if kind in kinds:
            return kind
    return DATA
