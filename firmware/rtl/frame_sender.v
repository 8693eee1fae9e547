// Sends the octets that it is given as one AXI-Stream frame: OCTETS of them, then zeros up to
// `length`. `request_ready` is low while it sends. No path from `m_tready` to `request_ready`.
`default_nettype none

module frame_sender #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter OCTETS = 60,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                request_valid,
    output wire                request_ready,
    input  wire [8*OCTETS-1:0] octets,        // octet 0 in bits 7:0
    input  wire [15:0]         length,        // at least 1
    input  wire [USER_W-1:0]   user,          // of every word
    output wire [DATA_W-1:0]   m_tdata,
    output wire [KEEP_W-1:0]   m_tkeep,
    output reg                 m_tvalid,
    input  wire                m_tready,
    output wire                m_tlast,
    output reg  [USER_W-1:0]   m_tuser
);
    localparam WORDS = OCTETS / KEEP_W + 1;
    localparam [31:0] WORD_NUMBER = KEEP_W;
    localparam [15:0] WORD = WORD_NUMBER[15:0];

    reg [WORDS*DATA_W-1:0] rest;
    reg [15:0]             left;              // octets, this word's included

    assign request_ready = !m_tvalid;
    assign m_tdata = rest[DATA_W-1:0];
    assign m_tlast = left <= WORD;
    assign m_tkeep = m_tlast ? ~({KEEP_W{1'b1}} << left) : {KEEP_W{1'b1}};

    always @(posedge clk)
        if (rst) begin
            m_tvalid <= 1'b0;
        end else if (!m_tvalid) begin
            m_tvalid <= request_valid;
            if (request_valid) begin
                rest <= {{(WORDS * DATA_W - 8 * OCTETS){1'b0}}, octets};
                left <= length;
                m_tuser <= user;
            end
        end else if (m_tready) begin
            rest <= rest >> DATA_W;
            left <= left - WORD;
            m_tvalid <= !m_tlast;
        end
endmodule

`default_nettype wire
