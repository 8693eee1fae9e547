"""Symbolic bench: drives a module clock by clock with vectors, and replays it in Icarus Verilog."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firmware.proof.btor2 import Named, System, verilog_files
from firmware.proof.function_definitions import EvaluatedModel
from firmware.proof.time_limit import check_limits
from firmware.proof.z3_solver import z3
from orchestrator.errors import Refused

Expected = tuple[int, str, Any]
"""Expected values: clock, output or register after the clock, value."""


@dataclass
class SymbolicBench:
    """Inputs and expected outputs of a module, from an arbitrary state on."""

    system: System
    mark: str = ""
    begin: dict[str, Any] = field(default_factory=dict)
    """The registers in the first clock."""
    now: dict[str, Any] = field(default_factory=dict)
    """The registers in the current clock."""
    put: list[dict[str, Any]] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    assumed: list[Any] = field(default_factory=list)
    found: list[Any] = field(default_factory=list)
    """Conditions that the expectations hold."""
    inside: list[tuple[Any, Expected | None]] = field(default_factory=list)
    """Conditions within blocks that cut points rely on, each with its expected value, if any."""
    cuts: list[Any] = field(default_factory=list)
    """Blocks that are cut (firmware.proof.cutpoints)."""
    definitions: list[tuple[Any, Any]] = field(default_factory=list)
    """Variables, each with the term that it replaces."""
    lemmas: list[Any] = field(default_factory=list)
    """Lemmas that the cut points rely on."""

    def start(self, **registers: int) -> SymbolicBench:
        """Begin with these registers set, the others arbitrary."""
        self.begin = self.system.any_state(f"!{self.mark}")
        for name, value in registers.items():
            key = name.replace("__", ".")
            self.begin[key] = z3().BitVecVal(value, self.begin[key].size())
        self.now = Named(self.begin)
        return self

    def clock(self, **inputs: Any) -> dict[str, Any]:
        """Advance one clock; other inputs are arbitrary. Returns its outputs. Raises Late."""
        check_limits()
        place = len(self.put)
        given = {}
        for name, line in self.system.inputs.items():
            if name.startswith("any") or name == "clk":
                continue
            value = inputs.pop(name, None)
            if value is None:
                value = self.system.free(name, f"!{self.mark}{place}")
            elif isinstance(value, int):
                value = self.system.constant(value, self.system.lines[line].width)
            given[name] = value
        assert not inputs, f"no input is called {', '.join(inputs)}"
        before = self.now
        outputs, self.now = self.system.clock(self.now, given)
        self.put.append(given)
        self.assumed += self.system.facts
        self.system.facts = []
        for cut in self.cuts:
            cut.step(self, before)
        return outputs

    def define(self, variable: Any, term: Any) -> None:
        """Replace a term by a variable from here on."""
        self.definitions.append((variable, term))
        self.assumed.append(variable == term)

    def suppose(self, name: str, value: int) -> None:
        """Assume a value of a register; the other case is not part of this question."""
        known = z3().BitVecVal(value, self.now[name].size())
        self.assumed.append(self.now[name] == known)
        self.now[name] = known

    def wait(self, name: str, clocks: int, **inputs: Any) -> dict[str, Any]:
        """Advance to the clock in which an output must be 1 for the first time; returns its
        outputs."""
        for place in range(clocks):
            outputs = self.clock(**inputs)
            self.expect(outputs, name, int(place == clocks - 1))
        return outputs

    def expect(self, outputs: Mapping[str, Any], name: str, value: Any) -> None:
        """Expect the value of an output in the last clock."""
        found = outputs[name]
        if isinstance(value, int):
            value = z3().BitVecVal(value, found.size())
        self.expected.append((len(self.put) - 1, name, value))
        self.found.append(found == value)

    def expect_register(self, name: str, value: Any) -> None:
        """Expect the value of a register after the last clock."""
        found, value = self._register(name, value)
        self.expected.append((len(self.put), name, value))
        self.found.append(found == value)

    def depend_on(self, name: str, value: Any) -> None:
        """Expect the value of a block's register, and assume it for the cut point."""
        found, value = self._register(name, value)
        self.inside.append((found == value, (len(self.put), name, value)))

    def _register(self, name: str, value: Any) -> tuple[Any, Any]:
        found = self.now[name]
        if isinstance(value, int):
            value = z3().BitVecVal(value, found.size())
        return found, value


@dataclass(frozen=True)
class Stimulus:
    """Concrete stimulus: initial registers, inputs by clock, expected values."""

    module: str
    parameters: dict[str, int]
    registers: dict[str, int]
    clocks: list[dict[str, int]]
    expected: list[tuple[int, str, int]]
    wrong: bool = False
    """True if `expected` has the module's wrong values instead of the right ones."""


