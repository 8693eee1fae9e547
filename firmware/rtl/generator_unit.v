// A packet generator behind a register window on AXI-Lite, see packet_generator.v. Enable starts it;
// its fields are to be set before. Clear starts it afresh, with frame 0.
`default_nettype none

module generator_unit #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter [31:0] NEXT = 32'd0,            // of the chain of windows
    parameter [31:0] CLK_HZ = 32'd125_000_000,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [61:0]       now,             // ps

    input  wire [11:0]       s_axil_awaddr,
    input  wire              s_axil_awvalid,
    output wire              s_axil_awready,
    input  wire [31:0]       s_axil_wdata,
    input  wire [3:0]        s_axil_wstrb,
    input  wire              s_axil_wvalid,
    output wire              s_axil_wready,
    output wire [1:0]        s_axil_bresp,
    output wire              s_axil_bvalid,
    input  wire              s_axil_bready,
    input  wire [11:0]       s_axil_araddr,
    input  wire              s_axil_arvalid,
    output wire              s_axil_arready,
    output wire [31:0]       s_axil_rdata,
    output wire [1:0]        s_axil_rresp,
    output wire              s_axil_rvalid,
    input  wire              s_axil_rready,

    input  wire [USER_W-1:0] user,            // of every frame
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser
);
    localparam [31:0] OCTETS = KEEP_W;

    wire        enable, clear, snapshot;
    wire [61:0] whole;
    wire [39:0] rest, rate;
    wire [15:0] length;
    wire [23:0] source, destination;
    wire [2:0]  priority_code;
    wire [1:0]  ecn;
    wire [31:0] flow;
    wire [63:0] frames;
    packet_generator_registers #(.NEXT(NEXT), .CAPS(OCTETS), .CLK_HZ(CLK_HZ)) registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .enable(enable), .clear(clear), .snapshot(snapshot), .is_idle(!enable && !m_tvalid),
        .whole(whole), .rest(rest), .rate(rate), .length(length), .source(source),
        .destination(destination), .priority_code(priority_code), .ecn(ecn), .flow(flow),
        .frames(frames)
    );
    packet_generator #(.DATA_W(DATA_W), .USER_W(USER_W)) generator (
        .clk(clk), .rst(rst), .clear(clear), .enable(enable), .now(now), .whole(whole), .rest(rest),
        .rate(rate), .length(length), .source(source), .destination(destination),
        .priority_code(priority_code), .flow(flow), .ecn(ecn), .user(user),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser), .sequence_number(frames)
    );

    wire unused = snapshot;
endmodule

`default_nettype wire
