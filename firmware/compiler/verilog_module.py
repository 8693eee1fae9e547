"""Verilog-2005 module of an algorithm: ports, registers, shared units, state machine."""

from __future__ import annotations

import re
from functools import partial

from firmware.compiler.clock_bounds import Clocks, clocks_of
from firmware.compiler.compiled_module import CompiledModule, module_name
from firmware.compiler.intermediate_form import (
    Constant,
    Field,
    KernelForm,
    stored_fields,
    used_fields,
)
from firmware.compiler.kernel_lowering import lower_algorithm, lower_kernel
from firmware.compiler.register_allocation import Registers, allocate
from firmware.compiler.scheduling import PRODUCT, QUOTIENT, REMAINDER, schedule
from firmware.compiler.state_machine import (
    DIVIDER_BITS,
    DIVIDER_STEP,
    Branch,
    Done,
    Jump,
    Machine,
    Operand,
    State,
    Wire,
)
from firmware.compiler.verilog_expressions import (
    Named,
    is_true,
    literal,
    resized,
    signed,
    step_lines,
)
from firmware.compiler.verilog_units import DIVIDER, DRAWN, FOOTER, HEADER, MULTIPLIER
from firmware.compiler.width_analysis import bits_of, field_bounds, kernel_bounds
from firmware.proof.field_ranges import NOW
from firmware.proof.interval_analysis import hull
from orchestrator.algorithm import Algorithm

WORD_BITS = 64
EVENT_BITS = 4
NOW_BITS = bits_of(NOW.bounds)


def compile_module(algorithm: Algorithm, events: tuple[str, ...] = ()) -> CompiledModule:
    """Compile kernels of an algorithm to one module: those of `events`, without these all of them.
    Raises Untranslated."""
    forms = [lower_kernel(algorithm, one) for one in events] or lower_algorithm(algorithm)
    return ModuleWriter(algorithm, forms).compiled()


