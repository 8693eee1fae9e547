// qcn_switch with three ports that have names of their own, for benches.
`default_nettype none

module bench_switch #(
    parameter DATA_W = 64,
    parameter UNITS = 0,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [61:0]       now,
    input  wire [19:0]       s_axil_awaddr,
    input  wire              s_axil_awvalid,
    output wire              s_axil_awready,
    input  wire [31:0]       s_axil_wdata,
    input  wire [3:0]        s_axil_wstrb,
    input  wire              s_axil_wvalid,
    output wire              s_axil_wready,
    output wire [1:0]        s_axil_bresp,
    output wire              s_axil_bvalid,
    input  wire              s_axil_bready,
    input  wire [19:0]       s_axil_araddr,
    input  wire              s_axil_arvalid,
    output wire              s_axil_arready,
    output wire [31:0]       s_axil_rdata,
    output wire [1:0]        s_axil_rresp,
    output wire              s_axil_rvalid,
    input  wire              s_axil_rready,
    input  wire [DATA_W-1:0] s0_tdata, s1_tdata, s2_tdata,
    input  wire [KEEP_W-1:0] s0_tkeep, s1_tkeep, s2_tkeep,
    input  wire              s0_tvalid, s1_tvalid, s2_tvalid,
    output wire              s0_tready, s1_tready, s2_tready,
    input  wire              s0_tlast, s1_tlast, s2_tlast,
    output wire [DATA_W-1:0] m0_tdata, m1_tdata, m2_tdata,
    output wire [KEEP_W-1:0] m0_tkeep, m1_tkeep, m2_tkeep,
    output wire              m0_tvalid, m1_tvalid, m2_tvalid,
    input  wire              m0_tready, m1_tready, m2_tready,
    output wire              m0_tlast, m1_tlast, m2_tlast,

    output wire              event_valid,     // what the congestion point of port 2 sees
    output wire              event_kept,
    output wire [671:0]      event_header,
    output wire [15:0]       event_length,
    output wire [31:0]       event_queue,
    output wire              event_leaves,    // behind what comes in the same clock
    output wire              event_holds
);
    qcn_switch #(
        .DATA_W(DATA_W), .PORTS(3), .WORDS(4096), .FRAMES(512), .INPUT_WORDS(2048), .UNITS(UNITS)
    ) dut (
        .clk(clk), .rst(rst), .now(now),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .s_tdata({s2_tdata, s1_tdata, s0_tdata}), .s_tkeep({s2_tkeep, s1_tkeep, s0_tkeep}),
        .s_tvalid({s2_tvalid, s1_tvalid, s0_tvalid}), .s_tready({s2_tready, s1_tready, s0_tready}),
        .s_tlast({s2_tlast, s1_tlast, s0_tlast}),
        .m_tdata({m2_tdata, m1_tdata, m0_tdata}), .m_tkeep({m2_tkeep, m1_tkeep, m0_tkeep}),
        .m_tvalid({m2_tvalid, m1_tvalid, m0_tvalid}), .m_tready({m2_tready, m1_tready, m0_tready}),
        .m_tlast({m2_tlast, m1_tlast, m0_tlast})
    );
    assign event_valid = dut.ports[2].output_port.cp_on && dut.ports[2].output_port.counts;
    assign event_kept = dut.ports[2].output_port.in_kept;
    assign event_header = dut.ports[2].output_port.arrived;
    assign event_leaves = dut.ports[2].output_port.out_valid;
    assign event_holds = dut.ports[2].output_port.hold;
    assign event_length = dut.ports[2].output_port.in_length;
    assign event_queue = dut.ports[2].output_port.in_queue;
endmodule

`default_nettype wire
