"""Claims about the blocks that count and swap the octets of streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware.proof.btor2 import System
from firmware.proof.module_claims import Find, Question, register_claim, wide
from firmware.proof.symbolic_bench import SymbolicBench
from firmware.proof.z3_solver import z3


@register_claim(
    "octet_swap", "octet n becomes the n-th from the end", "all, 6 octets", sizes=({"OCTETS": 6},)
)
def octet_swap(system: System, find: Find) -> Iterator[Question]:
    z = z3()
    bench = SymbolicBench(system).start()
    given = system.free("in", "")
    octets = [z.Extract(8 * place + 7, 8 * place, given) for place in range(6)]
    bench.expect(bench.clock(wanted=1, **{"in": given}), "out", z.Concat(*octets))
    yield Question("a field", bench)


@register_claim(
    "octet_count",
    "with each word it says how many octets its tkeep names",
    "all, at 64 bit",
    by="by an invariant that every clock keeps",
)
def octet_count(system: System, find: Find) -> Iterator[Question]:
    z = z3()

    def counted(keep: Any, width: int) -> Any:
        total = z.BitVecVal(0, width)
        for place in range(8):
            total = total + wide(z.Extract(place, place, keep), width)
        return total

    def count_invariant(now: dict[str, Any]) -> list[Any]:
        """Invariant: each slice holds a word with its count: {count, user, last, keep, data}."""
        found = []
        for name, width in (("by_group", 4), ("in_all", 7)):
            for part, full in (("first", "m_tvalid"), ("second", "second_full")):
                word = now[f"{name}.{part}"]
                count = z.Extract(73 + width + 0, 74, word)
                said = counted(z.Extract(71, 64, word), width) == count
                found.append(z.Implies(now[f"{name}.{full}"] == 1, said))
            ready = now[f"{name}.s_tready"] == 1
            found.append(z.Not(z.And(ready, now[f"{name}.second_full"] == 1)))
        return found

    bench = SymbolicBench(system).start()
    assumed = count_invariant(bench.now)
    outputs = bench.clock(rst=0)
    said = outputs["m_octets"] == counted(outputs["m_tkeep"], 7)
    goals = [z.Implies(outputs["m_tvalid"] == 1, said), *count_invariant(bench.now)]
    yield Question("a clock", bench, assumed, goals)
    bench = SymbolicBench(system).start()
    bench.clock(rst=1)
    yield Question("a reset", bench, [], count_invariant(bench.now))
