// A QCN switch in NetFPGA's data path (SUME, PLUS): resets active low, registers on a clock of their
// own, tuser with a frame's length [15:0], source [23:16] and destination port [31:24], one bit each.
// CODES has those of the ports, 8 bits each, port 0 lowest. What the switch makes itself has source 0.
// Octet 0 is in tdata[7:0] here as there; one of the ports may be that of the host's DMA.
`default_nettype none

module netfpga_switch #(
    parameter PORTS = 3,
    parameter DATA_W = 512,
    parameter [8*PORTS-1:0] CODES = 24'h02_04_01,
    parameter CLK_MHZ = 250,
    parameter WORDS = 4096,
    parameter FRAMES = 1024,
    parameter INPUT_WORDS = 512,
    parameter USER_W = 128,
    parameter ADDR_W = 16,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire                    axis_aclk,
    input  wire                    axis_resetn,
    input  wire                    axi_aclk,
    input  wire                    axi_resetn,

    input  wire [ADDR_W-1:0]       s_axil_awaddr,
    input  wire                    s_axil_awvalid,
    output wire                    s_axil_awready,
    input  wire [31:0]             s_axil_wdata,
    input  wire [3:0]              s_axil_wstrb,
    input  wire                    s_axil_wvalid,
    output wire                    s_axil_wready,
    output wire [1:0]              s_axil_bresp,
    output wire                    s_axil_bvalid,
    input  wire                    s_axil_bready,
    input  wire [ADDR_W-1:0]       s_axil_araddr,
    input  wire                    s_axil_arvalid,
    output wire                    s_axil_arready,
    output wire [31:0]             s_axil_rdata,
    output wire [1:0]              s_axil_rresp,
    output wire                    s_axil_rvalid,
    input  wire                    s_axil_rready,

    input  wire [PORTS*DATA_W-1:0] s_axis_tdata,
    input  wire [PORTS*KEEP_W-1:0] s_axis_tkeep,
    input  wire [PORTS*USER_W-1:0] s_axis_tuser,
    input  wire [PORTS-1:0]        s_axis_tvalid,
    output wire [PORTS-1:0]        s_axis_tready,
    input  wire [PORTS-1:0]        s_axis_tlast,
    output wire [PORTS*DATA_W-1:0] m_axis_tdata,
    output wire [PORTS*KEEP_W-1:0] m_axis_tkeep,
    output wire [PORTS*USER_W-1:0] m_axis_tuser,
    output wire [PORTS-1:0]        m_axis_tvalid,
    input  wire [PORTS-1:0]        m_axis_tready,
    output wire [PORTS-1:0]        m_axis_tlast
);
    localparam SOURCE_W = $clog2(PORTS + 1);
    localparam [31:0] CLK_HZ = CLK_MHZ * 1_000_000;

    reg rst, axi_rst;
    always @(posedge axis_aclk) rst <= !axis_resetn;
    always @(posedge axi_aclk) axi_rst <= !axi_resetn;

    wire [61:0] now;
    ps_clock #(.NUM(1000), .DENOM(CLK_MHZ)) clock (.clk(axis_aclk), .rst(rst), .now(now));

    wire [ADDR_W-1:0] awaddr, araddr;
    wire [31:0]       wdata, rdata;
    wire [3:0]        wstrb;
    wire [1:0]        bresp, rresp;
    wire awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
    axil_crossing #(.ADDR_W(ADDR_W)) crossing (
        .s_clk(axi_aclk), .s_rst(axi_rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .m_clk(axis_aclk), .m_rst(rst), .m_axil_awaddr(awaddr), .m_axil_awvalid(awvalid),
        .m_axil_awready(awready), .m_axil_wdata(wdata), .m_axil_wstrb(wstrb),
        .m_axil_wvalid(wvalid), .m_axil_wready(wready), .m_axil_bresp(bresp),
        .m_axil_bvalid(bvalid), .m_axil_bready(bready), .m_axil_araddr(araddr),
        .m_axil_arvalid(arvalid), .m_axil_arready(arready), .m_axil_rdata(rdata),
        .m_axil_rresp(rresp), .m_axil_rvalid(rvalid), .m_axil_rready(rready)
    );

    wire [16*PORTS-1:0]       length;
    wire [SOURCE_W*PORTS-1:0] source;
    qcn_switch #(
        .DATA_W(DATA_W), .PORTS(PORTS), .WORDS(WORDS), .FRAMES(FRAMES), .INPUT_WORDS(INPUT_WORDS),
        .CLK_HZ(CLK_HZ), .ADDR_W(ADDR_W)
    ) switch (
        .clk(axis_aclk), .rst(rst), .now(now), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid),
        .s_axil_awready(awready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_bresp(bresp),
        .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_rdata(rdata),
        .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .s_tdata(s_axis_tdata), .s_tkeep(s_axis_tkeep), .s_tvalid(s_axis_tvalid),
        .s_tready(s_axis_tready), .s_tlast(s_axis_tlast), .m_tdata(m_axis_tdata),
        .m_tkeep(m_axis_tkeep), .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready),
        .m_tlast(m_axis_tlast), .m_length(length), .m_source(source)
    );

    genvar port;
    generate
        for (port = 0; port < PORTS; port = port + 1) begin : users
            // one code more than there are ports: 0, of what was made here
            wire [8*(1<<SOURCE_W)-1:0] codes = {{(8 * ((1 << SOURCE_W) - PORTS)){1'b0}}, CODES};
            wire [SOURCE_W-1:0]        from = source[SOURCE_W*port +: SOURCE_W];
            assign m_axis_tuser[USER_W*port +: USER_W] = {
                {(USER_W - 32){1'b0}}, CODES[8*port +: 8], codes[8*from +: 8],
                length[16*port +: 16]};
        end
    endgenerate

    wire unused = |s_axis_tuser;
endmodule

`default_nettype wire
