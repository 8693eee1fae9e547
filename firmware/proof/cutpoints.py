"""Cut points of a proof: a block's result gets a name, and a lemma proves its value.

A bench does not unroll the clocks of a multiplication, a division or a spread interval in a block
of its module. When the block begins, its operands become variables; when it is done, its results
become variables that are defined by the uninterpreted `product`, `quotient` and `spread`
(firmware.proof.uninterpreted_functions). A separate lemma proves that this very block computes them
(`Bench.lemmas`), so that no proof relies on one of another module. The number of clocks of the
block, and its end, are unrolled as usual.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

from firmware.proof.function_definitions import same_sum, with_definitions
from firmware.proof.module_claims import Question, narrow, wide
from firmware.proof.symbolic_bench import SymbolicBench
from firmware.proof.time_limit import ProofTimeout
from firmware.proof.uninterpreted_functions import (
    lfsr_draw,
    product,
    product_at_most,
    product_within,
    quotient,
    spread,
)
from firmware.proof.z3_solver import cached_per_context, check_sat, z3

WORD = (1 << 32) - 1


def constant_value(vector: Any) -> int | None:
    """Value of a constant vector; else None."""
    return int(vector.as_long()) if z3().is_bv_value(vector) else None


@dataclass
class CutPoint(ABC):
    """Cut point of a block, by the prefix of its registers' names; `quiet` ties the resets."""

    prefix: str = ""
    quiet: dict[str, int] = field(default_factory=lambda: {"rst": 0})
    taken: dict[str, Any] = field(default_factory=dict)
    """Operands of the operation in progress."""

    @abstractmethod
    def step(self, bench: SymbolicBench, before: Any) -> None:
        """Cut after a clock in which the block has begun or is done."""

    def now(self, bench: SymbolicBench, name: str) -> Any:
        return bench.now[self.prefix + name]

    def constant_register(self, registers: Any, name: str) -> int | None:
        return constant_value(registers[self.prefix + name])

    def rename(self, bench: SymbolicBench, name: str) -> Any:
        """Replace a register's content by a variable."""
        full = self.prefix + name
        variable = z3().FreshConst(bench.now[full].sort(), full)
        bench.define(variable, bench.now[full])
        bench.now[full] = variable
        return variable

    def put(self, bench: SymbolicBench, names: list[str], value: Any) -> None:
        """Set registers, the upper ones first, to the slices of a value."""
        z, high = z3(), value.size()
        for name in names:
            full = self.prefix + name
            size = bench.now[full].size()
            variable = z.FreshConst(z.BitVecSort(size), full)
            bench.define(variable, z.Extract(high - 1, high - size, value))
            bench.now[full], high = variable, high - size

    def lemma(self, bench: SymbolicBench, key: object, question: Any) -> None:
        """Add a lemma once for each key."""
        if (self.prefix, key) not in bench.system.lemmas:
            bench.system.lemmas.add((self.prefix, key))
            bench.lemmas.append(question())

    def fresh(self, bench: SymbolicBench, mark: str, **registers: int) -> SymbolicBench:
        """Bench of the same system, from any state with these registers."""
        other = SymbolicBench(bench.system, f"{mark}{self.prefix}")
        names = {(self.prefix + name).replace(".", "__"): v for name, v in registers.items()}
        return other.start(**names)


