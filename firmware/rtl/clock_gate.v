// The clock of a part that sleeps while nothing in it can change: it runs in every clock with `open`.
// Hardware needs no such thing, and has none: there `gated` is `clk`. With GATED_CLOCKS, for models
// that are clocked by firmware/model, whoever clocks the model reads `wanted` before an edge and lets
// `pulse` rise with it or not, so that what sleeps costs no work. `open` has to be 1 whenever
// a register of the part would change that anybody looks at; nothing else may depend on it.
`default_nettype none

module clock_gate (
    input  wire clk,
    input  wire open,
    output wire gated
);
`ifdef GATED_CLOCKS
    reg  pulse /* verilator public_flat_rw */;
    wire wanted /* verilator public_flat_rd */;
    assign wanted = open;
    assign gated = pulse;
    wire unused = clk;
`else
    assign gated = clk;
    wire unused = open;
`endif
endmodule

`default_nettype wire
