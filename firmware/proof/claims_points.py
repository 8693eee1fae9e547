"""Claim that QCN's congestion point as a whole equals its kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware.proof.btor2 import System
from firmware.proof.claims_qcn import BY_CUTS, WORD
from firmware.proof.cutpoints import Draws, Quantises, Spreads
from firmware.proof.kernel_bitvectors import KernelVectors, kernel_of
from firmware.proof.module_claims import Find, Question, narrow, register_claim, wide
from firmware.proof.symbolic_bench import SymbolicBench
from firmware.proof.term_graph import Term, Terms
from firmware.proof.z3_solver import z3
from plugins.qcn_cp import SAMPLE_BASE, SAMPLE_INTERVALS

STILL = {"rst": 0, "clear": 0}
IDLE = {
    "sampler.state": 0,
    "sampler.due": 0,
    "sampler.spread": 0,
    "sampler.jitter.state": 0,
    "sampler.jitter.done": 0,
    "sampler.jitter.share_of.busy": 0,
    "quantiser.state": 0,
    "quantiser.done": 0,
}
QUANTISED, SPREAD, SET = 20, 40, 2
"""Clocks to the feedback of a sample; from there to its interval, with jitter and without."""


@register_claim(
    "qcn_cp",
    "a frame counts, and a sample takes its feedback, its message and its next interval, as by "
    "qcn-cp's kernel; until then no event is taken",
    "all; a set point above 0, intervals of a sample_base, parameters that stand still",
    by=BY_CUTS,
)
def qcn_cp(system: System, find: Find) -> Iterator[Question]:
    for departs in (0, 1):
        for sampling in range(4):
            yield _event(system, find, departs, sampling)
            if (sampling == 2) == bool(departs):
                for jitter in (0, 1):
                    yield _sample(system, find, departs, sampling, jitter)
    bench = _begin(system, "idle", [])
    interval = narrow(system.free("intervals", ""), 30)
    begun = bench.now["sampler.started"] == 1
    before = bench.now["sampler.from"]
    held = {name: bench.now[name] for name in ("sampler.source.value", "sampler.started", "old")}
    outputs = bench.clock(**STILL, event_valid=0, intervals=system.free("intervals", ""))
    bench.expect(outputs, "event_ready", 1)
    for name, value in {**IDLE, **held, "message_valid": 0}.items():
        bench.expect_register(name, value)
    bench.expect_register("sampler.from", z3().If(begun, before, wide(interval, 33)))
    yield Question("idleness", bench)
    for name in ("rst", "clear"):
        yield _cleared(system, name)


def _cleared(system: System, name: str) -> Question:
    z = z3()
    bench = SymbolicBench(system, name).start()
    intervals, seed = system.free("intervals", ""), system.free("seed", "")
    bench.clock(**{"rst": 0, "clear": 0, name: 1}, intervals=intervals, seed=seed)
    fresh = z.If(seed == 0, z.BitVecVal(1, 32), seed) if name == "clear" else 1
    first = wide(narrow(intervals, 30), 33)
    begun = {"old": 0, "sampler.started": 0, "sampler.from": first, "sampler.source.value": fresh}
    for register, value in {**IDLE, **begun}.items():
        bench.expect_register(register, value)
    return Question(f"a {'reset' if name == 'rst' else name}", bench)


def _begin(system: System, mark: str, cuts: list[Any]) -> SymbolicBench:
    """Assumptions between two events: no sample in progress, remaining count not negative."""
    bench = SymbolicBench(system, mark, cuts=cuts)
    bench.start(**{name.replace(".", "__"): value for name, value in IDLE.items()})
    z, left = z3(), bench.now["sampler.from"]
    first = wide(narrow(system.free("intervals", ""), 30), 33)
    bench.assumed += [left >= 0, z.Implies(bench.now["sampler.started"] == 0, left == first)]
    return bench


def _fields(system: System) -> dict[str, Any]:
    names = ("set_point", "weight", "intervals", "counts_arriving")
    return {name: system.free(name, "") for name in names}


def _event_clock(bench: SymbolicBench, departs: int, sampling: int) -> dict[str, Any]:
    """The clock of an event."""
    names = ("event_length", "event_queue", "event_capacity")
    event = {name: bench.system.free(name, "") for name in names}
    given = {"event_valid": 1, "event_departure": departs, "sampling": sampling}
    bench.expect(bench.clock(**STILL, **given, **event, **_fields(bench.system)), "event_ready", 1)
    return event


def _kernel(
    find: Find,
    bench: SymbolicBench,
    event: dict[str, Any],
    departs: int,
    sampling: int,
    jitter: int,
) -> KernelVectors:
    z, fields, begin = z3(), _fields(bench.system), bench.begin
    started = begin["sampler.started"] == 1
    left = z.If(started, wide(begin["sampler.from"]), z.BitVecVal(0, 64))
    base = narrow(fields["intervals"], 30)

    def intervals(terms: Terms, sample_base: Term) -> dict[int, Any]:
        found = {}
        for place, octets in enumerate(SAMPLE_INTERVALS):
            scaled = terms.make("mul", terms.const(octets), sample_base)
            term = terms.make("div", scaled, terms.const(SAMPLE_BASE))
            part = z.Extract(30 * place + 29, 30 * place, fields["intervals"])
            found[id(term)] = wide(part)
        return found

    given: dict[str, Any] = {
        "queue.bytes": (wide(event["event_queue"]), WORD),
        "queue.capacity": (wide(event["event_capacity"]), WORD),
        "frame.length": (wide(event["event_length"]), (0, (1 << 16) - 1)),
        "state.old": (wide(begin["old"]), WORD),
        "state.countdown": (left, (0, (1 << 32) - 1)),
        "state.started": (wide(begin["sampler.started"]), (0, 1)),
        "state.lfsr": (wide(begin["sampler.source.value"]), WORD),
        "params.set_point": (wide(fields["set_point"]), (1, (1 << 30) - 1)),
        "params.weight": (wide(fields["weight"]), (0, 127)),
        "params.sample_base": (wide(base), (0, (1 << 30) - 1)),
        "params.counts": (wide(fields["counts_arriving"]), (0, 1)),
        "params.sampling": sampling,
        "params.jitter": jitter,
        "params.keep_alive": 0,
        "params.tell": 0,
        "params.searches": 0,
        "message.feedback": 0,
        "message.offset": 0,
        "message.delta": 0,
        "message.mark": 1,
    }
    wanted = [f"state.{name}" for name in ("old", "countdown", "started", "lfsr")]
    wanted += [f"message.{name}" for name in ("feedback", "offset", "delta", "mark")]
    algorithm = find("congestion_point", "qcn-cp")
    name = "departure" if departs else "arrival"
    return kernel_of(algorithm, name, given, wanted, intervals, "params.sample_base", by_name=True)


def _takes_sample(kernel: KernelVectors) -> Any:
    """Condition that the kernel takes a sample: it then overwrites the mark, with
    `params.searches`."""
    return kernel.values["message.mark"] == 0


def _state(bench: SymbolicBench, kernel: KernelVectors) -> None:
    """Expect the kernel's state after the last clock, and no sample in progress."""
    started = narrow(kernel.values["state.started"], 1)
    count = narrow(kernel.values["state.countdown"], 33)
    first = wide(narrow(bench.system.free("intervals", ""), 30), 33)
    bench.expect_register("old", narrow(kernel.values["state.old"], 32))
    bench.expect_register("sampler.started", started)
    bench.expect_register("sampler.from", z3().If(started == 1, count, first))
    bench.expect_register("sampler.source.value", narrow(kernel.values["state.lfsr"], 32))
    for name, value in IDLE.items():
        bench.expect_register(name, value)


