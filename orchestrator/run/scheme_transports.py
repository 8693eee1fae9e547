"""Transports as parts of schemes: an answer of their own to marks, requests for credits, repair of
trimmed frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from orchestrator.plan import ResolvedPlan
from orchestrator.plan.entity_names import Flow

SHOWN = 4
"""So many nodes are named; there may be thousands."""


def acts_on_marks(resolved: ResolvedPlan, flow: Flow) -> bool:
    """True if the transport of a flow, or the programs that send it, ask for ECN and answer marks,
    as TCP does (RFC 3168)."""
    found = (resolved.uses[kind].get(flow.entry) for kind in ("traffic", "transport"))
    return any(use is not None and use.params.sends_ect() for use in found)


def unused_credits(
    resolved: ResolvedPlan,
    flows: Iterable[Flow],
    holders: Callable[[Flow], set[str] | None],
    counted: Callable[[str, str], int],
) -> Iterator[str]:
    """Sentences on receivers whose credits no flow waits for, and on trimming without repair.

    `holders` are the queues on the path of a flow, None through external nodes; `counted` gives a
    counter of a queue.
    """
    transports = resolved.uses["transport"]
    waited, sent_to, repaired, passed = set[str](), set[str](), set[str](), set[str]()
    for flow in flows:
        use = transports.get(flow.entry)
        ends = set(flow.members or (flow.destination,))
        on_path = holders(flow) or set()
        sent_to |= ends
        passed |= on_path
        if use is not None and getattr(use.algorithm, "waits_for_credit", False):
            waited |= ends
        if use is not None and "trimmed" in use.algorithm.kernels:
            repaired |= on_path
    receivers = resolved.uses["receiver"]
    if idle := [at for at in receivers if at in sent_to - waited]:
        yield (
            f"{receivers[idle[0]].algorithm.name} at {listed(sorted(idle))}: no flow that ends "
            'there waits for credits; set transport = { plugin = "credit" }'
        )
    for holder, use in resolved.uses["congestion_point"].items():
        if not getattr(use.algorithm, "trims", False) or holder not in passed - repaired:
            continue
        if trimmed := counted(holder, "frames_trimmed"):
            yield (
                f"{use.algorithm.name} at {holder}: {trimmed} frames were trimmed, and no "
                "transport of its flows sends their payload again; set one such as 'credit'"
            )


def listed(names: list[str]) -> str:
    """Names for people: the first few, and how many more there are."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
