"""Sequences of events made by hypothesis, run and shrunk within one simulation.

hypothesis runs in a thread of its own; each example is a coroutine of the simulation, which draws
every choice when it is needed: what may come next hangs on what came before. A failing sequence is
shrunk by running shorter ones on the same design, each from a reset. (hypothesis's own notes belong
to its thread: what an example drew is kept here, and told with the error.)
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from cocotb.task import bridge, resume
from cocotb.triggers import FallingEdge
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.firmware.benches.clocking import drive

Body = Callable[[Random], Awaitable[None]]
EVENLY = "BENCH_DRAWS_EVENLY"
"""An environment variable: set, only those run whose choices are drawn evenly, which is quicker."""
SHOWN = 60
"""Draws of a failing example that are told, the last ones."""


class Drawing:
    """A source of random choices that remembers what it gave."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.given: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        draw = getattr(self._rng, name)

        def remembered(*arguments: Any, **options: Any) -> Any:
            value = draw(*arguments, **options)
            self.given.append(f"{name}{arguments} = {value}")
            return value

        return remembered


async def examples(dut: Any, number: int, count: int, quiet: dict[str, int], body: Body) -> None:
    """Run `count` examples of `body(rng)`; `number` seeds hypothesis, `quiet` are idle inputs.

    As many follow whose choices are drawn evenly: hypothesis likes bounds and small numbers, and
    may leave out what hangs on none of them.

    Raises what the shortest failing example raised, with all that it drew.
    """

    async def example(rng: Random) -> BaseException | None:
        drive(dut, rst=1, **quiet)
        for _ in range(3):
            await FallingEdge(dut.clk)
        drive(dut, rst=0)
        await FallingEdge(dut.clk)
        drawing = Drawing(rng)
        try:
            await body(drawing)  # type: ignore[arg-type]
        except BaseException as error:  # hypothesis ends examples that draw too much by one
            error.add_note("drawn last: " + "; ".join(drawing.given[-SHOWN:]))
            return error
        return None

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def every(rng: Random) -> None:
        if (error := resume(example)(rng)) is not None:
            raise error

    if not os.environ.get(EVENLY):
        await bridge(every)()
    for turn in range(count):
        if (error := await example(Random(f"{number}/{turn}"))) is not None:
            raise error