def _event(system: System, find: Find, departs: int, sampling: int) -> Question:
    """An event after which no sample is in progress: the kernel takes none either.

    If the kernel takes one, the state of a module that has just begun it is expected.
    """
    name = f"a frame that {'leaves' if departs else 'arrives'}, sampling {sampling}"
    bench = _begin(system, f"{departs}{sampling}", [])
    event = _event_clock(bench, departs, sampling)
    kernel = _kernel(find, bench, event, departs, sampling, 0)
    bench.suppose("sampler.state", 0)
    _begun(bench, kernel, event["event_length"])
    bench.expect_register("message_valid", 0)
    z, set_point = z3(), _fields(system)["set_point"]
    no_sample = z.Or(_takes_sample(kernel), kernel.values["result"] == 0)
    return Question(name, bench, [set_point != 0, *kernel.facts], [no_sample], kernel.definitions)


def _begun(bench: SymbolicBench, kernel: KernelVectors, length: Any) -> None:
    """Expect the kernel's state after one clock, or a sample in progress where the kernel takes
    one."""
    z, takes, values = z3(), _takes_sample(kernel), kernel.values
    one, none = z.BitVecVal(1, 1), z.BitVecVal(0, 1)
    before = bench.begin
    first = wide(narrow(bench.system.free("intervals", ""), 30), 33)
    started = narrow(values["state.started"], 1)
    left = z.If(started == 1, narrow(values["state.countdown"], 33), first)
    counted = before["sampler.from"] - wide(length, 33)
    random = "sampler.source.value"
    expected = {
        **IDLE,
        "old": z.If(takes, before["old"], narrow(values["state.old"], 32)),
        "sampler.started": started,
        "sampler.from": z.If(takes, counted, left),
        random: z.If(takes, before[random], narrow(values["state.lfsr"], 32)),
        "sampler.state": wide(z.If(takes, one, none), 2),
        "sampler.due": z.If(takes, one, none),
    }
    for name, value in expected.items():
        bench.expect_register(name, value)


