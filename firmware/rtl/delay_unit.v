// A delay line behind a register window on AXI-Lite, see delay_line.v. While it is not enabled, frames
// pass with no delay but the line's own; clear resets the counters, the frames in the line stay.
`default_nettype none

module delay_unit #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter WORDS = 4096,
    parameter FRAMES = 256,
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

    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    output wire              s_tready,
    input  wire              s_tlast,
    input  wire [USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser
);
    localparam [31:0] ROOM = WORDS * KEEP_W;

    wire        enable, clear, snapshot;
    wire [39:0] delay;
    wire [31:0] octets;
    wire [47:0] dropped;
    reg  [47:0] frames_out, dropped_before;
    delay_line_registers #(.NEXT(NEXT), .CAPS(ROOM), .CLK_HZ(CLK_HZ)) registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .enable(enable), .clear(clear), .snapshot(snapshot), .is_idle(octets == 32'd0),
        .delay(delay), .octets(octets), .frames_out(frames_out),
        .dropped(dropped - dropped_before)
    );
    always @(posedge clk)
        if (rst) begin
            frames_out <= 48'd0;
            dropped_before <= 48'd0;
        end else if (clear) begin
            frames_out <= 48'd0;
            dropped_before <= dropped;
        end else if (m_tvalid && m_tready && m_tlast)
            frames_out <= frames_out + 48'd1;

    delay_line #(.DATA_W(DATA_W), .USER_W(USER_W), .WORDS(WORDS), .FRAMES(FRAMES)) line (
        .clk(clk), .rst(rst), .now(now), .delay(enable ? delay : 40'd0),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser(s_tuser),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser), .dropped(dropped), .octets(octets)
    );

    wire unused = snapshot;
endmodule

`default_nettype wire
