// Watches an AXI-Stream and tells of each frame its first HEADER octets and its length. It takes
// no part in the handshake. Two clocks after a frame's last word `frame_done` is high for one
// clock; `header` (octet 0 in bits 7:0, zeros beyond the frame) and `length` are valid in it.
// The octets are counted in two steps, so that a wide tkeep costs no speed. A frame may be one word.
`default_nettype none

module frame_header #(
    parameter DATA_W = 64,
    parameter HEADER = 84,                   // octets
    parameter KEEP_W = DATA_W / 8
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [DATA_W-1:0]   tdata,
    input  wire [KEEP_W-1:0]   tkeep,
    input  wire                tvalid,       // valid and ready
    input  wire                tlast,
    output reg                 frame_done,
    output reg  [8*HEADER-1:0] header,
    output reg  [15:0]         length
);
    localparam WORDS = (HEADER + KEEP_W - 1) / KEEP_W;
    localparam COUNT_W = $clog2(WORDS + 1);
    localparam GROUPS = KEEP_W / 8;
    localparam [31:0] WORDS_NUMBER = WORDS;
    localparam [31:0] WORD_NUMBER = KEEP_W;
    localparam [15:0] WORD = WORD_NUMBER[15:0];
    localparam [COUNT_W-1:0] FULL = WORDS_NUMBER[COUNT_W-1:0];

    // Of the last word what is beyond HEADER is never read, and not built.
    /* verilator lint_off UNUSEDSIGNAL */
    reg [WORDS*DATA_W-1:0] gathered;
    /* verilator lint_on UNUSEDSIGNAL */
    reg [COUNT_W-1:0]      word;             // of `gathered`, stops at FULL
    reg [15:0]             counted;          // octets of the frame's words so far
    reg                    ended;
    reg [15:0]             before_last;
    reg [4*GROUPS-1:0]     groups;           // octets of the last word, by groups of eight

    function [3:0] octets_of;
        input [7:0] keep;
        integer i;
        begin
            octets_of = 4'd0;
            for (i = 0; i < 8; i = i + 1)
                octets_of = octets_of + {3'd0, keep[i]};
        end
    endfunction

    reg [DATA_W-1:0] kept;
    integer octet;
    always @*
        for (octet = 0; octet < KEEP_W; octet = octet + 1)
            kept[8*octet +: 8] = tkeep[octet] ? tdata[8*octet +: 8] : 8'd0;

    reg [15:0] last_octets;
    integer group;
    always @* begin
        last_octets = before_last;
        for (group = 0; group < GROUPS; group = group + 1)
            last_octets = last_octets + {12'd0, groups[4*group +: 4]};
    end

    integer place;
    always @(posedge clk) begin
        ended <= tvalid && tlast;
        frame_done <= ended;
        if (ended) begin
            header <= gathered[8*HEADER-1:0];
            length <= last_octets;
        end
        before_last <= counted;
        for (place = 0; place < GROUPS; place = place + 1)
            groups[4*place +: 4] <= octets_of(tkeep[8*place +: 8]);
        if (tvalid) begin
            for (place = 0; place < WORDS; place = place + 1)
                if (word == place[COUNT_W-1:0])
                    gathered[place*DATA_W +: DATA_W] <= kept;
                else if (word == 0)
                    gathered[place*DATA_W +: DATA_W] <= {DATA_W{1'b0}};
            if (tlast)
                word <= {COUNT_W{1'b0}};
            else if (word != FULL)
                word <= word + 1'b1;
            counted <= tlast ? 16'd0 : counted + WORD;
        end
        if (rst) begin
            ended <= 1'b0;
            frame_done <= 1'b0;
            word <= {COUNT_W{1'b0}};
            counted <= 16'd0;
        end
    end
endmodule

`default_nettype wire
