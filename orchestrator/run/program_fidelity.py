"""Fidelity of programs, which have a clock of their own: CPU denied, failures, silence.

The clock of a run can be held back while the machine is busy elsewhere; that of a program cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.plan import ResolvedPlan
from orchestrator.recording import ProgramRun, Recording
from orchestrator.run.fidelity_thresholds import ORDER, VALID, grade_share

DENIED = (0.02, 0.20)
"""Share of a program's time in which it was runnable without a core, or the data path was stalled.
It may have sent less by as much: above 2 % its rate is the machine's and not the plan's; above a
fifth the run says nothing about the program."""

COMPLAINT = re.compile(r"\b(error|fatal|failed|refused|unable|unreachable|timed out)\b", re.I)
ERROR_OUTPUT = re.compile(r'^\s*"error"\s*:|^[\w./-]+: (error|fatal)\b', re.I)
"""Patterns of failures in a program's standard output: JSON, or a line with the program's name."""
LONGEST = 200


def with_program_fidelity(fidelity: dict[str, Any], ran: Sequence[ProgramRun]) -> dict[str, Any]:
    """The fidelity of a run, with the share of CPU time that its programs were denied."""
    if not ran:
        return fidelity
    held = fidelity.get("held", {}).get("share", 0.0)
    findings, waits = [], {}
    for one in ran:
        waited = (one.waited_s or 0.0) / max((one.end_ps - one.start_ps) / 1e12, 1e-9)
        what = (
            f"what program {one.name} was denied ({waited:.1%} of its time waiting for a core, "
            f"{held:.1%} for the data path)"
        )
        findings.append(grade_share(waited + held, DENIED, what, "its time"))
        waits[one.name] = {"waited_s": one.waited_s, "waited_share": waited}
    reasons = [reason for grade, reason in findings if grade != VALID]
    return fidelity | {
        "verdict": max([fidelity["verdict"], *(grade for grade, _ in findings)], key=ORDER.index),
        "reasons": [*fidelity["reasons"], *reasons],
        "programs": waits,
        "bounds": fidelity.get("bounds", {}) | {"denied_share": list(DENIED)},
    }


def program_notes(resolved: ResolvedPlan, recording: Recording) -> Iterator[str]:
    """Notes on failed or silent programs for readers of the results."""
    for ran in recording.programs:
        who = f"program {ran.name} on {ran.node}"
        complaint = _complaint(ran)
        if ran.code:
            yield f"{who} ended with code {ran.code}" + (f": {complaint}" if complaint else "")
        elif complaint:
            ended = "was ended" if ran.code is None else "ended with code 0"
            yield f"{who} {ended}, but says: {complaint}"
    for node, sent in _sent(resolved, recording).items():
        if sent == 0:
            names = ", ".join(ran.name for ran in recording.programs if ran.node == node)
            yield f"the programs of {node} ({names}) sent nothing"


def _complaint(ran: ProgramRun) -> str:
    """Last line of output that reports a failure; of a program that ended with an error code its
    last line."""
    err, out = (text.decode(errors="replace").strip().splitlines() for text in (ran.err, ran.out))
    if ran.code:
        return next(iter([*err[-1:], *out[-1:]]), "")[:LONGEST]
    said = [line for line in err if COMPLAINT.search(line)]
    said = said or [line for line in out if ERROR_OUTPUT.search(line)]
    return said[-1].strip()[:LONGEST] if said else ""


def _sent(resolved: ResolvedPlan, recording: Recording) -> dict[str, int]:
    """Node -> frames that its programs have sent, of nodes that have any."""
    entries = {name for name, use in resolved.uses["traffic"].items() if use.algorithm.programs}
    sent = {ran.node: 0 for ran in recording.programs}
    for flow in resolved.plan.flows():
        if flow.entry in entries and flow.node in sent:
            sent[flow.node] += int(recording.column(flow.entity, "frames_sent")[-1])
    return sent