@dataclass
class Multiplies(CutPoint):
    """Cut point of `multiply`: {high, low} is the product of `by` and the initial `low`."""

    def step(self, bench: SymbolicBench, before: Any) -> None:
        busy = self.constant_register(bench.now, "busy")
        if self.constant_register(before, "busy") == 0 and busy == 1:
            self.taken = {}
            rounds = self.constant_register(bench.now, "left")
            if rounds and self.constant_register(bench.now, "high") == 0:
                self.taken = {name: self.rename(bench, name) for name in ("by", "low")}
                self.lemma(bench, ("multiply", rounds), lambda: self._product(bench, rounds))
        elif self.taken and busy == 0:
            if self.constant_register(bench.now, "done") == 1:
                a, b = (wide(self.taken[name]) for name in ("by", "low"))
                width = self.now(bench, "high").size() + self.now(bench, "low").size()
                assert width <= 64, f"a product of {width} bits"
                self.put(bench, ["high", "low"], narrow(product(a, b), width))
                for bits in {self.taken["low"].size(), 16}:
                    most = (1 << width - self.taken["low"].size()) - 1, (1 << bits) - 1
                    bench.assumed.append(product_at_most(a, b, *most))
            self.taken = {}

    def _product(self, bench: SymbolicBench, rounds: int) -> Question:
        """Lemma from beginning to end: the sum of a shifted by every bit that is set in b."""
        other = self.fresh(bench, "product", busy=1, left=rounds, high=0)
        a, b = self.now(other, "by"), self.now(other, "low")
        for _ in range(rounds):
            other.clock(**self.quiet)
        width = a.size() + b.size()
        z = z3()
        total = z.BitVecVal(0, width)
        for place in range(b.size()):
            part = z.If(z.Extract(place, place, b) == 1, wide(a, width) << place, 0)
            total = total + part
        other.expect_register(f"{self.prefix}high", z.Extract(width - 1, b.size(), total))
        other.expect_register(f"{self.prefix}low", narrow(total, b.size()))
        other.expect_register(f"{self.prefix}busy", 0)
        other.expect_register(f"{self.prefix}done", 1)
        return Question(f"the product of {self.prefix or 'itself'}", other)


@dataclass
class Divides(CutPoint):
    """Cut point of `divide`: quotient rounded down and remainder, for a divisor other than 0."""

    step_bits: int = 2

    def step(self, bench: SymbolicBench, before: Any) -> None:
        busy = self.constant_register(bench.now, "busy")
        if self.constant_register(before, "busy") == 0 and busy == 1:
            self.taken = {}
            rounds = self.constant_register(bench.now, "left")
            width = self.now(bench, "quotient").size()
            if (
                rounds == width // self.step_bits
                and self.constant_register(bench.now, "remainder") == 0
            ):
                self.taken = {name: self.rename(bench, name) for name in ("quotient", "by")}
                self.lemma(bench, "divide", lambda: self.digit(bench))
        elif self.taken and busy == 0:
            if self.constant_register(bench.now, "done") == 1:
                dividend, by = self.taken["quotient"], self.taken["by"]
                size = dividend.size()
                assert size <= 64, f"a dividend of {size} bits"
                q = quotient(wide(dividend), wide(by))
                self.put(bench, ["quotient"], narrow(q, size))
                rest = wide(dividend) - product(q, wide(by))
                self.put(bench, ["remainder"], narrow(rest, by.size()))
            self.taken = {}

    def digit(self, bench: SymbolicBench) -> Question:
        """Lemma of one clock: R' + D by = 2^s R + the next s bits, R' below `by`."""
        z, s = z3(), self.step_bits
        other = self.fresh(bench, "digit", busy=1)
        rest, by, held = (self.now(other, n) for n in ("remainder", "by", "quotient"))
        other.clock(**self.quiet)
        after, more = self.now(other, "remainder"), self.now(other, "quotient")
        width, top = by.size() + s + 2, held.size()
        taken = wide(z.Extract(s - 1, 0, more), width) * wide(by, width)
        before = (wide(rest, width) << s) + wide(z.Extract(top - 1, top - s, held), width)
        goals = [wide(after, width) + taken == before, z.ULT(after, by)]
        goals += [z.Extract(top - 1, s, more) == z.Extract(top - 1 - s, 0, held)]
        goals += [self.now(other, "by") == by]
        name = f"a clock of dividing in {self.prefix}" if self.prefix else "a clock of dividing"
        return Question(name, other, [z.ULT(rest, by)], goals)


@cached_per_context
def _tenth_fact() -> None:
    """A tenth of 3 base is a hundredth of 30 base, each rounded down, and no more than base.

    Raises Late where the solver has no steps left for it.
    """
    z = z3()
    base, tenth, hundredth = z.Ints("base tenth hundredth")
    solver = z.SimpleSolver()
    for one, factor, by in ((tenth, 3, 10), (hundredth, 30, 100)):
        solver.add(one * by <= base * factor, base * factor < one * by + by)
    solver.add(base >= 0, z.Or(tenth != hundredth, tenth > base))
    said = check_sat(solver, 10)
    if said == "unknown":
        raise ProofTimeout
    assert said == "unsat"


