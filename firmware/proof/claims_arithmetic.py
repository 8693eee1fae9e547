"""Claims of the random source, of spreading, and of multiplying and dividing by the bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware.proof.bench import Bench
from firmware.proof.btor import System
from firmware.proof.claims import Find, Question, claim, narrow, until, wide
from firmware.proof.equal import function_of
from firmware.proof.smt import z3
from orchestrator.engine.lfsr import jittered, lfsr_next

WORD = (0, (1 << 32) - 1)


@claim("lfsr_step", "four clocks after `value`, `next` is lfsr_next of it")
def lfsr_step(system: System, find: Find) -> Iterator[Question]:
    bench = Bench(system).start()
    value = system.free("value", "")
    for _ in range(4):
        bench.clock(value=value)
    drawn = function_of(lfsr_next, [(wide(value), WORD)])
    bench.expect(bench.clock(value=value), "next", narrow(drawn.values["result"], 32))
    yield Question("a draw", bench, drawn.facts)


@claim(
    "lfsr32",
    "a draw is lfsr_next of the last one, a seed of 0 becomes 1, else it stands still",
    "all; a draw at least four clocks behind a load or draw",
)
def lfsr32(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = Bench(system).start()
    value = bench.now["value"]
    for _ in range(4):
        bench.expect(bench.clock(rst=0, load=0, draw=0), "value", value)
    bench.clock(rst=0, load=0, draw=1)
    drawn = function_of(lfsr_next, [(wide(value), WORD)])
    bench.expect_register("value", narrow(drawn.values["result"], 32))
    yield Question("a draw", bench, drawn.facts)
    bench = Bench(system).start()
    seed = system.free("seed", "")
    bench.clock(rst=0, load=1, seed=seed)
    bench.expect_register("value", z.If(seed == 0, z.BitVecVal(1, 32), seed))
    yield Question("a seed", bench)
    bench = Bench(system).start()
    bench.clock(rst=1)
    bench.expect_register("value", 1)
    yield Question("a reset", bench)


@claim(
    "jitter",
    "the result is `jittered` of base and draw; a reset ends what is under way",
    "all, at 30 bits",
    by="by a lemma for each clock of its division, and induction over 16 of them",
    BASE_W=30,
)
def jitter(system: System, find: Find) -> Iterator[Question]:
    idle = {"state": 0, "share_of__busy": 0, "done": 0}
    yield _digit(system)
    yield _divided(system, idle)
    yield _spread(system)
    yield from _idle_and_reset(system, idle, {"start": 0})


def _digit(system: System) -> Question:
    """One clock of dividing 3 base by 10: {R, two bits} = 10 digit + R', R' below 10."""
    z = z3()
    bench = Bench(system, "digit").start(state=1)
    rest, digits = bench.now["rest"], bench.now["width"]
    kept = {name: bench.now[name] for name in ("centre", "draw")}
    bench.clock(rst=0)
    after, more = bench.now["rest"], bench.now["width"]
    goals = [
        wide(z.Extract(1, 0, more), 8) * 10 + wide(after, 8)
        == wide(rest, 8) * 4 + wide(z.Extract(31, 30, digits), 8),
        z.ULT(after, 10),
        z.Extract(31, 2, more) == z.Extract(29, 0, digits),
        *(bench.now[name] == value for name, value in kept.items()),
    ]
    return Question("a clock of dividing", bench, [z.ULT(rest, 10)], goals)


def _divided(system: System, idle: dict[str, int]) -> Question:
    """It begins with 3 base and no rest, and divides for 16 clocks: all of its digits."""
    z = z3()
    bench = Bench(system, "divided").start(**idle)
    base, draw = system.free("base", ""), system.free("random", "")
    bench.clock(rst=0, start=1, base=base, random=draw)
    for name, value in (("rest", 0), ("centre", base), ("draw", draw), ("multiplied", 0)):
        bench.expect_register(name, value)
    bench.expect_register("width", wide(base, 32) * 3)
    for _ in range(16):
        assert bench.now["state"].as_long() == 1, "it divides for 16 clocks"
        bench.clock(rst=0)
    assert z.is_bv_value(bench.now["state"]), "its state is known"
    bench.expect_register("state", 2)
    bench.expect_register("share_of.busy", 0)
    return Question("how many clocks it divides", bench)


def _spread(system: System) -> Question:
    """From the quotient on the result is that of `jittered`."""
    z = z3()
    ready = {"state": 2, "multiplied": 0, "share_of__busy": 0, "share_of__done": 0, "done": 0}
    bench = Bench(system, "spread").start(**ready)
    width, base, draw = (bench.now[name] for name in ("width", "centre", "draw"))
    three = wide(base, 40) * 3
    rest = three - wide(width, 40) * 10
    outputs = until(bench, "done", 40, rst=0, start=0)
    widened = wide(base), (0, (1 << 30) - 1)
    upper = wide(z.Concat(draw, z.BitVecVal(0, 16))), WORD
    result = function_of(jittered, [widened, upper])
    bench.expect(outputs, "result", narrow(result.values["result"], 31))
    for name in ("state", "share_of.busy", "done"):
        bench.expect_register(name, 0)
    facts = [z.ULT(width, 1 << 29), z.ULE(wide(width, 40) * 10, three), z.ULT(rest, 10)]
    return Question("the spread", bench, [*facts, *result.facts])


def _idle_and_reset(
    system: System, idle: dict[str, int], quiet: dict[str, Any]
) -> Iterator[Question]:
    bench = Bench(system).start(**idle)
    bench.expect(bench.clock(rst=0, **quiet), "done", 0)
    for name, value in idle.items():
        bench.expect_register(name.replace("__", "."), value)
    yield Question("idleness", bench)
    bench = Bench(system).start()
    bench.clock(rst=1)
    for name, value in idle.items():
        bench.expect_register(name.replace("__", "."), value)
    yield Question("a reset", bench)


@claim(
    "multiply",
    "the product is the sum of a shifted to every bit that is set in b",
    "all, 40 by 24 bits",
)
def multiply(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    idle = {"busy": 0, "done": 0}
    bench = Bench(system).start(**idle)
    a, b = system.free("a", ""), system.free("b", "")
    bench.clock(rst=0, start=1, a=a, b=b)
    outputs = until(bench, "done", 100, rst=0)
    total = z.BitVecVal(0, 64)
    for place in range(24):
        part = wide(a) << place
        total = total + z.If(z.Extract(place, place, b) == 1, part, z.BitVecVal(0, 64))
    bench.expect(outputs, "product", total)
    yield Question("a product", bench)
    yield from _idle_and_reset(system, idle, {"start": 0})


@claim(
    "divide",
    "in every clock R' + D by = 4 R + the next two bits, R' < by, so that the quotient of "
    "28 such clocks is rounded down",
    "all, 56 by 16 bits, divisor not 0",
    by="by a lemma for each clock, and induction over 28 of them",
)
def divide(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = Bench(system).start(busy=1)
    rest, by, quotient = (bench.now[name] for name in ("remainder", "by", "quotient"))
    bench.clock(rst=0)
    after, digits = bench.now["remainder"], bench.now["quotient"]
    taken = wide(z.Extract(1, 0, digits), 20) * wide(by, 20)
    before = wide(rest, 20) * 4 + wide(z.Extract(55, 54, quotient), 20)
    goals = [wide(after, 20) + taken == before, z.ULT(after, by)]
    goals += [z.Extract(55, 2, digits) == z.Extract(53, 0, quotient), bench.now["by"] == by]
    yield Question("a clock of dividing", bench, [z.ULT(rest, by)], goals)
    bench = Bench(system).start(busy=0)
    dividend, divisor = system.free("dividend", ""), system.free("divisor", "")
    bench.clock(rst=0, start=1, dividend=dividend, divisor=divisor)
    for name, value in {"quotient": dividend, "by": divisor, "remainder": 0, "busy": 1}.items():
        bench.expect_register(name, value)
    until(bench, "done", 29, rst=0)
    assert len(bench.put) == 30, "it takes 28 clocks of dividing"
    yield Question("a beginning, and how many clocks it takes", bench)
    bench = Bench(system).start()
    bench.clock(rst=1)
    bench.expect_register("busy", 0)
    bench.expect_register("done", 0)
    yield Question("a reset", bench)


@claim(
    "ps_clock",
    "time goes on by the clock's period, and what is less than a ps is carried",
    "all, at 10/3 ns; a carry below a ps",
    NUM=10,
    DENOM=3,
)
def ps_clock(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = Bench(system).start()
    now, carry = bench.now["now"], bench.now["carry"]
    bench.clock(rst=0)
    before = wide(now, 80) * 3 + wide(carry, 80)
    after = wide(bench.now["now"], 80) * 3 + wide(bench.now["carry"], 80)
    facts = [z.ULT(carry, 3), z.ULT(now, (1 << 62) - 4000)]
    goals = [after == before + 10_000, z.ULT(bench.now["carry"], 3)]
    yield Question("a clock", bench, facts, goals)
    bench = Bench(system).start()
    bench.clock(rst=1)
    bench.expect_register("now", 0)
    bench.expect_register("carry", 0)
    yield Question("a reset", bench)
