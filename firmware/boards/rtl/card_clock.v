// The clock of a card, behind a register window: time in ps since the reset (ps_clock.v), which no
// register sets back. The host reads it to set in it when flows start and buckets are filled.
`default_nettype none

module card_clock #(
    parameter NUM = 4,                        // period of clk in ns: NUM / DENOM
    parameter DENOM = 1,
    parameter [31:0] NEXT = 32'd0,            // of the chain of windows
    parameter [31:0] CLK_HZ = 32'd250_000_000
) (
    input  wire        clk,
    input  wire        rst,
    output wire [61:0] now,                   // ps

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
    input  wire        s_axil_rready
);
    ps_clock #(.NUM(NUM), .DENOM(DENOM)) clock (.clk(clk), .rst(rst), .now(now));

    wire enable, clear, snapshot;
    card_clock_registers #(.NEXT(NEXT), .CLK_HZ(CLK_HZ)) registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready), .enable(enable), .clear(clear), .snapshot(snapshot),
        .is_idle(1'b1), .now(now)
    );

    wire unused = |{enable, clear, snapshot};
endmodule

`default_nettype wire
