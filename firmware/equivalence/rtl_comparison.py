"""Comparison of RTL and kernels on one sequence: reports the first number that differs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware.equivalence import event_testbench
from firmware.equivalence.event_sequence import Sequence
from firmware.equivalence.event_testbench import Ports
from firmware.equivalence.kernel_runner import Kernels, Step
from firmware.equivalence.simulators import CompiledBench, compiled_bench, select_simulator
from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput
from orchestrator.rtl_module import Rtl


class UnsupportedSequence(Exception):
    """A number of a sequence does not fit the module's port."""


@dataclass(frozen=True)
class Difference:
    """First difference of a sequence."""

    what: str
    """Kind of the difference: two of the same kind count as one fault."""
    text: str


class KernelModulePair:
    """An algorithm's kernels and its module."""

    def __init__(self, algorithm: Algorithm, rtl: Rtl, there: CompiledBench) -> None:
        self.algorithm, self.rtl, self.built = algorithm, rtl, there
        self.kernels, self.names = Kernels(algorithm), Ports.of(rtl)

    def difference(self, sequence: Sequence, vcd: Path | None = None) -> Difference | None:
        """First difference of the module from the kernels; None: equal. Raises Unfit."""
        steps = list(self.kernels.run(sequence))
        if not steps:
            return None
        lines = iter(self.built.lines(self._stimulus(sequence, steps), vcd))
        for number, step in enumerate(steps, 1):
            said, ended = _event_output(lines)
            where = f"event {number} ({step.event.event})"
            for one in self._differences(step, said, ended):
                return Difference(one[0], f"{where}: {one[1]}")
            if ended is None:
                text = f"{where}: the simulation ends"
                return Difference("the simulation ends", text)
        return None

    def _stimulus(self, sequence: Sequence, steps: list[Step]) -> str:
        model = self.algorithm.params.from_table(dict(sequence.params), bare=True)
        held = steps[0].before
        # a seed is what it was at the beginning
        numbers = [
            self._fit(port, value(model) if callable(value) else _number(value, held))
            for port, value in ((one, self.rtl.inputs[one]) for one in self.names.held)
        ]
        lines = [" ".join(numbers)]
        for step in steps:
            ports = self.rtl.events[step.event.event]
            driven = (
                self._fit(one, _number(ports.get(one, 0), step.before)) for one in self.names.driven
            )
            lines.append(" ".join([str(step.event.idle), *driven]))
        return "\n".join(lines) + "\n"

    def _fit(self, port: str, value: int) -> str:
        there = self.built.ports[port]
        low, high = there.bounds
        if not low <= value <= high:
            raise UnsupportedSequence(f"{port} has {there.bits} bits, not room for {value}")
        return f"{value & ((1 << there.bits) - 1):x}"

    def _differences(
        self, step: Step, said: list[str], ended: str | None
    ) -> Iterator[tuple[str, str]]:
        result = step.after["result"]
        for line in said:
            if line == event_testbench.STUCK:
                most = self.rtl.most_clocks
                yield "stuck", f"it is not over after {most} clocks, in which none is ready"
            elif line == event_testbench.UNSOLICITED:
                yield "unasked", f"{self.rtl.valid} is 1 in a clock before it"
        answers = [line.split()[1:] for line in said if line.partition(" ")[0] == "v"]
        if self.rtl.valid and len(answers) != int(result != 0):
            text = f"{self.rtl.valid} is 1 in {len(answers)} clocks, the kernel returns {result}"
            yield f"{self.rtl.valid} differs", text
        if ended is None:
            return
        shown = dict(zip(self.names.ended, ended.split()[1:], strict=True))
        if answers:
            shown |= dict(zip(self.names.answered, answers[0], strict=True))
        for port, bits in shown.items():
            name = self.rtl.outputs[port]
            if name.startswith("message.") and result == 0:
                continue
            wanted = step.after[name]
            if port in self.rtl.documented:
                wanted = self.rtl.documented[port](wanted)
            found = self.built.ports[port].number(bits)
            if found != wanted:
                is_so = f"unknown ({bits})" if found is None else found
                what = "returns" if name == "result" else f"has {name} ="
                yield f"{port} differs", f"{port} is {is_so}, the kernel {what} {wanted}"


def _event_output(lines: Iterator[str]) -> tuple[list[str], str | None]:
    """Output lines of an event before its end, and the line of its end."""
    said: list[str] = []
    for line in lines:
        if line.partition(" ")[0] == "e":
            return said, line
        said.append(line)
    return said, None


def _number(value: Any, numbers: dict[str, int]) -> int:
    return numbers[value] if isinstance(value, str) else int(value)


def kernel_folder(algorithm: Algorithm) -> Path:
    """The folder of the file that its kernels are in."""
    kernel: Callable[..., int] = next(iter(algorithm.kernels.values()))
    source = inspect.getsourcefile(inspect.unwrap(getattr(kernel, "py_func", kernel)))
    assert source is not None
    return Path(source).resolve().parent


@contextmanager
def open_pair(algorithm: Algorithm, simulator: str | None = None) -> Iterator[KernelModulePair]:
    """An algorithm with its module, ready to run. Raises BadInput and Refused."""
    rtl = algorithm.rtl
    if rtl is None:
        text = f"{algorithm.name} names no gateware of its own (`rtl=` of the algorithm)"
        raise BadInput("tailback hunt --rtl", text)
    with compiled_bench(rtl, kernel_folder(algorithm), select_simulator(simulator)) as there:
        yield KernelModulePair(algorithm, rtl, there)
