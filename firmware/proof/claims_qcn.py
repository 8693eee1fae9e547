"""Claims that the blocks of QCN's congestion point and of PAUSE equal their kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware.proof.btor2 import System
from firmware.proof.cutpoints import Draws, Quantises, Spreads
from firmware.proof.kernel_bitvectors import KernelVectors, Prepare, function_of, kernel_of
from firmware.proof.module_claims import Find, Question, narrow, register_claim, wide
from firmware.proof.symbolic_bench import SymbolicBench
from firmware.proof.term_graph import Term, Terms
from firmware.proof.uninterpreted_functions import lfsr_draw
from firmware.proof.uninterpreted_functions import spread as spread_of
from firmware.proof.z3_solver import z3
from orchestrator.engine.node_api import QUANTUM_PS, quanta_time
from orchestrator.engine.records import NEVER

WORD = (0, (1 << 32) - 1)
BY_CUTS = "its parts' results by their names, a lemma for each of them where it lies"
SHORT = (0, (1 << 16) - 1)


@register_claim(
    "qcn_quantiser",
    "feedback, offset and delta of a sample are those of qcn-cp's kernel",
    "all; a set point above 0",
    by=BY_CUTS,
)
def qcn_quantiser(system: System, find: Find) -> Iterator[Question]:
    bench = SymbolicBench(system, cuts=[Quantises()]).start(state=0)
    names = ("queue_bytes", "old", "set_point", "weight")
    queue, old, point, weight = (system.free(name, "") for name in names)
    given = dict(zip(names, (queue, old, point, weight), strict=True))
    bench.clock(rst=0, start=1, **given)
    outputs = bench.wait("done", 19, rst=0, start=0, **given)
    sampled = _sampled(find, queue, old, point, weight)
    for name, width in (("feedback", 6), ("offset", 33), ("delta", 33)):
        bench.expect(outputs, name, narrow(sampled.values[f"message.{name}"], width))
    bench.expect_register("state", 0)
    facts = [point != 0, *sampled.facts]
    yield Question("a sample", bench, facts, definitions=sampled.definitions)
    bench = SymbolicBench(system).start(state=0)
    bench.clock(rst=0, start=0)
    bench.expect_register("state", 0)
    bench.expect_register("done", 0)
    yield Question("idleness", bench)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    bench.expect_register("state", 0)
    bench.expect_register("done", 0)
    yield Question("a reset", bench)


def _sampled(find: Find, queue: Any, old: Any, point: Any, weight: Any) -> KernelVectors:
    """The kernel's result for a sample."""
    return kernel_of(
        find("congestion_point", "qcn-cp"),
        "arrival",
        {
            "queue.bytes": (wide(queue), WORD),
            "state.old": (wide(old), WORD),
            "params.set_point": (wide(point), (1, (1 << 30) - 1)),
            "params.weight": (wide(weight), (0, 127)),
            "state.countdown": 0,
            "state.started": 1,
            "frame.length": 60,
            "state.lfsr": 1,
            "params.sampling": 0,
            "params.counts": 1,
            "params.keep_alive": 0,
            "params.jitter": 0,
            "params.tell": 0,
            "params.searches": 0,
            "params.sample_base": 1,
        },
        ["message.feedback", "message.offset", "message.delta"],
        by_name=True,
    )


