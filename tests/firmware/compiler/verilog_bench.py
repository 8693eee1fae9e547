"""Test bench of a compiled module: runs calls in Icarus Verilog and compares with the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from firmware.compiler.compiled_module import CompiledModule
from firmware.compiler.form_interpreter import Cell
from firmware.compiler.intermediate_form import Field
from firmware.compiler.verilog_module import EVENT_BITS, NOW_BITS
from firmware.verilog_modules import RTL
from tests.firmware.compiler.kernel_calls import KernelCall, differences
from tests.firmware.icarus_bench import printed_lines

CELLS = 1 << 14
"""Cells of a memory in the bench; others read 0."""
MOST_CLOCKS = 50_000
BENCH = """\
`timescale 1ns/1ns
module bench;
    reg clk = 0, rst = 1, start = 0;
    reg [{event_bits}-1:0] event_number;
    reg signed [{now_bits}-1:0] now;
    wire ready, done;
    wire signed [63:0] answer;
    reg [63:0] word, at;
    integer file, got, count, clocks, row;
    always #1 clk = !clk;
{declarations}
    {name} module_under_test (
        .clk(clk), .rst(rst), .start(start), .event_number(event_number), .now(now),
        .ready(ready), .done(done), .answer(answer){connections}
    );
    initial begin
{clear}
        file = $fopen("stimulus", "r");
        repeat (3) @(negedge clk);
        rst = 0;
        while ($fscanf(file, "%h", word) == 1) begin
            event_number = word[{event_bits}-1:0];
            got = $fscanf(file, "%h", word); now = word[{now_bits}-1:0];
{read}
            start = 1;
            @(negedge clk);
            start = 0;
            clocks = 1;
            while (!done && clocks < {most}) begin
                @(negedge clk);
                clocks = clocks + 1;
            end
            if (!done) begin
                $display("event %0d does not end", event_number);
                $finish;
            end
            $display("d %0d %0d{formats}", answer, clocks{values});
        end
        $finish;
    end
endmodule
"""
MEMORY = """\
    reg signed [63:0] {name}_memory [0:{last}];
    reg signed [63:0] {name}_data;
    wire [{bits}-1:0] {name}_address;{writes}
    always @(posedge clk) begin
        {name}_data <= ({name}_address <= {last}) ? {name}_memory[{name}_address] : 64'h0;{store}
    end"""
STORE = """
        if ({name}_write) begin
            {name}_memory[{name}_address] <= {name}_write_data;
            $display("w {number} %0d %0d", {name}_address, {name}_write_data);
        end"""


def bench_text(module: CompiledModule) -> str:
    """Verilog of the bench."""
    declarations, connections, clear, read = [], [], [], []
    for field, bits in module.inputs.items():
        port = f"in_{field.record}_{field.name}"
        declarations.append(f"    reg signed [{bits - 1}:0] {port};")
        connections.append(f", .{port}({port})")
        read.append(f'            got = $fscanf(file, "%h", word); {port} = word[{bits - 1}:0];')
    for field, bits in module.outputs.items():
        port = f"out_{field.record}_{field.name}"
        declarations.append(f"    wire signed [{bits - 1}:0] {port};")
        connections.append(f", .{port}({port})")
    for number, array in enumerate(module.arrays):
        name = f"{array.record}_{array.name}"
        size, bits = min(array.size, CELLS), max((array.size - 1).bit_length(), 1)
        written = f"{name}_write_data" in module.verilog
        writes = f"\n    wire {name}_write;\n    wire signed [63:0] {name}_write_data;"
        declarations.append(
            MEMORY.format(
                name=name,
                last=size - 1,
                bits=bits,
                writes=writes if written else "",
                store=STORE.format(name=name, number=number) if written else "",
            )
        )
        ports = ["address", "read_data", *(("write", "write_data") if written else ())]
        wires = {"read_data": "data"}
        connections += [f", .{name}_{one}({name}_{wires.get(one, one)})" for one in ports]
        clear.append(f"        for (row = 0; row < {size}; row = row + 1) {name}_memory[row] = 0;")
        read.append(
            f'            got = $fscanf(file, "%h", count);\n'
            f"            for (row = 0; row < count; row = row + 1) begin\n"
            f'                got = $fscanf(file, "%h %h", at, word); {name}_memory[at] = word;\n'
            f"            end"
        )
    outputs = [f"out_{field.record}_{field.name}" for field in module.outputs]
    return BENCH.format(
        name=module.name,
        event_bits=EVENT_BITS,
        now_bits=NOW_BITS,
        declarations="\n".join(declarations),
        connections="".join(connections),
        clear="\n".join(clear),
        read="\n".join(read),
        most=MOST_CLOCKS,
        formats=" %0d" * len(outputs),
        values="".join(f", {port}" for port in outputs),
    )


def _hex(value: int) -> str:
    return f"{value & ((1 << 64) - 1):x}"


def _stimulus(module: CompiledModule, calls: Sequence[KernelCall]) -> str:
    lines, touched = [], {array: set[int]() for array in module.arrays}
    for call in calls:
        words = [_hex(module.events[call.event]), _hex(call.now)]
        words += [_hex(call.before.get((f.record, f.name, 0), 0)) for f in module.inputs]
        for array in module.arrays:
            cells = _cells_of(array, call.before)
            words.append(_hex(len(touched[array] | set(cells))))
            for index in sorted(touched[array] | set(cells)):
                words += [_hex(index), _hex(cells.get(index, 0))]
            touched[array] |= {*cells, *_cells_of(array, call.after)}
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _cells_of(array: Field, cells: dict[Cell, int]) -> dict[int, int]:
    mine = (array.record, array.name)
    return {index: v for (*at, index), v in cells.items() if tuple(at) == mine and index < CELLS}


def module_differences(
    module: CompiledModule, calls: Sequence[KernelCall], folder: Path
) -> list[str]:
    """Differences of the simulated module from the kernel; clocks beyond the stated bounds, too."""
    (folder / "module.v").write_text(module.verilog)
    (folder / "bench.v").write_text(bench_text(module))
    (folder / "stimulus").write_text(_stimulus(module, calls))
    found, writes, number = list[str](), list[tuple[int, int, int]](), 0
    for line in printed_lines(folder, ["module.v", "bench.v", RTL / "divide.v"]):
        kind, *rest = line.split()
        if kind == "w":
            writes.append((int(rest[0]), int(rest[1]), int(rest[2])))
            continue
        if kind != "d":
            return [*found, line]
        found += _call_differences(module, calls[number], rest, writes)
        number, writes = number + 1, []
    return found if number == len(calls) else [*found, f"{number} of {len(calls)} calls end"]


def _call_differences(
    module: CompiledModule,
    call: KernelCall,
    words: list[str],
    writes: list[tuple[int, int, int]],
) -> list[str]:
    answer, clocks, *outputs = words
    cells, found = dict(call.before), list[str]()
    for field, value in zip(module.outputs, outputs, strict=True):
        if not value.lstrip("-").isdigit():
            return [f"{call.event}: {field} is {value}"]
        cells[field.record, field.name, 0] = int(value)
    for array, index, value in writes:
        cells[module.arrays[array].record, module.arrays[array].name, index] = value
    if answer != str(call.answer):
        found.append(f"answer: {answer}, the kernel has {call.answer}")
    found += differences(cells, call.after)
    bounds = module.clocks[call.event]
    if int(clocks) < bounds.least or (bounds.most is not None and int(clocks) > bounds.most):
        found.append(f"takes {clocks} clocks, stated: {bounds.least} to {bounds.most}")
    return [f"{call.event}: {one}" for one in found]
