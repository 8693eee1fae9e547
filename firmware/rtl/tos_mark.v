// Another TOS octet in a frame that passes, and the checksum of its header that follows (RFC 1624,
// equation 3). Only VLAN-tagged IPv4 is marked (orchestrator/engine/frames/frame_layout.py).
//
// `take`: before the frame's first word, with its header, says whether it `marks`, with which octet.
`default_nettype none

module tos_mark #(
    parameter DATA_W = 64,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              take,
    input  wire              marks,
    input  wire [7:0]        mark,
    input  wire [671:0]      header,          // octet 0 in bits 7:0

    input  wire [DATA_W-1:0] tdata,
    input  wire              passes,          // a word does
    input  wire              tlast,
    output wire [DATA_W-1:0] marked
);
    localparam [15:0] VLAN_TYPE = 16'h8100, IPV4_TYPE = 16'h0800;
    localparam TOS_AT = 19, SUM_AT = 28;      // octets
    wire        is_ipv4 = {header[8*12 +: 8], header[8*13 +: 8]} == VLAN_TYPE
                          && {header[8*16 +: 8], header[8*17 +: 8]} == IPV4_TYPE;
    wire [15:0] word_before = {header[8*18 +: 8], header[8*TOS_AT +: 8]};
    wire [15:0] word_after = {header[8*18 +: 8], mark};
    wire [15:0] sum_before = {header[8*SUM_AT +: 8], header[8*(SUM_AT+1) +: 8]};
    wire [15:0] sum_inverse = ~sum_before, word_inverse = ~word_before;
    wire [17:0] total = {2'd0, sum_inverse} + {2'd0, word_inverse} + {2'd0, word_after};
    wire [16:0] folded = {1'b0, total[15:0]} + {15'd0, total[17:16]};
    wire [15:0] sum_after = ~(folded[15:0] + {15'd0, folded[16]});

    reg              active;
    reg [7:0]        tos;
    reg [15:0]       sum, word_number;        // of the frame that leaves
    wire [DATA_W-1:0] changed;
    genvar octet;
    generate
        for (octet = 0; octet < KEEP_W; octet = octet + 1) begin : octets_of_word
            localparam TOS_HERE = octet == TOS_AT % KEEP_W;
            localparam HIGH_HERE = octet == SUM_AT % KEEP_W;
            localparam LOW_HERE = octet == (SUM_AT + 1) % KEEP_W;
            localparam [31:0] TOS_NUMBER = TOS_AT / KEEP_W, HIGH_NUMBER = SUM_AT / KEEP_W;
            localparam [31:0] LOW_NUMBER = (SUM_AT + 1) / KEEP_W;
            assign changed[8*octet +: 8] =
                TOS_HERE && word_number == TOS_NUMBER[15:0] ? tos
                : HIGH_HERE && word_number == HIGH_NUMBER[15:0] ? sum[15:8]
                : LOW_HERE && word_number == LOW_NUMBER[15:0] ? sum[7:0] : tdata[8*octet +: 8];
        end
    endgenerate
    assign marked = active ? changed : tdata;

    always @(posedge clk) begin
        if (take) begin
            tos <= mark;
            sum <= sum_after;
        end
        if (rst) begin
            active <= 1'b0;
            word_number <= 16'd0;
        end else begin
            if (take)
                active <= marks && is_ipv4;
            if (passes)
                word_number <= tlast ? 16'd0 : word_number + 16'd1;
        end
    end

    wire unused = |header;
endmodule

`default_nettype wire
