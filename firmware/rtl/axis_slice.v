// AXI-Stream register slice: two words deep, every output and `s_tready` a register, one word per
// clock, no path from `m_tready` to `s_tready`.
`default_nettype none

module axis_slice #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    output reg               s_tready,
    input  wire              s_tlast,
    input  wire [USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output reg               m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser
);
    localparam WORD_W = DATA_W + KEEP_W + 1 + USER_W;

    reg [WORD_W-1:0] first, second;
    wire [WORD_W-1:0] offered = {s_tuser, s_tlast, s_tkeep, s_tdata};
    assign {m_tuser, m_tlast, m_tkeep, m_tdata} = first;

    reg  second_full;                       // s_tready is then low
    wire leaves = !m_tvalid || m_tready;
    always @(posedge clk) begin
        if (leaves)
            first <= second_full ? second : offered;
        if (s_tready)
            second <= offered;
        if (rst) begin
            m_tvalid <= 1'b0;
            s_tready <= 1'b0;
            second_full <= 1'b0;
        end else if (leaves) begin
            m_tvalid <= second_full || (s_tready && s_tvalid);
            second_full <= 1'b0;
            s_tready <= 1'b1;
        end else begin
            if (s_tready && s_tvalid)
                second_full <= 1'b1;
            s_tready <= !second_full && !(s_tready && s_tvalid);
        end
    end
endmodule

`default_nettype wire
