// From NetFPGA 1G's input queues (64 bits and 8 of ctrl, octet 0 in the top bits) to AXI-Stream.
// Words with ctrl before the first without are headers, which are left out; ctrl of a frame's last
// word has the bit of its last octet. The stream behind is not to stall: `in_rdy` says no more than that.
`default_nettype none

module netfpga_1g_in (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] in_data,
    input  wire [7:0]  in_ctrl,
    input  wire        in_wr,
    output wire        in_rdy,
    output reg  [63:0] m_tdata,
    output reg  [7:0]  m_tkeep,
    output reg         m_tvalid,
    input  wire        m_tready,
    output reg         m_tlast
);
    reg in_frame;                               // the frame's first word has come
    assign in_rdy = m_tready;

    integer octet;
    always @(posedge clk) begin
        for (octet = 0; octet < 8; octet = octet + 1) begin
            m_tdata[8*octet +: 8] <= in_data[8*(7-octet) +: 8];
            // octet n is there when the last one is n or a later one: a bit of ctrl at 7 - n or below
            m_tkeep[octet] <= in_ctrl == 8'd0 || (in_ctrl & (8'hFF >> octet)) != 8'd0;
        end
        m_tlast <= in_ctrl != 8'd0;
        m_tvalid <= !rst && in_wr && (in_frame || in_ctrl == 8'd0);
        if (rst)
            in_frame <= 1'b0;
        else if (in_wr)
            in_frame <= in_ctrl == 8'd0;
    end
endmodule

`default_nettype wire
