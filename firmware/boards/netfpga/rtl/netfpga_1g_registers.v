// NetFPGA 1G's register requests to an AXI-Lite slave: a request stands until it is acknowledged.
`default_nettype none

module netfpga_1g_registers (
    input  wire        clk,
    input  wire        rst,
    input  wire        reg_req,
    output reg         reg_ack,
    input  wire        reg_rd_wr_L,          // 1: read
    input  wire [22:0] reg_addr,             // of 32-bit words
    output reg  [31:0] reg_rd_data,
    input  wire [31:0] reg_wr_data,

    output wire [15:0] m_axil_awaddr,
    output reg         m_axil_awvalid,
    input  wire        m_axil_awready,
    output wire [31:0] m_axil_wdata,
    output wire [3:0]  m_axil_wstrb,
    output reg         m_axil_wvalid,
    input  wire        m_axil_wready,
    input  wire        m_axil_bvalid,
    output wire        m_axil_bready,
    output wire [15:0] m_axil_araddr,
    output reg         m_axil_arvalid,
    input  wire        m_axil_arready,
    input  wire [31:0] m_axil_rdata,
    input  wire        m_axil_rvalid,
    output wire        m_axil_rready
);
    localparam [1:0] FREE = 2'd0, BUSY = 2'd1, OVER = 2'd2;
    reg [1:0]  state;
    reg [15:0] address;
    reg [31:0] value;
    assign m_axil_awaddr = address;
    assign m_axil_araddr = address;
    assign m_axil_wdata = value;
    assign m_axil_wstrb = 4'hF;
    assign m_axil_bready = state == BUSY;
    assign m_axil_rready = state == BUSY;

    always @(posedge clk) begin
        reg_ack <= 1'b0;
        if (rst) begin
            state <= FREE;
            m_axil_awvalid <= 1'b0;
            m_axil_wvalid <= 1'b0;
            m_axil_arvalid <= 1'b0;
        end else case (state)
            FREE: if (reg_req) begin
                state <= BUSY;
                address <= {reg_addr[13:0], 2'b00};
                value <= reg_wr_data;
                m_axil_awvalid <= !reg_rd_wr_L;
                m_axil_wvalid <= !reg_rd_wr_L;
                m_axil_arvalid <= reg_rd_wr_L;
            end
            BUSY: begin
                if (m_axil_awready)
                    m_axil_awvalid <= 1'b0;
                if (m_axil_wready)
                    m_axil_wvalid <= 1'b0;
                if (m_axil_arready)
                    m_axil_arvalid <= 1'b0;
                if (m_axil_bvalid || m_axil_rvalid) begin
                    reg_ack <= 1'b1;
                    reg_rd_data <= m_axil_rdata;
                    state <= OVER;
                end
            end
            default: if (!reg_ack && !reg_req)
                state <= FREE;
        endcase
    end

    wire unused = |reg_addr[22:14];
endmodule

`default_nettype wire