@dataclass
class Spreads(CutPoint):
    """Cut point of `jitter`: the result is `spread` of its base and its draw."""

    share: Multiplies | None = None

    def step(self, bench: SymbolicBench, before: Any) -> None:
        was, state = (
            self.constant_register(before, "state"),
            self.constant_register(bench.now, "state"),
        )
        if self.share is None:
            self.share = Multiplies(f"{self.prefix}share_of.", self.quiet)
        self.share.step(bench, before)
        if was == 0 and state == 1:
            self.taken = {}
            digits = self.now(bench, "width").size() // 2
            begins = self.constant_register(bench.now, "left") == digits
            begins = begins and self.constant_register(bench.now, "rest") == 0
            if begins and self.constant_register(bench.now, "multiplied") == 0:
                triple = self.now(bench, "width")
                base = self.rename(bench, "centre")
                draw = self.rename(bench, "draw")
                self.taken = {"base": base, "draw": draw}
                bench.depend_on(f"{self.prefix}width", wide(base, triple.size()) * 3)
                self.lemma(bench, "jitter", lambda: self.digit(bench))
        elif self.taken and was == 1 and state == 2:
            base = self.taken["base"]
            size = self.now(bench, "width").size()
            tenth = z3().UDiv(wide(base, size) * 3, z3().BitVecVal(10, size))
            variable = z3().FreshConst(tenth.sort(), f"{self.prefix}width")
            bench.definitions.append((variable, tenth))
            bench.assumed += self.tenth(variable, base)
            bench.now[f"{self.prefix}width"] = variable
        elif self.taken and state == 0:
            if self.constant_register(bench.now, "done") == 1:
                self.lemma(bench, "spread", lambda: self.spreading(bench))
                result = spread(wide(self.taken["base"]), wide(self.taken["draw"]) << 16)
                size = self.now(bench, "result").size()
                self.put(bench, ["result"], narrow(result, size))
                bench.assumed.append(z3().ULE(result, (1 << size) - 1))
            self.taken = {}

    def tenth(self, width: Any, base: Any) -> list[Any]:
        """10 width <= 3 base < 10 width + 10: what dividing digit by digit has come to."""
        z, size = z3(), width.size() + 4
        three, ten = wide(base, size) * 3, wide(width, size) * 10
        return [z.ULE(ten, three), z.ULT(three - ten, 10)]

    def digit(self, bench: SymbolicBench) -> Question:
        """Lemma of one clock of dividing 3 base by 10: {R, two bits} = 10 digit + R', R' below
        10."""
        z = z3()
        other = self.fresh(bench, "digit", state=1)
        rest, held = self.now(other, "rest"), self.now(other, "width")
        kept = {name: self.now(other, name) for name in ("centre", "draw")}
        other.clock(**self.quiet)
        after, more = self.now(other, "rest"), self.now(other, "width")
        top = held.size()
        goals = [
            wide(z.Extract(1, 0, more), 8) * 10 + wide(after, 8)
            == wide(rest, 8) * 4 + wide(z.Extract(top - 1, top - 2, held), 8),
            z.ULT(after, 10),
            z.Extract(top - 1, 2, more) == z.Extract(top - 3, 0, held),
            *(self.now(other, name) == value for name, value in kept.items()),
        ]
        name = f"a clock of dividing in {self.prefix or 'itself'}"
        return Question(name, other, [z.ULT(rest, 10)], goals)

    def spreading(self, bench: SymbolicBench) -> Question:
        """Lemma from the tenth on: the result is that of `jittered`, with an uninterpreted
        product."""
        from firmware.proof.kernel_bitvectors import function_of
        from orchestrator.engine.lfsr import jittered

        z = z3()
        idle = {"multiplied": 0, "share_of.busy": 0, "share_of.done": 0, "done": 0}
        other = self.fresh(bench, "spread", state=2, **idle)
        other.cuts.append(Multiplies(f"{self.prefix}share_of.", self.quiet))
        width, base, draw = (self.now(other, name) for name in ("width", "centre", "draw"))
        clocks = draw.size() + 4
        for _ in range(clocks):
            other.clock(**{**self.quiet, **self._unasked(other)})
        most = (1 << base.size()) - 1, (1 << 32) - 1
        upper = wide(z.Concat(draw, z.BitVecVal(0, 16)))
        result = function_of(
            jittered, [(wide(base), (0, most[0])), (upper, (0, most[1]))], by_name=True
        )
        low = self.now(other, "result").size()
        other.expect_register(f"{self.prefix}result", narrow(result.values["result"], low))
        other.expect_register(f"{self.prefix}done", 1)
        other.expect_register(f"{self.prefix}state", 0)
        ((hundredth, _),) = result.definitions
        _tenth_fact()
        facts = [z.ULE(width, wide(base, width.size())), hundredth == wide(width)]
        facts += self._split_product(width, draw, base.size())
        name = f"a spread of {self.prefix or 'itself'}"
        goals = [z.ULE(result.values["result"], (1 << low) - 1)]
        return Question(name, other, facts, goals)  # the hundredth is what `width` is

    def _split_product(self, width: Any, draw: Any, size: int) -> list[Any]:
        """width r = 2^16 (width >> 16) r + (width & 0xFFFF) r, and how much the latter is."""
        z, width, draw = z3(), wide(width), wide(draw)
        high, low = z.BitVec("high", 64), z.BitVec("low", 64)
        parts = [(high, z.LShR(width, 16)), (low, width & 0xFFFF)]
        whole = product(high * 65536 + low, draw)
        identity = same_sum(whole, product(high, draw) * 65536 + product(low, draw))
        facts = [identity, product_at_most(low, draw, 0xFFFF, 0xFFFF)]
        facts.append(product_at_most(high, draw, (1 << size - 16) - 1, 0xFFFF))
        return [z.substitute(one, *parts) for one in facts]

    def _unasked(self, bench: SymbolicBench) -> dict[str, int]:
        return {} if self.prefix else {"start": 0}


