"""Benches of several modules in one simulation: `simulate_together` names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

from cocotb.regression import Test, TestGenerator

Bench = Callable[[Any], Coroutine[Any, None, None]]


def of_instance(bench: Bench, name: str, parameters: str) -> Bench:
    """The bench on an instance of the top module."""

    async def run(dut: Any) -> None:
        os.environ["BENCH_PARAMETERS"] = parameters
        await bench(getattr(dut, name))

    return run


def chosen() -> dict[str, Test]:
    """All tests of the benches that are named, each on its instance."""
    tests = {}
    for part in os.environ["BENCH_PARTS"].split(";"):
        instance, bench, parameters = part.split(":")
        module = import_module(f"tests.firmware.benches.{bench}")
        for made in [m for m in vars(module).values() if isinstance(m, TestGenerator)]:
            for test in made.generate_tests():
                if test.module == module.__name__:
                    test.func = of_instance(test.func, instance, parameters)
                    tests[f"{instance}.{test.name}"] = test
    return tests


globals().update(chosen())
