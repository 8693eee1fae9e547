"""Generator of the Verilog decoder of a register map: an AXI-Lite slave, a port per register."""

from __future__ import annotations

from firmware.registers import register_map as at
from firmware.registers.register_map import Register, RegisterMap

HEAD = """\
// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// {summary}: the register window. See docs/registers.md.
`default_nettype none

module {module}_registers #(
    parameter [31:0] NEXT = 32'd0,
    parameter [31:0] CAPS = 32'd0,
    parameter [31:0] CLK_HZ = 32'd125_000_000
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output wire        s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output wire        s_axil_rvalid,
    input  wire        s_axil_rready,

    output reg         enable,
    output reg         clear,
    output reg         snapshot,
    input  wire        is_idle{ports}
);
    wire        write;
    wire [9:0]  write_word;
    wire [31:0] write_data;
    wire [9:0]  read_word;
    reg  [31:0] read_data;

    axil_window window (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .write(write), .write_word(write_word), .write_data(write_data),
        .read_word(read_word), .read_data(read_data)
    );
"""

WORD_BITS = 32


def word_number(offset: int) -> str:
    """A word's number in the window, as a constant of ten bits."""
    return f"10'h{offset // at.WORD:03x}"


def constant(value: int, width: int) -> str:
    """A sized constant."""
    return f"{width}'d{value}"


def bits(width: int) -> str:
    """The range of a vector; empty for one bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


def _ports(registers: tuple[Register, ...]) -> str:
    lines = []
    for register in registers:
        kind = "output reg  " if register.writable else "input  wire "
        lines.append(f"{kind}{bits(register.width)}{register.name}")
        if register.access == "command":
            lines.append(f"output reg  {register.name}_written")
    return "".join(f",\n    {line}" for line in lines)


def _variables(registers: tuple[Register, ...]) -> list[str]:
    lines = []
    for register in registers:
        if register.access == "counter":
            lines.append(f"    reg  {bits(register.width)}{register.name}_held;")
        elif register.writable and register.words == 2:
            lines.append(f"    reg  [31:0] {register.name}_low;")
    return lines


def _resets(registers: tuple[Register, ...]) -> list[str]:
    lines = ["            enable <= 1'b0;"]
    for register in registers:
        if register.writable:
            value = constant(register.reset, register.width)
            lines.append(f"            {register.name} <= {value};")
    return lines


def _writes(registers: tuple[Register, ...]) -> list[str]:
    control = word_number(at.CONTROL)
    lines = [
        f"            {control}: begin",
        f"                enable <= write_data[{at.ENABLE_BIT}];",
        f"                clear <= write_data[{at.CLEAR_BIT}];",
        f"                snapshot <= write_data[{at.SNAPSHOT_BIT}];",
        "            end",
    ]
    for register in registers:
        if not register.writable:
            continue
        name, first = register.name, word_number(register.offset)
        if register.words == 2:
            lines.append(f"            {first}: {name}_low <= write_data;")
            high = register.width - WORD_BITS
            value = f"{{write_data[{high - 1}:0], {name}_low}}"
        else:
            value = f"write_data[{register.width - 1}:0]"
        last = word_number(register.offset + at.WORD * (register.words - 1))
        lines.append(f"            {last}: begin")
        lines.append(f"                {name} <= {value};")
        if register.access == "command":
            lines.append(f"                {name}_written <= 1'b1;")
        lines.append("            end")
    return lines


def _padded(name: str, low: int, width: int) -> str:
    """32 bits of a signal of `width` bits, from bit `low` on, zeros above."""
    if width <= low:
        return constant(0, WORD_BITS)
    high = min(width, low + WORD_BITS) - 1
    part = name if width == 1 or (low == 0 and high == width - 1) else f"{name}[{high}:{low}]"
    zeros = WORD_BITS - (high - low + 1)
    return f"{{{zeros}'d0, {part}}}" if zeros else part


def _reads(map_: RegisterMap) -> list[str]:
    values = {
        at.ID: constant(map_.identity, WORD_BITS),
        at.VERSION: constant(map_.version, WORD_BITS),
        at.CONTROL: "{31'd0, enable}",
        at.STATUS: "{31'd0, is_idle}",
        at.NEXT: "NEXT",
        at.CAPS: "CAPS",
        at.CLK_HZ: "CLK_HZ",
    }
    for register in map_.registers:
        held = "_held" if register.access == "counter" else ""
        for word in range(register.words):
            values[register.offset + at.WORD * word] = _padded(
                register.name + held, WORD_BITS * word, register.width
            )
    return [f"            {word_number(o)}: read_data = {v};" for o, v in values.items()]


def verilog(map_: RegisterMap) -> str:
    """The text of `<module>_registers.v`."""
    registers = map_.registers
    commands = [r.name for r in registers if r.access == "command"]
    counters = [r.name for r in registers if r.access == "counter"]
    lines = [
        HEAD.format(summary=map_.summary, module=map_.module, ports=_ports(registers)),
        *_variables(registers),
        "",
        "    always @(posedge clk) begin",
        "        clear <= 1'b0;",
        "        snapshot <= 1'b0;",
        *(f"        {name}_written <= 1'b0;" for name in commands),
        "        if (rst) begin",
        *_resets(registers),
        "        end else if (write) case (write_word)",
        *_writes(registers),
        "            default: ;",
        "        endcase",
        "    end",
        "",
        "    always @(posedge clk) begin",
        "        if (snapshot) begin",
        *(f"            {name}_held <= {name};" for name in counters),
        "        end",
        "    end",
        "",
        "    always @*",
        "        case (read_word)",
        *_reads(map_),
        "            default: read_data = 32'd0;",
        "        endcase",
        "",
        "    wire unused = |write_data;",
        "endmodule",
        "",
        "`default_nettype wire",
        "",
    ]
    return "\n".join(lines)