@dataclass
class Draws(CutPoint):
    """Cut point of `lfsr_step`: four clocks after its value `next` is `lfsr_draw` of it.

    `value` is the register that it draws from, in the module's names.
    """

    value: str = ""
    clocks: int = 0

    def step(self, bench: SymbolicBench, before: Any) -> None:
        if not before[self.value].eq(bench.now[self.value]):
            self.clocks = 0
            variable = z3().FreshConst(z3().BitVecSort(32), self.value)
            bench.define(variable, bench.now[self.value])
            bench.now[self.value] = variable
            return
        self.clocks += 1
        z, full = z3(), f"{self.prefix}stages"
        stages, value = bench.now[full], bench.now[self.value]
        top = stages.size()
        if self.clocks > 4:  # it does not change either
            bench.now[full] = z.Concat(self.taken["next"], z.Extract(top - 33, 0, stages))
        if self.clocks != 4:
            return
        so_far = replace(bench, put=list(bench.put), expected=[], found=[], inside=[], lemmas=[])
        so_far.assumed, so_far.definitions = [], list(bench.definitions)
        word = with_definitions(lfsr_draw(wide(value)))
        so_far.expected.append((len(bench.put), f"{self.prefix}next", narrow(word, 32)))
        so_far.found.append(z.Extract(top - 1, top - 32, stages) == narrow(word, 32))
        name = f"a draw of {self.prefix or 'itself'}"
        self.lemma(bench, "draw", lambda: Question(name, so_far))
        upper = z.FreshConst(z.BitVecSort(32), f"{self.prefix}next")
        bench.define(upper, narrow(lfsr_draw(wide(value)), 32))
        bench.assumed.append(z.ULE(lfsr_draw(wide(value)), WORD))
        bench.now[full] = z.Concat(upper, z.Extract(top - 33, 0, stages))
        self.taken["next"] = upper