class ModuleWriter:
    """Writer of one module."""

    def __init__(self, algorithm: Algorithm, forms: list[KernelForm]) -> None:
        self.algorithm, self.forms = algorithm, forms
        self.bounds = {form.event: kernel_bounds(algorithm, form) for form in forms}
        every = set[Field]().union(*(used_fields(form.body) for form in forms))
        stored = set[Field]().union(*(stored_fields(form.body) for form in forms))
        order = sorted(every, key=str)
        self.arrays = [one for one in order if one.size]
        self.inputs = [one for one in order if not one.size]
        self.outputs = [one for one in self.inputs if one in stored]
        self.registers = Registers()
        self.machines: list[Machine] = []
        for form in forms:
            machine = schedule(form, self.bounds[form.event], stored)
            allocate(self.registers, machine, self.bounds[form.event], form.now)
            self.machines.append(machine)
        self._number_states()

    def _number_states(self) -> None:
        self.numbers = {
            state: number
            for number, state in enumerate((s for m in self.machines for s in m.states), 1)
        }
        self.state_bits = max(len(self.numbers).bit_length(), 1)

    def _uses(self, unit: str) -> bool:
        return any(use.unit == unit for state in self.numbers for use in state.uses)

    # names

    def _field_bits(self, accessed: Field) -> int:
        bounds = field_bounds(self.algorithm)(accessed)
        if accessed in self.outputs:
            for each in self.bounds.values():
                bounds = hull(bounds, each.bounds(accessed))
        return bits_of(bounds)

    def _named(self, machine: Machine, form: KernelForm, operand: Operand) -> Named | Constant:
        if isinstance(operand, Constant):
            return operand
        if isinstance(operand, Wire):
            return Named(f"{_prefix(machine)}w{operand.number}", operand.bits)
        if isinstance(operand, Field):
            port = f"{operand.record}_{operand.name}"
            if operand.size:
                return Named(f"{port}_read_data", WORD_BITS)
            side = "out" if operand in self.outputs else "in"
            return Named(f"{side}_{port}", self._field_bits(operand))
        units = {PRODUCT: "product", QUOTIENT: "floor_quotient", REMAINDER: "floor_remainder"}
        if operand in units:
            return Named(units[operand], WORD_BITS)
        if operand == form.now:
            return Named("now", NOW_BITS)
        number = self.registers.numbers[machine.event, operand]
        return Named(f"r{number}", self.registers.widths[number])

    # text

    def compiled(self) -> CompiledModule:
        """The module."""
        events = {form.event: number for number, form in enumerate(self.forms)}
        clocks = {machine.event: clocks_of(machine) for machine in self.machines}
        lines = [self._header(events, clocks), f"module {module_name(self.algorithm)} ("]
        lines += [",\n".join(f"    {port}" for port in self._ports()), ");"]
        lines += [f"    {line}" for line in self._body()]
        lines += ["endmodule", *FOOTER]
        return CompiledModule(
            module_name(self.algorithm),
            "\n".join(lines),
            events,
            clocks,
            {one: self._field_bits(one) for one in self.inputs},
            {one: self._field_bits(one) for one in self.outputs},
            self.arrays,
            len(self.numbers) + 1,
            sum(self.registers.widths),
            self._uses("divide"),
        )

    def _header(self, events: dict[str, int], clocks: dict[str, Clocks]) -> str:
        rows = [
            f"// {number:5}  {event:20}  {clocks[event].least} to "
            f"{'no known bound' if clocks[event].most is None else clocks[event].most}"
            for event, number in events.items()
        ]
        title = self.algorithm.summary[:1].upper() + self.algorithm.summary[1:] + "."
        return HEADER.format(title=title, name=self.algorithm.name, events="\n".join(rows))

    def _ports(self) -> list[str]:
        ports = ["input  wire clk", "input  wire rst", "input  wire start"]
        ports += [f"input  wire [{EVENT_BITS - 1}:0] event_number"]
        ports += [f"input  wire signed [{NOW_BITS - 1}:0] now"]
        ports += ["output wire ready", "output reg  done"]
        ports += [f"output reg  signed [{WORD_BITS - 1}:0] answer"]
        for one in self.inputs:
            bits = self._field_bits(one)
            ports.append(f"input  wire signed [{bits - 1}:0] in_{one.record}_{one.name}")
        for one in self.outputs:
            bits = self._field_bits(one)
            ports.append(f"output reg  signed [{bits - 1}:0] out_{one.record}_{one.name}")
        for one in self.arrays:
            name, stored = f"{one.record}_{one.name}", self._written(one)
            ports.append(f"output wire [{_address_bits(one) - 1}:0] {name}_address")
            ports.append(f"input  wire signed [{WORD_BITS - 1}:0] {name}_read_data")
            if stored:
                ports.append(f"output wire {name}_write")
                ports.append(f"output wire signed [{WORD_BITS - 1}:0] {name}_write_data")
        return ports

    def _written(self, array: Field) -> bool:
        uses = (use for state in self.numbers for use in state.uses)
        return any(use.unit == "write" and use.field == array for use in uses)

    def _body(self) -> list[str]:
        lines = [f"reg [{self.state_bits - 1}:0] state;"]
        lines += [f"assign ready = (state == {literal(0, self.state_bits)});"]
        for number, bits in enumerate(self.registers.widths):
            lines.append(f"reg signed [{bits - 1}:0] r{number};")
        if any(step.op == "lfsr" for state in self.numbers for step in state.steps):
            lines += DRAWN.splitlines()
        if self._uses("multiply"):
            lines += MULTIPLIER.splitlines()
        if self._uses("divide"):
            lines += DIVIDER.format(bits=DIVIDER_BITS, step=DIVIDER_STEP).splitlines()
        for machine, form in zip(self.machines, self.forms, strict=True):
            for state in machine.states:
                lines += self._wires(machine, form, state)
        lines += self._array_ports()
        return lines + self._process()

    def _wires(self, machine: Machine, form: KernelForm, state: State) -> list[str]:
        names = partial(self._named, machine, form)
        prefix, lines = _prefix(machine), list[str]()
        for step in state.steps:
            lines += step_lines(step, names, f"{prefix}w{step.target.number}")
        return lines

    def _array_ports(self) -> list[str]:
        lines = []
        for array in self.arrays:
            address, data, writes = [], [], []
            for machine, form in zip(self.machines, self.forms, strict=True):
                for state in machine.states:
                    here = f"(state == {literal(self.numbers[state], self.state_bits)})"
                    for use in state.uses:
                        if use.field != array:
                            continue
                        given = [self._named(machine, form, one) for one in use.operands]
                        index = resized(given[0], _address_bits(array))
                        address.append(f"{here} ? {index} :\n        ")
                        if use.unit == "write":
                            writes.append(here)
                            data.append(f"{here} ? {resized(given[1], WORD_BITS)} :\n        ")
            name = f"{array.record}_{array.name}"
            none = literal(0, _address_bits(array))
            lines.append(f"assign {name}_address = {''.join(address)}{none};")
            if writes:
                lines.append(f"assign {name}_write = {' || '.join(writes)};")
                none = literal(0, WORD_BITS)
                lines.append(f"assign {name}_write_data = {''.join(data)}{none};")
        return lines

    def _process(self) -> list[str]:
        lines = ["always @(posedge clk) begin", "    done <= 1'b0;"]
        if self._uses("divide"):
            lines.append("    divide_start <= 1'b0;")
        lines += ["    if (rst) begin", f"        state <= {literal(0, self.state_bits)};"]
        lines += ["    end else begin", "        case (state)"]
        lines += [f"        {literal(0, self.state_bits)}: if (start) begin"]
        for one in self.outputs:
            port = f"{one.record}_{one.name}"
            lines.append(f"            out_{port} <= in_{port};")
        lines.append("            case (event_number)")
        for number, machine in enumerate(self.machines):
            entry = literal(self.numbers[machine.entry], self.state_bits)
            lines.append(f"            {literal(number, EVENT_BITS)}: state <= {entry};")
        lines.append(f"            default: state <= {literal(0, self.state_bits)};")
        lines += ["            endcase", "        end"]
        for machine, form in zip(self.machines, self.forms, strict=True):
            for state in machine.states:
                lines.append(f"        {literal(self.numbers[state], self.state_bits)}: begin")
                lines += [f"            {one}" for one in self._actions(machine, form, state)]
                lines.append("        end")
        lines.append(f"        default: state <= {literal(0, self.state_bits)};")
        return [*lines, "        endcase", "    end", "end"]

    def _actions(self, machine: Machine, form: KernelForm, state: State) -> list[str]:
        named, lines = partial(self._named, machine, form), list[str]()

        def target(state: State) -> str:
            return literal(self.numbers[state], self.state_bits)

        for place, operand in state.outputs.items():
            register = named(place)
            assert isinstance(register, Named)
            lines.append(f"{register.text} <= {resized(named(operand), register.bits)};")
        for use in state.uses:
            given = [signed(named(one), WORD_BITS) for one in use.operands]
            if use.unit == "multiply":
                lines += [f"factor_a <= {given[0]};", f"factor_b <= {given[1]};"]
            elif use.unit == "product":
                lines.append("product <= factor_a * factor_b;")
            elif use.unit == "divide":
                lines += [f"dividend <= {given[0]};", f"divisor <= {given[1]};"]
                lines.append("divide_start <= 1'b1;")
        if isinstance(state.end, Jump):
            condition = "if (divide_done) " if state.waits else ""
            lines.append(f"{condition}state <= {target(state.end.to)};")
        elif isinstance(state.end, Branch):
            test = is_true(named(state.end.test))
            then, orelse = target(state.end.then), target(state.end.orelse)
            lines.append(f"state <= {test} ? {then} : {orelse};")
        elif isinstance(state.end, Done):
            lines.append(f"answer <= {resized(named(state.end.answer), WORD_BITS)};")
            lines += ["done <= 1'b1;", f"state <= {literal(0, self.state_bits)};"]
        return lines


def _prefix(machine: Machine) -> str:
    return re.sub(r"\W", "_", machine.event) + "_"


def _address_bits(array: Field) -> int:
    return max((array.size - 1).bit_length(), 1)
