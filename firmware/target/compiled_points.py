"""Congestion points that a plan runs compiled, and what refuses the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firmware.compiler.answer_values import answer_values
from firmware.compiler.intermediate_form import Field, stored_fields, used_fields
from firmware.compiler.kernel_lowering import lower_kernel
from firmware.compiler.point_shell import INPUTS, OUTPUTS, PointShell, point_shell
from firmware.proof.symbolic_state import Untranslated
from orchestrator.algorithm import Algorithm
from orchestrator.capability import Capability
from orchestrator.engine.kernel_answers import DROP, FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD
from orchestrator.errors import Refused
from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.target import Target, runs_on

KIND = "congestion_point"
ANSWERS = {
    "arrival": frozenset({FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD, DROP}),
    "departure": frozenset({FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD, DROP}),
    "timer": frozenset({FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD}),
}
"""Event -> the answers that the shell carries out. At a timer no frame arrives, and NOTIFY_ARRIVING
notifies no source."""
GATES = ("arrival", "departure")
"""Events at which a frame waits for the answer, so that it can be marked."""
WIRE_OVERHEAD = 20
"""Octets of preamble and gap between frames."""
WORD = 8
"""Octets that a node moves per clock (firmware.target.model_network)."""
GATE_CLOCKS = 12
"""Clocks of an arrival besides its kernel and its words: gate, queue, the shell's own states."""
LEAVE_CLOCKS = 4


@dataclass(frozen=True)
class Lack:
    """Reason why an algorithm is not compiled into a node, and a remedy.

    `remedy`: empty, another target would do.
    """

    lack: str
    remedy: str = ""


def wanted_events(algorithm: Algorithm, resolved: ResolvedPlan, holder: str) -> tuple[str, ...]:
    """Events of a congestion point that are not needless with its parameters."""
    used = resolved.uses[KIND][holder]
    changed = any(a.kind == KIND and holder in a.entities for a in resolved.actions)
    needless = frozenset[str]() if changed else used.params.needless()
    return tuple(event for event in algorithm.kernels if event not in needless)


def compiled_switch(resolved: ResolvedPlan, node: str) -> tuple[Algorithm, tuple[str, ...]] | None:
    """Algorithm of a switch and its events, where these are compiled; None: modules by hand do."""
    holders = _holders(resolved, node)
    algorithms = [resolved.uses[KIND][holder].algorithm for holder in holders]
    if not any(is_compiled(resolved, one) for one in algorithms):
        return None
    events = {
        e for h, a in zip(holders, algorithms, strict=True) for e in wanted_events(a, resolved, h)
    }
    return algorithms[0], tuple(event for event in algorithms[0].kernels if event in events)


def shell_of(resolved: ResolvedPlan, node: str) -> PointShell | None:
    """Shell of a switch's congestion points; None where modules by hand do."""
    found = compiled_switch(resolved, node)
    return None if found is None else point_shell(*found)


def is_compiled(resolved: ResolvedPlan, algorithm: Algorithm) -> bool:
    """True if an algorithm runs from its kernels: without a module by hand, or by the option."""
    by_hand = Capability.VERILOG in algorithm.forms
    return not by_hand or getattr(resolved.options, "forms", None) == "compiled"


def _holders(resolved: ResolvedPlan, node: str) -> list[str]:
    return [h for h in resolved.uses.get(KIND, {}) if h.split(".")[0] == node]


def point_lacks(resolved: ResolvedPlan, holder: str, clock_hz: int) -> Iterator[Lack]:
    """What the shell lacks of a congestion point at an output; nothing: it runs compiled."""
    node = holder.split(".")[0]
    algorithm: Algorithm = resolved.uses[KIND][holder].algorithm
    if not isinstance(resolved.plan.nodes[node], Switch) or "verilog" in algorithm.needs:
        yield Lack("it has no module by hand and no shell for a compiled one")
        return
    if others := {resolved.uses[KIND][h].algorithm.name for h in _holders(resolved, node)} - {
        algorithm.name
    }:
        yield Lack(
            f"a switch has one compiled congestion point, and {node} has {min(others)} as well",
            "Give its ports the same plugin.",
        )
        return
    needs = algorithm.lacks(frozenset({Capability.KERNELS}))
    if needs:
        yield Lack(f"no shell of a compiled congestion point has {' and '.join(needs)}")
        return
    if algorithm.per_flow:
        yield Lack("the shell of a compiled congestion point keeps no state per flow")
        return
    events = wanted_events(algorithm, resolved, holder)
    refused = False
    for event in events:
        for lack in _event_lacks(algorithm, resolved, holder, event):
            refused = True
            yield lack
    if not refused:
        yield from _clock_lacks(resolved, holder, node, clock_hz)