@dataclass
class Quantises(CutPoint):
    """A `qcn_quantiser`: L = set_point (2 w + 1), w delta, and floor(63 F / L) are named.

    The set point stands still while L grows.
    """

    def step(self, bench: SymbolicBench, before: Any) -> None:
        z = z3()
        was, state = (
            self.constant_register(before, "state"),
            self.constant_register(bench.now, "state"),
        )
        if was == 0 and state == 1:
            self.taken = {"first": len(bench.put) - 1}
            if all(
                self.constant_register(bench.now, n) == v for n, v in (("limit", 0), ("grown", 0))
            ):
                delta = self.rename(bench, "delta")
                self.taken |= {"delta": delta, "weight": bench.put[-1]["weight"]}
        elif "weight" in self.taken and was == 1 and state == 2:
            points = [one["set_point"] for one in bench.put[self.taken["first"] :]]
            if len(points) == 9 and all(one.eq(points[0]) for one in points):
                self.lemma(bench, "grow", lambda: self.growing(bench))
                weight, point = wide(self.taken["weight"]), wide(points[0])
                limit = product(point, weight * 2 + 1)
                self.taken["limit"] = limit
                self.put(bench, ["limit"], narrow(limit, 38))
                delta = z.SignExt(31, self.taken["delta"])
                grown = product(delta, weight)
                self.put(bench, ["grown"], narrow(grown, 41))
                bench.assumed += [
                    product_at_most(point, weight * 2 + 1, (1 << 30) - 1, 255),
                    z.Implies(point != 0, limit != 0),
                    product_within(delta, weight, 1 << 32, 127),
                ]
        elif "limit" in self.taken and was == 4 and state == 5:
            clipped = self.rename_before(bench, before, "clipped")
            limit = wide(self.now(bench, "limit"))
            bench.inside.append((z.And(z.ULE(wide(clipped), limit), limit != 0), None))
            trial = z.Concat(narrow(limit, 38), z.BitVecVal(0, 5))
            bench.depend_on(f"{self.prefix}trial", trial)
            bench.depend_on(f"{self.prefix}feedback", 0)
            bench.depend_on(f"{self.prefix}bit_index", 5)
            self.taken |= {"clipped": clipped}
        elif "clipped" in self.taken and was == 5 and state == 0:
            self.lemma(bench, "try", lambda: self.trying(bench))
            clipped, limit = wide(self.taken["clipped"]), wide(self.now(bench, "limit"))
            found = quotient(clipped * 63, limit)
            self.put(bench, ["feedback"], narrow(found, 6))
            bench.assumed.append(z.ULE(found, 63))
            self.taken = {}

    def rename_before(self, bench: SymbolicBench, before: Any, name: str) -> Any:
        full = self.prefix + name
        variable = z3().FreshConst(before[full].sort(), full)
        bench.define(variable, before[full])
        z = z3()
        wider = z.Concat(variable, z.BitVecVal(0, 6)) - z.ZeroExt(6, variable)
        bench.depend_on(f"{self.prefix}rest", wider)
        bench.now[f"{self.prefix}rest"] = wider
        return variable

    def growing(self, bench: SymbolicBench) -> Question:
        """Lemma of one clock, from the top bit of 2 w + 1 down: a product by shift and add."""
        z = z3()
        other = self.fresh(bench, "grow", state=1)
        names = ("factor", "delta", "limit", "grown", "bit_index")
        factor, delta, limit, grown, place = (self.now(other, name) for name in names)
        point = bench.system.free("set_point", "")
        other.clock(**self.quiet, set_point=point)
        one = z.Extract(7, 7, factor) == 1
        more = grown * 2 + z.If(one, z.SignExt(8, delta), 0)
        expected = {
            "limit": limit * 2 + z.If(one, wide(point, 38), 0),
            "grown": z.If(place != 0, more, grown),
            "factor": factor << 1,
            "bit_index": place - 1,
            "delta": delta,
            "state": z.If(place == 0, z.BitVecVal(2, 3), z.BitVecVal(1, 3)),
        }
        for name, value in expected.items():
            other.expect_register(f"{self.prefix}{name}", value)
        return Question(f"a clock of growing in {self.prefix or 'itself'}", other)

    def trying(self, bench: SymbolicBench) -> Question:
        """Lemma of one clock, for the next bit of k: the remainder R - bit T is below T, if R was
        below 2 T."""
        z = z3()
        other = self.fresh(bench, "try", state=5)
        names = ("rest", "trial", "feedback", "bit_index")
        rest, trial, feedback, place = (self.now(other, name) for name in names)
        other.clock(**self.quiet)
        full, by = wide(rest), wide(trial)
        bit = z.UGE(full, by)
        here = z.BitVecVal(1, 6) << wide(place, 6)
        expected = {
            "rest": z.If(bit, rest - wide(trial, 44), rest),
            "trial": z.LShR(trial, 1),
            "feedback": z.If(z.And(bit, z.ULT(place, 6)), feedback | here, feedback),
            "bit_index": place - 1,
            "state": z.If(place == 0, z.BitVecVal(0, 3), z.BitVecVal(5, 3)),
            "done": z.If(place == 0, z.BitVecVal(1, 1), z.BitVecVal(0, 1)),
        }
        for name, value in expected.items():
            other.expect_register(f"{self.prefix}{name}", value)
        goals = [z.ULT(wide(self.now(other, "rest")), by)]
        return Question(
            f"a clock of trying in {self.prefix or 'itself'}", other, [z.ULT(full, by * 2)], goals
        )