@register_claim(
    "qcn_sampler",
    "a frame counts down as in qcn-cp; below 0 a sample is due, and its interval is that of "
    "its feedback, spread by `jittered` of the next draw",
    "all; a reload at least five clocks behind the sample",
    by=BY_CUTS,
)
def qcn_sampler(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = SymbolicBench(system).start(state=0)
    before, length = bench.now["from"], system.free("count_length", "")
    bench.clock(rst=0, clear=0, count_valid=1, count_length=length)
    left = before - wide(length, 33)
    below = z.Extract(32, 32, left)
    for name, value in (("from", left), ("started", 1), ("due", below)):
        bench.expect_register(name, value)
    bench.expect_register("state", wide(below, 2))
    yield Question("a frame", bench)
    for spread in (0, 1):
        yield _reload(system, spread)
    bench = SymbolicBench(system).start()
    intervals, seed = system.free("intervals", ""), system.free("seed", "")
    bench.clock(rst=0, clear=1, intervals=intervals, seed=seed)
    first = wide(z.Extract(29, 0, intervals), 33)
    fresh = z.If(seed == 0, z.BitVecVal(1, 32), seed)
    for name, value in (("state", 0), ("started", 0), ("from", first), ("source.value", fresh)):
        bench.expect_register(name, value)
    for name in ("jitter.state", "jitter.share_of.busy", "jitter.done", "spread", "due"):
        bench.expect_register(name, 0)
    yield Question("a clear", bench)


def _reload(system: System, spread: int) -> Question:
    """Question from a due sample until the next interval is set."""
    z = z3()
    still = {"rst": 0, "clear": 0}
    quiet = {**still, "jitter_on": spread, "count_valid": 0}
    idle = {"jitter__state": 0, "jitter__share_of__busy": 0, "jitter__done": 0, "spread": 0}
    cuts = [Draws("source.advance.", value="source.value"), Spreads("jitter.", still)]
    bench = SymbolicBench(system, str(spread), cuts=cuts).start(state=1, started=1, **idle)
    value = bench.now["source.value"]
    for _ in range(4):
        bench.clock(**quiet, reload=0)
    feedback, intervals = system.free("reload_feedback", ""), system.free("intervals", "")
    bench.clock(**quiet, reload=1, reload_feedback=feedback, intervals=intervals)
    interval = z.BitVecVal(0, 30)
    for place in range(8):
        here = z.Extract(5, 3, feedback) == place
        interval = z.If(here, z.Extract(30 * place + 29, 30 * place, intervals), interval)
    bench.wait("count_ready", 40 if spread else 2, **quiet)
    if not spread:
        bench.expect_register("from", wide(interval, 33))
        bench.expect_register("source.value", value)
        return Question("an interval", bench)
    word = lfsr_draw(wide(value))
    bench.expect_register("source.value", narrow(word, 32))
    bench.expect_register("from", narrow(spread_of(wide(interval), word), 33))
    return Question("a spread interval", bench)


def _exact_quantum(quantum: Any) -> Prepare:
    """Facts for a quantum of a whole number of ps: QUANTUM_PS // rate is `quantum` without a
    remainder, and (rate - 1) // rate is 0."""

    def prepare(terms: Terms, rate: Term) -> dict[int, Any]:
        ps, one = terms.const(QUANTUM_PS), terms.const(1)
        terms.is_worth(0, "mod", ps, rate)
        terms.is_worth(0, "div", terms.make("sub", rate, one), rate)
        return {id(terms.make("div", ps, rate)): wide(quantum)}

    return prepare


def _lasting(quanta: Any, quantum: Any) -> tuple[Any, list[Any]]:
    """Vector of `quanta_time` at such a rate."""
    z = z3()
    rate = z.BitVec("rate", 64)
    lasts = function_of(
        quanta_time, [(wide(quanta), SHORT), (rate, (125_000, 10**13))], _exact_quantum(quantum)
    )
    return lasts.values["result"], [rate >= 125_000, rate <= 10**13, *lasts.facts]


@register_claim(
    "pause_timer",
    "a class is silent until quanta_time after the frame, and no longer; else as the host says",
    "all, 8 classes; times below 2^61 ps, a quantum of whole ps",
)
def pause_timer(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = SymbolicBench(system).start(received=0)
    now, quantum = system.free("now", "0"), system.free("quantum", "")
    quanta, classes = system.free("quanta", ""), system.free("classes", "")
    later = system.free("now", "2")
    untils = bench.now["until_ps"]
    bench.clock(
        rst=0, hold_valid=0, pause_valid=1, now=now, quantum=quantum, quanta=quanta, classes=classes
    )
    bench.clock(rst=0, hold_valid=0, pause_valid=0)
    bench.clock(rst=0, hold_valid=0, pause_valid=0, now=later)
    facts, ends, silent = [z.ULT(now, 1 << 61)], [], []
    for place in range(8):
        lasts, more = _lasting(z.Extract(16 * place + 15, 16 * place, quanta), quantum)
        facts += more
        named = z.Extract(place, place, classes) == 1
        before = z.Extract(62 * place + 61, 62 * place, untils)
        ends.append(z.If(named, now + narrow(lasts, 62), before))
        one, none = z.BitVecVal(1, 1), z.BitVecVal(0, 1)
        silent.append(z.If(z.ULT(later, ends[-1]), one, none))
    bench.expect_register("until_ps", z.Concat(*ends[::-1]))
    bench.expect_register("paused", z.Concat(*silent[::-1]))
    yield Question("a frame", bench, facts)
    bench = SymbolicBench(system).start()
    held = system.free("hold", "")
    bench.clock(rst=0, hold_valid=1, hold=held)
    bench.expect_register("until_ps", z.If(held == 1, z.BitVecVal(-1, 496), z.BitVecVal(0, 496)))
    yield Question("the host's word", bench)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    for name in ("until_ps", "paused", "received"):
        bench.expect_register(name, 0)
    yield Question("a reset", bench)


@register_claim(
    "pause_control",
    "PAUSE is asked for, with which quanta, and the timer set, as by the kernels of `pause`",
    "all; times below 2^61 ps, a quantum of whole ps, quanta and quantum held for a clock before",
    by="directly, products by their names",
)
def pause_control(system: System, find: Find) -> Iterator[Question]:
    for event, went_in in (("enqueue", 1), ("dequeue", 0), ("timer", None)):
        yield _pause_event(system, find, event, went_in)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    for name in ("pause_valid", "stopped", "timer_set"):
        bench.expect_register(name, 0)
    yield Question("a reset", bench)


def _pause_event(system: System, find: Find, event: str, went_in: int | None) -> Question:
    z = z3()
    system.by_name = True
    bench = SymbolicBench(system, event).start()
    quanta, quantum = system.free("quanta", ""), system.free("quantum", "")
    bench.clock(rst=0, event_valid=0, quanta=quanta, quantum=quantum, pause_ready=1, now=0)
    high, low, now = (system.free(name, "") for name in ("high", "low", "event_now"))
    queue = system.free("event_queue", "")
    stopped, timer, timer_set = (bench.now[name] for name in ("stopped", "timer", "timer_set"))
    lasts, facts = _lasting(quanta, quantum)
    half = z.BitVec(f"half_{event}", 64)
    facts += [half == z.LShR(lasts, 1), z.ULT(now, 1 << 61), z.ULT(timer, 1 << 61)]
    due = z.And(timer_set == 1, z.ULE(timer, now))
    facts.append(due if went_in is None else z.BoolVal(True))
    fields = {"quanta": quanta, "quantum": quantum, "high": high, "low": low, "pause_ready": 1}
    if went_in is None:
        bench.clock(rst=0, event_valid=0, now=now, **fields)
    else:
        events = {"event_in": went_in, "event_queue": queue, "event_now": now}
        bench.clock(rst=0, event_valid=1, **events, **fields)
    kernel = kernel_of(
        find("pause", "pause"),
        event,
        {
            "now": (wide(timer if went_in is None else now), (0, 1 << 61)),
            "queue.bytes": (wide(queue), WORD),
            "queue.pause_timer": (
                z.If(timer_set == 1, wide(timer), z.BitVecVal(NEVER, 64)),
                (0, NEVER),
            ),
            "queue.pause_rate": (z.BitVec("rate", 64), (125_000, 10**13)),
            "state.stopped": (wide(stopped), (0, 1)),
            "params.high": (wide(high), (0, (1 << 30) - 1)),
            "params.low": (wide(low), (0, (1 << 30) - 1)),
            "params.quanta": (wide(quanta), SHORT),
            "message.feedback": 0,
        },
        ["state.stopped", "queue.pause_timer", "message.feedback"],
        _exact_quantum(quantum),
        "queue.pause_rate",
        by_name=True,
    )
    asked = kernel.values["result"] != 0
    is_set = kernel.values["queue.pause_timer"] != NEVER
    said, after = bench.now, kernel.values
    goals = [
        (said["pause_valid"] == 1) == asked,
        z.Implies(asked, wide(said["pause_quanta"]) == after["message.feedback"]),
        (said["timer_set"] == 1) == is_set,
        z.Implies(z.And(asked, is_set), wide(said["timer"]) == after["queue.pause_timer"]),
    ]
    if went_in is not None:
        goals.append(wide(said["stopped"]) == after["state.stopped"])
    return Question(f"a frame: {event}", bench, [*facts, *kernel.facts], goals)
