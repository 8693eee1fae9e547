// The QCN switch in the place of NetFPGA 1G's user_data_path, with its ports (64 bit, 125 MHz): the
// four MAC queues 0, 2, 4, 6 and the host's queue 1 are its ports 0 to 4; the host's other queues take
// and give nothing. The output queues are in block memory, not in the board's SRAM.
`default_nettype none

/* verilator lint_off UNUSEDPARAM */
module netfpga_1g_datapath #(
    parameter DATA_WIDTH = 64,
    parameter CTRL_WIDTH = DATA_WIDTH / 8,
    parameter UDP_REG_SRC_WIDTH = 2,
    parameter NUM_OUTPUT_QUEUES = 8,
    parameter NUM_INPUT_QUEUES = 8,
    parameter SRAM_DATA_WIDTH = DATA_WIDTH + CTRL_WIDTH,
    parameter SRAM_ADDR_WIDTH = 19,
    parameter WORDS = 2048                    // of each output queue
) (
    input  wire clk,
    input  wire reset,
    input  wire [DATA_WIDTH-1:0] in_data_0,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_0,
    input  wire in_wr_0,
    output wire in_rdy_0,
    input  wire [DATA_WIDTH-1:0] in_data_1,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_1,
    input  wire in_wr_1,
    output wire in_rdy_1,
    input  wire [DATA_WIDTH-1:0] in_data_2,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_2,
    input  wire in_wr_2,
    output wire in_rdy_2,
    input  wire [DATA_WIDTH-1:0] in_data_3,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_3,
    input  wire in_wr_3,
    output wire in_rdy_3,
    input  wire [DATA_WIDTH-1:0] in_data_4,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_4,
    input  wire in_wr_4,
    output wire in_rdy_4,
    input  wire [DATA_WIDTH-1:0] in_data_5,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_5,
    input  wire in_wr_5,
    output wire in_rdy_5,
    input  wire [DATA_WIDTH-1:0] in_data_6,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_6,
    input  wire in_wr_6,
    output wire in_rdy_6,
    input  wire [DATA_WIDTH-1:0] in_data_7,
    input  wire [CTRL_WIDTH-1:0] in_ctrl_7,
    input  wire in_wr_7,
    output wire in_rdy_7,
    output wire [DATA_WIDTH-1:0] out_data_0,
    output wire [CTRL_WIDTH-1:0] out_ctrl_0,
    output wire out_wr_0,
    input  wire out_rdy_0,
    output wire [DATA_WIDTH-1:0] out_data_1,
    output wire [CTRL_WIDTH-1:0] out_ctrl_1,
    output wire out_wr_1,
    input  wire out_rdy_1,
    output wire [DATA_WIDTH-1:0] out_data_2,
    output wire [CTRL_WIDTH-1:0] out_ctrl_2,
    output wire out_wr_2,
    input  wire out_rdy_2,
    output wire [DATA_WIDTH-1:0] out_data_3,
    output wire [CTRL_WIDTH-1:0] out_ctrl_3,
    output wire out_wr_3,
    input  wire out_rdy_3,
    output wire [DATA_WIDTH-1:0] out_data_4,
    output wire [CTRL_WIDTH-1:0] out_ctrl_4,
    output wire out_wr_4,
    input  wire out_rdy_4,
    output wire [DATA_WIDTH-1:0] out_data_5,
    output wire [CTRL_WIDTH-1:0] out_ctrl_5,
    output wire out_wr_5,
    input  wire out_rdy_5,
    output wire [DATA_WIDTH-1:0] out_data_6,
    output wire [CTRL_WIDTH-1:0] out_ctrl_6,
    output wire out_wr_6,
    input  wire out_rdy_6,
    output wire [DATA_WIDTH-1:0] out_data_7,
    output wire [CTRL_WIDTH-1:0] out_ctrl_7,
    output wire out_wr_7,
    input  wire out_rdy_7,
    output wire [SRAM_ADDR_WIDTH-1:0] wr_0_addr,
    output wire wr_0_req,
    input  wire wr_0_ack,
    output wire [SRAM_DATA_WIDTH-1:0] wr_0_data,
    input  wire rd_0_ack,
    input  wire [SRAM_DATA_WIDTH-1:0] rd_0_data,
    input  wire rd_0_vld,
    output wire [SRAM_ADDR_WIDTH-1:0] rd_0_addr,
    output wire rd_0_req,
    input  wire reg_req,
    output wire reg_ack,
    input  wire reg_rd_wr_L,
    input  wire [22:0] reg_addr,
    output wire [31:0] reg_rd_data,
    input  wire [31:0] reg_wr_data
);
    localparam PORTS = 5;
    localparam SOURCE_W = 3;
    // the queue of each port, 16 bits each, port 0 lowest
    localparam [16*PORTS-1:0] QUEUES = {16'd1, 16'd6, 16'd4, 16'd2, 16'd0};

    reg rst;
    always @(posedge clk) rst <= reset;

    wire [61:0] now;
    ps_clock #(.NUM(8), .DENOM(1)) clock (.clk(clk), .rst(rst), .now(now));

    wire [64*PORTS-1:0] in_data, s_tdata, m_tdata, out_data;
    wire [8*PORTS-1:0]  in_ctrl, s_tkeep, m_tkeep, out_ctrl;
    wire [PORTS-1:0]    in_wr, in_rdy, s_tvalid, s_tready, s_tlast, m_tvalid, m_tready, m_tlast;
    wire [PORTS-1:0]    out_wr, out_rdy;
    assign in_data = {in_data_1, in_data_6, in_data_4, in_data_2, in_data_0};
    assign in_ctrl = {in_ctrl_1, in_ctrl_6, in_ctrl_4, in_ctrl_2, in_ctrl_0};
    assign in_wr = {in_wr_1, in_wr_6, in_wr_4, in_wr_2, in_wr_0};
    assign out_rdy = {out_rdy_1, out_rdy_6, out_rdy_4, out_rdy_2, out_rdy_0};
    assign {in_rdy_1, in_rdy_6, in_rdy_4, in_rdy_2, in_rdy_0} = in_rdy;
    assign {out_data_1, out_data_6, out_data_4, out_data_2, out_data_0} = out_data;
    assign {out_ctrl_1, out_ctrl_6, out_ctrl_4, out_ctrl_2, out_ctrl_0} = out_ctrl;
    assign {out_wr_1, out_wr_6, out_wr_4, out_wr_2, out_wr_0} = out_wr;
    assign in_rdy_3 = 1'b1;
    assign out_data_3 = {DATA_WIDTH{1'b0}};
    assign out_ctrl_3 = {CTRL_WIDTH{1'b0}};
    assign out_wr_3 = 1'b0;
    assign in_rdy_5 = 1'b1;
    assign out_data_5 = {DATA_WIDTH{1'b0}};
    assign out_ctrl_5 = {CTRL_WIDTH{1'b0}};
    assign out_wr_5 = 1'b0;
    assign in_rdy_7 = 1'b1;
    assign out_data_7 = {DATA_WIDTH{1'b0}};
    assign out_ctrl_7 = {CTRL_WIDTH{1'b0}};
    assign out_wr_7 = 1'b0;

    wire [15:0] awaddr, araddr;
    wire [31:0] wdata, rdata;
    wire [3:0]  wstrb;
    wire [1:0]  bresp, rresp;
    wire awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
    netfpga_1g_registers requests (
        .clk(clk), .rst(rst), .reg_req(reg_req), .reg_ack(reg_ack), .reg_rd_wr_L(reg_rd_wr_L),
        .reg_addr(reg_addr), .reg_rd_data(reg_rd_data), .reg_wr_data(reg_wr_data),
        .m_axil_awaddr(awaddr), .m_axil_awvalid(awvalid), .m_axil_awready(awready),
        .m_axil_wdata(wdata), .m_axil_wstrb(wstrb), .m_axil_wvalid(wvalid), .m_axil_wready(wready),
        .m_axil_bvalid(bvalid), .m_axil_bready(bready), .m_axil_araddr(araddr),
        .m_axil_arvalid(arvalid), .m_axil_arready(arready), .m_axil_rdata(rdata),
        .m_axil_rvalid(rvalid), .m_axil_rready(rready)
    );

    wire [16*PORTS-1:0]       length;
    wire [SOURCE_W*PORTS-1:0] source;
    qcn_switch #(
        .DATA_W(64), .PORTS(PORTS), .WORDS(WORDS), .FRAMES(256), .INPUT_WORDS(512), .ADDR_W(16),
        .CLK_HZ(32'd125_000_000)
    ) switch (
        .clk(clk), .rst(rst), .now(now), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid),
        .s_axil_awready(awready),
        .s_axil_wdata(wdata), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
        .s_axil_araddr(araddr), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
        .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid),
        .m_tready(m_tready), .m_tlast(m_tlast), .m_length(length), .m_source(source)
    );

    genvar port;
    generate
        for (port = 0; port < PORTS; port = port + 1) begin : ports
            netfpga_1g_in from_queue (
                .clk(clk), .rst(rst), .in_data(in_data[64*port +: 64]),
                .in_ctrl(in_ctrl[8*port +: 8]), .in_wr(in_wr[port]), .in_rdy(in_rdy[port]),
                .m_tdata(s_tdata[64*port +: 64]), .m_tkeep(s_tkeep[8*port +: 8]),
                .m_tvalid(s_tvalid[port]), .m_tready(s_tready[port]), .m_tlast(s_tlast[port])
            );
            // what is made here has the number of the port that it leaves by
            wire [SOURCE_W-1:0] from = &source[SOURCE_W*port +: SOURCE_W]
                                       ? port[SOURCE_W-1:0] : source[SOURCE_W*port +: SOURCE_W];
            netfpga_1g_out to_queue (
                .clk(clk), .rst(rst), .s_tdata(m_tdata[64*port +: 64]),
                .s_tkeep(m_tkeep[8*port +: 8]), .s_tvalid(m_tvalid[port]),
                .s_tready(m_tready[port]), .s_tlast(m_tlast[port]), .length(length[16*port +: 16]),
                .source(QUEUES[16*from +: 16]), .destination(16'd1 << QUEUES[16*port +: 16]),
                .out_data(out_data[64*port +: 64]), .out_ctrl(out_ctrl[8*port +: 8]),
                .out_wr(out_wr[port]), .out_rdy(out_rdy[port])
            );
        end
    endgenerate

    assign wr_0_addr = {SRAM_ADDR_WIDTH{1'b0}};
    assign wr_0_req = 1'b0;
    assign wr_0_data = {SRAM_DATA_WIDTH{1'b0}};
    assign rd_0_addr = {SRAM_ADDR_WIDTH{1'b0}};
    assign rd_0_req = 1'b0;

    wire unused = |{wr_0_ack, rd_0_ack, rd_0_data, rd_0_vld, bresp, rresp,
                    in_data_3, in_ctrl_3, in_wr_3, out_rdy_3,
                    in_data_5, in_ctrl_5, in_wr_5, out_rdy_5,
                    in_data_7, in_ctrl_7, in_wr_7, out_rdy_7};
endmodule
/* verilator lint_on UNUSEDPARAM */

`default_nettype wire