def _sample(system: System, find: Find, departs: int, sampling: int, jitter: int) -> Question:
    """An event after which a sample is in progress, until the next event: the kernel takes one.

    If the kernel takes none, the state of an idle module is expected.
    """
    name = f"a sample of what {'leaves' if departs else 'arrives'}, sampling {sampling}"
    cuts = [
        Draws("sampler.source.advance.", value="sampler.source.value"),
        Spreads("sampler.jitter.", STILL),
        Quantises("quantiser.", STILL),
    ]
    bench = _begin(system, f"{departs}{sampling}{jitter}", cuts)
    event = _event_clock(bench, departs, sampling)
    bench.suppose("sampler.state", 1)
    bench.suppose("sampler.due", 1)
    kernel = _kernel(find, bench, event, departs, sampling, jitter)
    z, takes = z3(), _takes_sample(kernel)
    values, notified = kernel.values, kernel.values["result"]
    held = {**STILL, **_fields(system), "sampling": sampling, "jitter_on": jitter}
    for place in range(QUANTISED + (SPREAD if jitter else SET) - 1):
        outputs = bench.clock(**held)
        bench.expect(outputs, "event_ready", z.If(takes, z.BitVecVal(0, 1), 1))
        if place != QUANTISED:
            bench.expect(outputs, "message_valid", 0)
            continue
        bench.expect(outputs, "message_valid", z.If(notified != 0, z.BitVecVal(1, 1), 0))
        about = z.If(notified != 0, narrow(notified, 2), outputs["message_about"])
        bench.expect(outputs, "message_about", about)
        for field, width in (("feedback", 6), ("offset", 33), ("delta", 33)):
            found, value = outputs[f"message_{field}"], narrow(values[f"message.{field}"], width)
            bench.expect(outputs, f"message_{field}", z.If(takes, value, found))
    _state(bench, kernel)
    facts = [held["set_point"] != 0, *kernel.facts]
    spread = ", its interval spread" if jitter else ""
    return Question(f"{name}{spread}", bench, facts, definitions=kernel.definitions)
