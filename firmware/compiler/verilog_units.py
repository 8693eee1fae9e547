"""Fixed text of compiled modules: header, random source, multiplier, divider."""

from __future__ import annotations

HEADER = """\
// {title}
// Compiled from the Python kernels of {name} (`tailback gateware compile {name}`); not edited.
//
// `start` takes an event while `ready` is 1: `event_number` is that of the kernel (others are
// ignored), `now` the time in ps.
// The inputs stay as they are until `done`, which is 1 for one clock: `answer` and all `out_` ports
// are valid then and until the next event. `in_` ports hold the fields of records before an event,
// `out_` ports those after it. An array lies in a memory outside, which answers a read one clock
// after its address.
//
// event  kernel                clocks, least to most
{events}
`default_nettype none
/* verilator lint_off UNUSEDSIGNAL */
"""
FOOTER = ("/* verilator lint_on UNUSEDSIGNAL */", "`default_nettype wire", "")
DRAWN = """\
function [63:0] drawn;  // lfsr_next of orchestrator/engine/lfsr.py
    input [63:0] value;
    integer step;
    begin
        drawn = value;
        for (step = 0; step < 32; step = step + 1)
            drawn = {drawn[63], drawn[63:1]} ^ (drawn[0] ? 64'h80200003 : 64'h0);
    end
endfunction
"""
MULTIPLIER = """\
reg signed [63:0] factor_a, factor_b, product;
"""
DIVIDER = """\
reg signed [63:0] dividend, divisor;
reg divide_start;
wire divide_busy, divide_done;
wire [{bits}-1:0] magnitude_quotient, magnitude_remainder;
wire [{bits}-1:0] dividend_magnitude = dividend[63] ? -dividend : dividend;
wire [{bits}-1:0] divisor_magnitude = divisor[63] ? -divisor : divisor;
divide #(.DIVIDEND_W({bits}), .DIVISOR_W({bits}), .STEP({step})) divider (
    .clk(clk), .rst(rst), .start(divide_start), .busy(divide_busy), .done(divide_done),
    .dividend(dividend_magnitude), .divisor(divisor_magnitude),
    .quotient(magnitude_quotient), .remainder(magnitude_remainder)
);
// Python rounds a quotient towards minus infinity; a remainder has the sign of the divisor.
wire unlike = dividend[63] != divisor[63];
wire exact = magnitude_remainder == 64'h0;
wire [63:0] floor_quotient = !unlike ? magnitude_quotient :
    exact ? -magnitude_quotient : ~magnitude_quotient;
wire [63:0] rest_magnitude = (unlike && !exact) ?
    divisor_magnitude - magnitude_remainder : magnitude_remainder;
wire [63:0] floor_remainder = divisor[63] ? -rest_magnitude : rest_magnitude;
"""
