"""Claims about the random source, the spread interval, multiplication and division."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware.proof.btor2 import System
from firmware.proof.cutpoints import Divides, Spreads
from firmware.proof.kernel_bitvectors import function_of
from firmware.proof.module_claims import Find, Question, narrow, register_claim, wide
from firmware.proof.symbolic_bench import SymbolicBench
from firmware.proof.uninterpreted_functions import spread
from firmware.proof.z3_solver import z3
from orchestrator.engine.lfsr import lfsr_next

WORD = (0, (1 << 32) - 1)


@register_claim("lfsr_step", "four clocks after `value`, `next` is lfsr_next of it")
def lfsr_step(system: System, find: Find) -> Iterator[Question]:
    bench = SymbolicBench(system).start()
    value = system.free("value", "")
    for _ in range(4):
        bench.clock(value=value)
    drawn = function_of(lfsr_next, [(wide(value), WORD)])
    bench.expect(bench.clock(value=value), "next", narrow(drawn.values["result"], 32))
    yield Question("a draw", bench, drawn.facts)


@register_claim(
    "lfsr32",
    "a draw is lfsr_next of the last one, a seed of 0 becomes 1, else it stands still",
    "all; a draw at least four clocks behind a load or draw",
)
def lfsr32(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = SymbolicBench(system).start()
    value = bench.now["value"]
    for _ in range(4):
        bench.expect(bench.clock(rst=0, load=0, draw=0), "value", value)
    bench.clock(rst=0, load=0, draw=1)
    drawn = function_of(lfsr_next, [(wide(value), WORD)])
    bench.expect_register("value", narrow(drawn.values["result"], 32))
    yield Question("a draw", bench, drawn.facts)
    bench = SymbolicBench(system).start()
    seed = system.free("seed", "")
    bench.clock(rst=0, load=1, seed=seed)
    bench.expect_register("value", z.If(seed == 0, z.BitVecVal(1, 32), seed))
    yield Question("a seed", bench)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    bench.expect_register("value", 1)
    yield Question("a reset", bench)


@register_claim(
    "jitter",
    "the result is `jittered` of base and draw; a reset ends what is under way",
    "all, at 30 and at 45 bits",
    by="its product by its name; a lemma for each clock of its division, and induction over them",
    sizes=({"BASE_W": 30}, {"BASE_W": 45}),
)
def jitter(system: System, find: Find) -> Iterator[Question]:
    idle = {"state": 0, "share_of__busy": 0, "done": 0}
    bench = SymbolicBench(system, cuts=[Spreads()]).start(**idle)
    base, draw = system.free("base", ""), system.free("random", "")
    bench.clock(rst=0, start=1, base=base, random=draw)
    outputs = bench.wait("done", (base.size() + 3) // 2 + draw.size() + 5, rst=0, start=0)
    result = spread(wide(base), wide(draw) << 16)
    bench.expect(outputs, "result", narrow(result, base.size() + 1))
    for name in ("state", "share_of.busy", "done"):
        bench.expect_register(name, 0)
    yield Question("a spread", bench)
    yield from _idle_and_reset(system, idle, {"start": 0})


def _idle_and_reset(
    system: System, idle: dict[str, int], quiet: dict[str, Any]
) -> Iterator[Question]:
    bench = SymbolicBench(system).start(**idle)
    bench.expect(bench.clock(rst=0, **quiet), "done", 0)
    for name, value in idle.items():
        bench.expect_register(name.replace("__", "."), value)
    yield Question("idleness", bench)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    for name, value in idle.items():
        bench.expect_register(name.replace("__", "."), value)
    yield Question("a reset", bench)


@register_claim(
    "multiply",
    "the product is the sum of a shifted to every bit that is set in b",
    "all, at the widths of its instances: 40 by 24, 30 by 16, 45 by 16, 40 by 34 bits",
    sizes=(
        {"A_W": 40, "B_W": 24, "STEP": 2},
        {"A_W": 40, "B_W": 24, "STEP": 1},
        {"A_W": 30, "B_W": 16, "STEP": 1},
        {"A_W": 45, "B_W": 16, "STEP": 1},
        {"A_W": 40, "B_W": 34, "STEP": 2},
    ),
)
def multiply(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    idle = {"busy": 0, "done": 0}
    bench = SymbolicBench(system).start(**idle)
    a, b = system.free("a", ""), system.free("b", "")
    width = a.size() + b.size()
    bench.clock(rst=0, start=1, a=a, b=b)
    outputs = bench.wait("done", b.size() // system.parameters["STEP"] + 1, rst=0)
    total = z.BitVecVal(0, width)
    for place in range(b.size()):
        part = z.If(z.Extract(place, place, b) == 1, wide(a, width) << place, 0)
        total = total + part
    bench.expect(outputs, "product", total)
    yield Question("a product", bench)
    yield from _idle_and_reset(system, idle, {"start": 0})


@register_claim(
    "divide",
    "in every clock R' + D by = 2^s R + the next s bits, R' < by, so that the quotient of all such "
    "clocks is rounded down",
    "all, at the widths of its instances: 56 by 16 bits, s 1 and 2, and 40 by 40; divisor not 0",
    by="by a lemma for each clock, and induction over all of them",
    sizes=(
        {"DIVIDEND_W": 56, "DIVISOR_W": 16, "STEP": 2},
        {"DIVIDEND_W": 56, "DIVISOR_W": 16, "STEP": 1},
        {"DIVIDEND_W": 40, "DIVISOR_W": 40, "STEP": 1},
    ),
)
def divide(system: System, find: Find) -> Iterator[Question]:
    bench = SymbolicBench(system).start(busy=0)
    dividend, divisor = system.free("dividend", ""), system.free("divisor", "")
    bench.clock(rst=0, start=1, dividend=dividend, divisor=divisor)
    for name, value in {"quotient": dividend, "by": divisor, "remainder": 0, "busy": 1}.items():
        bench.expect_register(name, value)
    bench.wait("done", dividend.size() // system.parameters["STEP"] + 1, rst=0)
    yield Question("a beginning, and how many clocks it takes", bench)
    yield Divides(step_bits=system.parameters["STEP"]).digit(SymbolicBench(system))
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    bench.expect_register("busy", 0)
    bench.expect_register("done", 0)
    yield Question("a reset", bench)


@register_claim(
    "ps_clock",
    "time goes on by the clock's period, and what is less than a ps is carried",
    "all, at 10/3 ns; a carry below a ps",
    sizes=({"NUM": 10, "DENOM": 3},),
)
def ps_clock(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = SymbolicBench(system).start()
    now, carry = bench.now["now"], bench.now["carry"]
    bench.clock(rst=0)
    before = wide(now, 80) * 3 + wide(carry, 80)
    after = wide(bench.now["now"], 80) * 3 + wide(bench.now["carry"], 80)
    facts = [z.ULT(carry, 3), z.ULT(now, (1 << 62) - 4000)]
    goals = [after == before + 10_000, z.ULT(bench.now["carry"], 3)]
    yield Question("a clock", bench, facts, goals)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    bench.expect_register("now", 0)
    bench.expect_register("carry", 0)
    yield Question("a reset", bench)
