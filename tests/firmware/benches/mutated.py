"""A bench on the mutants of a module: see `tests.mutation.rtl`.

Each mutant is a test here, which runs the tests of the bench one after the other until one fails;
number 0, the module as it is, comes first. What came of each is written down at once, so that one
that never ends is known.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cocotb
from cocotb.regression import Test, TestGenerator
from cocotb.triggers import with_timeout
from cocotb.utils import get_sim_time

Bench = Callable[[Any], Coroutine[Any, None, None]]
LONGER, MORE_NS = 4, 20_000
"""A mutant that takes so many times what the module takes, and so much more, does not end."""
took: dict[str, float] = {}
"""How many ns each test took on the module as it is."""


def tests_of(bench: str) -> dict[str, Bench]:
    """The tests of a bench by name."""
    module = import_module(f"tests.firmware.benches.{bench}")
    found = {}
    for made in [m for m in vars(module).values() if isinstance(m, TestGenerator)]:
        found |= {t.name: t.func for t in made.generate_tests() if t.module == module.__name__}
    return found


async def by_itself(bench: Bench, dut: Any) -> None:
    """Run a test and end what it has started, as cocotb does: there is one clock at a time."""
    begun, begin = [], cocotb.start_soon

    def noted(what: Any) -> Any:
        begun.append(begin(what))
        return begun[-1]

    with patch.object(cocotb, "start_soon", noted):
        try:
            await bench(dut)
        finally:
            for task in begun:
                task.cancel()


async def failing(dut: Any, number: int) -> str:
    """The first test that fails with a mutant, and how; empty: none does."""
    where = os.environ["BENCH_PATH"]
    instance = functools.reduce(getattr, where.split(".") if where else [], dut)
    instance.chosen_mutant.value = number
    tests = tests_of(os.environ["BENCH_NAME"])
    # the short ones first: most mutants fail in those
    for name, bench in sorted(tests.items(), key=lambda one: took.get(one[0], 0.0)):
        began = get_sim_time("ns")
        try:
            if name in took:
                await with_timeout(by_itself(bench, dut), int(LONGER * took[name] + MORE_NS), "ns")
            else:
                await by_itself(bench, dut)
        except Exception as error:
            return f"{name}: {type(error).__name__} {str(error)[:90]!r}"
        took.setdefault(name, get_sim_time("ns") - began)
    return ""


def test_of(number: int) -> Test:
    """The test of a mutant."""

    async def run(dut: Any) -> None:
        why = await failing(dut, number)
        with Path(os.environ["BENCH_OUTCOMES"]).open("a") as outcomes:
            outcomes.write(f"{number} {why}\n")

    return Test(
        func=run,
        args=(),
        kwargs={},
        name=f"mutant_{number}",
        module=__name__,
        doc=None,
        timeout=None,
        expect_fail=False,
        expect_error=(),
        skip=False,
        stage=0,
    )


for chosen in map(int, os.environ["BENCH_MUTANTS"].split()):
    globals()[f"mutant_{chosen}"] = test_of(chosen)