def stimulus_of_model(
    bench: SymbolicBench, found: EvaluatedModel, module: str, parameters: dict[str, int]
) -> Stimulus:
    """Concrete stimulus of a solver's model of a bench.

    If a cut point relies on a false condition, later values were computed under it: then only that
    condition is expected.
    """
    number = found.number
    wrong = [one for is_so, one in bench.inside if not z3().is_true(found.of(is_so))]
    expected = [one for one in wrong if one is not None] if wrong else bench.expected
    return Stimulus(
        module,
        dict(parameters),
        {name: number(value) for name, value in bench.begin.items()},
        [{name: number(value) for name, value in clock.items()} for clock in bench.put],
        [(clock, name, number(value)) for clock, name, value in expected],
    )


def with_final_registers(
    stimulus: Stimulus, bench: SymbolicBench, found: EvaluatedModel
) -> Stimulus:
    """The same stimulus, expecting the module's own registers after it."""
    behind = [
        (len(bench.put), name, found.number(value))
        for name, value in bench.now.items()
        if not name.startswith(("any", "$"))
    ]
    return replace(stimulus, expected=behind, wrong=True)


def is_confirmed(stimulus: Stimulus, texts: Mapping[str, str] | None = None) -> bool:
    """Return whether Icarus Verilog confirms the stimulus."""
    return bool(differences(stimulus, texts)) is not stimulus.wrong


def differences(
    stimulus: Stimulus, texts: Mapping[str, str] | None = None, vcd: Path | None = None
) -> list[str]:
    """Run the stimulus in Icarus Verilog; returns a line for each unexpected value.

    Raises Refused without Icarus Verilog, or where it rejects the bench.
    """
    if shutil.which("iverilog") is None:
        raise Refused("prove", "Icarus Verilog is missing", "sudo apt-get install iverilog")
    with tempfile.TemporaryDirectory(prefix="tailback-bench-") as name:
        folder = Path(name)
        for file, text in verilog_files(texts).items():
            (folder / file).write_text(text)
        (folder / "bench.v").write_text(stimulus_testbench(stimulus, vcd is not None))
        command = ["iverilog", "-g2005", "-s", "bench", "-o", "bench.vvp", "bench.v"]
        command += sorted(verilog_files(texts))
        for words in (command, ["vvp", "-n", "bench.vvp"]):
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode:
                said = (done.stderr + done.stdout)[-800:]
                raise Refused("prove", f"Icarus Verilog refuses the bench: {said}", "report it")
        if vcd is not None:
            shutil.copy(folder / "bench.vcd", vcd)
    return [line for line in done.stdout.splitlines() if line.startswith("clock ")]


def stimulus_testbench(stimulus: Stimulus, dump: bool) -> str:
    """Verilog bench that prints each unexpected output."""
    inputs = {name for clock in stimulus.clocks for name in clock}
    sets = ", ".join(f".{name}({value})" for name, value in stimulus.parameters.items())
    tied = [".clk(clk)"] if stimulus.registers else []  # a combinational module has no clock
    ports = ", ".join(tied + [f".{name}({name})" for name in sorted(inputs)])
    wide = {name: _bits(max(c.get(name, 0) for c in stimulus.clocks)) for name in inputs}
    lines = ["module bench;", "  reg clk = 0;"]
    lines += [f"  reg [{width - 1}:0] {name};" for name, width in sorted(wide.items())]
    lines += [
        f"  {stimulus.module} {f'#({sets}) ' if sets else ''}dut ({ports});",
        "  initial begin",
    ]
    if dump:
        lines += ['    $dumpfile("bench.vcd"); $dumpvars(0, dut);']
    lines += [
        f"    dut.{name} = {_literal(value)};"
        for name, value in stimulus.registers.items()
        if not name.startswith(("any", "$"))
    ]
    for place in range(len(stimulus.clocks) + 1):
        if place < len(stimulus.clocks):
            lines += [f"    {n} = {_literal(v)};" for n, v in stimulus.clocks[place].items()]
        lines += ["    #1;"]
        for clock, name, value in stimulus.expected:
            if clock == place:
                said = f'$display("clock {place}: {name} is %0d, expected {value}", dut.{name})'
                lines += [f"    if (dut.{name} !== {_literal(value)}) {said};"]
        lines += ["    clk = 1; #1; clk = 0;"]
    return "\n".join([*lines, "  end", "endmodule", ""])


def _bits(value: int) -> int:
    return max(value.bit_length(), 1)


def _literal(value: int) -> str:
    return f"{max(_bits(value), 1)}'d{value}"
