"""Reaction points that a plan runs compiled, and what refuses the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from firmware.compiler.answer_values import answer_values, compared_with_zero, stored_values
from firmware.compiler.intermediate_form import stored_fields, used_fields
from firmware.compiler.kernel_lowering import lower_kernel
from firmware.compiler.limiter_shell import EVENTS, INPUTS, OUTPUTS, limiter_shell
from firmware.compiler.point_shell import PointShell
from firmware.proof.symbolic_state import Untranslated
from firmware.target.compiled_points import (
    WIRE_OVERHEAD,
    Lack,
    is_compiled,
    params_of,
    refusals,
)
from orchestrator.algorithm import Algorithm
from orchestrator.capability import Capability
from orchestrator.engine.kernel_answers import NOTHING
from orchestrator.engine.records import CNM, CNP
from orchestrator.errors import Refused
from orchestrator.plan import Nic, ResolvedPlan
from orchestrator.target import Target

KIND = "reaction_point"
EVENT_CLOCKS = 8
"""Clocks of an event besides its kernel: the shell's own states, and the token bucket."""
MESSAGES = frozenset({CNM, CNP})
"""Kinds of messages that a NIC of gateware receives."""
SENDERS = ("congestion_point", "notification_point")
MISSING = {
    "acked": "a transport's acknowledgements",
    "lost": "a transport's losses",
    "start": "limiters from a flow's start on",
    "started": "limiters from a flow's start on",
    "bound": "the binding of a limiter as an event",
    "ended": "the end of a flow as an event",
}
"""Event -> the shell that it would need."""


def limiters_of(resolved: ResolvedPlan, node: str) -> PointShell | None:
    """Shell of a NIC's reaction points; None where it has none, or modules by hand do."""
    use = resolved.uses.get(KIND, {}).get(node)
    if use is None or not is_compiled(resolved, use.algorithm):
        return None
    return limiter_shell(use.algorithm)


def receives_cnps(resolved: ResolvedPlan) -> bool:
    """True if a compiled reaction point of the plan may get CNPs, which pass queues of switches."""
    compiled = any(limiters_of(resolved, holder) for holder in resolved.uses.get(KIND, {}))
    return compiled and bool(resolved.uses.get("notification_point"))


def _lacks(resolved: ResolvedPlan, holder: str, clock_hz: int) -> Iterator[str]:
    algorithm: Algorithm = resolved.uses[KIND][holder].algorithm
    if not isinstance(resolved.plan.nodes[holder], Nic):
        yield "no shell has limiters outside of NICs"
        return
    if needs := algorithm.lacks(frozenset({Capability.KERNELS})):
        yield f"no shell of a compiled reaction point has {' and '.join(needs)}"
        return
    others = [event for event in algorithm.kernels if event not in EVENTS]
    if others or algorithm.timers:
        names = ", ".join((*others, *algorithm.timers))
        shells = {MISSING[event] for event in others if event in MISSING}
        shells |= {"named timers"} if algorithm.timers else set()
        yield f"it has the kernels {names}, and no shell has {' and '.join(sorted(shells))}"
        return
    if "feedback" not in algorithm.kernels:
        yield "the shell of a compiled reaction point needs a kernel 'feedback'"
        return
    found = [*_form_lacks(algorithm, resolved, holder), *_message_lacks(resolved)]
    yield from found
    if not found:
        yield from _clock_lacks(resolved, holder, clock_hz)


def _form_lacks(algorithm: Algorithm, resolved: ResolvedPlan, holder: str) -> Iterator[str]:
    for event in algorithm.kernels:
        try:
            form = lower_kernel(algorithm, event)
        except Untranslated as refused:
            yield f"its kernel {event!r} does not compile: {refused}"
            continue
        stored = {field for field in stored_fields(form.body) if field.record != "state"}
        for field in sorted(used_fields(form.body) | stored, key=str):
            if field.size:
                yield f"the shell of a compiled reaction point has no array {field}"
            elif field.record in INPUTS and field.name not in INPUTS[field.record]:
                yield f"the shell of a compiled reaction point has no {field}"
            elif field in stored and field.name not in OUTPUTS.get(field.record, set()):
                yield f"no shell lets a reaction point set {field}"
        if not compared_with_zero(form, "limiter.backlog"):
            yield f"its kernel {event!r} counts limiter.backlog, and the shell knows if it is 0"
        answers = answer_values(form, params_of(resolved, holder, KIND))
        if answers != frozenset({NOTHING}):
            yield f"its kernel {event!r} sends probes, and no shell of a reaction point does"


def _message_lacks(resolved: ResolvedPlan) -> Iterator[str]:
    """Refusals for messages that a NIC of gateware does not receive."""
    for kind in SENDERS:
        for holder, use in resolved.uses.get(kind, {}).items():
            for event in use.algorithm.kernels:
                try:
                    form = lower_kernel(use.algorithm, event)
                except Untranslated:
                    name = use.algorithm.name
                    yield f"the messages of {name} are not known: {event!r} does not compile"
                    continue
                params = params_of(resolved, holder, kind)
                kinds = stored_values(form, "message.kind", params)
                if kinds is None or not kinds <= MESSAGES:
                    yield f"{use.algorithm.name} sends other messages than CNMs and CNPs"


def _clock_lacks(resolved: ResolvedPlan, holder: str, clock_hz: int) -> Iterator[str]:
    """Refusal where each frame and a message for it take more clocks than there are."""
    shell = limiter_shell(resolved.uses[KIND][holder].algorithm)
    plan = resolved.plan
    flows = [flow for flow in plan.flows() if flow.node == holder]
    octets = min((plan.traffic[flow.entry].frame for flow in flows), default=1500)
    rate = max(plan.links[p.link].rate for p in plan.ports() if p.node == holder)
    clocks = 0
    for event in ("feedback", "sent"):
        if event in shell.clocks:
            most = shell.clocks[event].most
            if most is None:
                yield f"its kernel {event!r} has no bound on its clocks"
                return
            clocks += most + EVENT_CLOCKS
    needed = rate * clocks // (8 * (octets + WIRE_OVERHEAD))
    if needed > clock_hz:
        yield (
            f"its events may take {needed} clocks per second (frames of {octets} octets at "
            f"{rate / 1e9:g} Gb/s), and the node has {clock_hz}"
        )


def limiter_refusals(
    resolved: ResolvedPlan, holder: str, clock_hz: int, installed: Iterable[Target]
) -> Iterator[Refused]:
    """Refusals of a reaction point that would have to be compiled."""
    lacks = map(Lack, dict.fromkeys(_lacks(resolved, holder, clock_hz)))
    return refusals(resolved, KIND, holder, lacks, installed)