def _event_lacks(
    algorithm: Algorithm, resolved: ResolvedPlan, holder: str, event: str
) -> Iterator[Lack]:
    if event not in ANSWERS:
        yield Lack(f"no shell calls the kernel {event!r} of a compiled congestion point")
        return
    try:
        form = lower_kernel(algorithm, event)
    except Untranslated as refused:
        yield Lack(f"its kernel {event!r} does not compile: {refused}")
        return
    stored = {str(field): field for field in stored_fields(form.body)}
    for field in sorted(used_fields(form.body) | set(stored.values()), key=str):
        if field.record in INPUTS and field.name not in INPUTS[field.record]:
            yield Lack(f"the shell of a compiled congestion point has no {field}")
        elif str(field) in stored and not _may_store(field, event):
            yield Lack(f"no shell lets a congestion point set {field} at {event!r}")
    values = answer_values(form, params_of(resolved, holder))
    if values is None or not values <= ANSWERS[event]:
        other = "others" if values is None else ", ".join(map(str, sorted(values - ANSWERS[event])))
        yield Lack(
            f"its kernel {event!r} answers {other}, and the shell of a compiled congestion point "
            "carries out FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD and, but at a timer, DROP"
        )


def _may_store(field: Field, event: str) -> bool:
    if field.record not in OUTPUTS:
        return field.record == "state"
    return field.name in OUTPUTS[field.record] and not (
        field.record == "frame" and event not in GATES
    )


def params_of(
    resolved: ResolvedPlan, holder: str, kind: str = KIND
) -> Mapping[str, frozenset[int]]:
    """All values that each field of the parameters has during the run."""
    record: Any = resolved.uses[kind][holder].params.record()
    found = {name: {int(record[name][0])} for name in record.dtype.names or ()}
    for action in resolved.actions:
        if action.kind == kind and holder in action.entities:
            for name, value in action.values.items():
                found.setdefault(name, set()).add(int(value))
    return {name: frozenset(values) for name, values in found.items()}


def _clock_lacks(resolved: ResolvedPlan, holder: str, node: str, clock_hz: int) -> Iterator[Lack]:
    """Refusal where the events of a port take more clocks than the node's clock has."""
    shell = shell_of(resolved, node)
    assert shell is not None
    plan = resolved.plan
    octets = min((entry.frame for entry in plan.traffic.values()), default=1500)
    rates = {p.entity: plan.links[p.link].rate for p in plan.ports() if p.node == node}
    coming = sum(rate for port, rate in rates.items() if port != holder)
    needed = 0
    wanted = wanted_events(resolved.uses[KIND][holder].algorithm, resolved, holder)
    for event, rate, own in (
        ("arrival", coming, -(-octets // WORD) + GATE_CLOCKS),
        ("departure", rates[holder], LEAVE_CLOCKS + shell.gates * -(-octets // WORD)),
    ):
        if event in wanted:
            most = shell.clocks[event].most
            if most is None:
                yield Lack(f"its kernel {event!r} has no bound on its clocks")
                return
            needed += rate * (most + own) // (8 * (octets + WIRE_OVERHEAD))
    if needed > clock_hz:
        yield Lack(
            f"its events may take {needed} clocks per second (frames of {octets} octets, "
            f"{coming / 1e9:g} Gb/s), and the node has {clock_hz}",
            "Use longer frames, slower links or fewer.",
        )


def compiled_refusals(
    resolved: ResolvedPlan, holder: str, clock_hz: int, installed: Iterable[Target]
) -> Iterator[Refused]:
    """Refusals of a congestion point that would have to be compiled."""
    return refusals(resolved, KIND, holder, point_lacks(resolved, holder, clock_hz), installed)


def refusals(
    resolved: ResolvedPlan,
    kind: str,
    holder: str,
    lacks: Iterable[Lack],
    installed: Iterable[Target],
) -> Iterator[Refused]:
    """What keeps an algorithm of a node from being compiled, as refusals."""
    algorithm = resolved.uses[kind][holder].algorithm
    for one in lacks:
        yield Refused(
            f"target gateware: {holder}",
            f"the {kind} {algorithm.name} does not run on gateware: {one.lack}",
            one.remedy or runs_on(algorithm, installed),
        )
