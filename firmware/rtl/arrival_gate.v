// Gate before the queue of an output port: a data frame waits here whole until its congestion point has
// answered, then enters the queue, with another TOS octet where it is marked, or is dropped
// (orchestrator/engine/node/egress_enqueue.py `enqueue`). Frames stay in order.
//
// `head_valid`: a frame waits for its answer, with its header and length; `verdict_valid` is the
// answer, one clock. Its words then leave one per clock; the next frame waits for its answer from
// `taken` on: the queue has counted this one. `m_header` and `m_entered` stay until then.
// Marks are for VLAN-tagged IPv4 (orchestrator/engine/frames/frame_layout.py); the checksum of the
// header follows (RFC 1624, equation 3).
//
// With `full` no further frames may be sent here; what is on its way then still fits. A frame that
// finds no room all the same is `lost`.
`default_nettype none

module arrival_gate #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter WORDS = 32768,
    parameter FRAMES = 128,
    parameter FULL_FRAMES = 64,
    parameter FULL_OCTETS = 65536,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [61:0]       now,             // ps
    input  wire [671:0]      header,          // of frame_header on the same stream

    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    input  wire              s_tlast,
    input  wire [USER_W-1:0] s_tuser,

    output wire              head_valid,
    output wire [671:0]      head_header,     // octet 0 in bits 7:0
    output wire [15:0]       head_length,     // octets
    output wire [61:0]       head_came,       // ps
    input  wire              verdict_valid,
    input  wire              verdict_drop,
    input  wire              verdict_marks,
    input  wire [7:0]        verdict_mark,    // TOS octet
    input  wire              taken,

    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser,
    output reg  [671:0]      m_header,
    output reg  [61:0]       m_entered,       // ps

    output reg               full,
    output reg               lost
);
    localparam [15:0] VLAN_TYPE = 16'h8100, IPV4_TYPE = 16'h0800;
    localparam TOS_AT = 19, SUM_AT = 28;      // octets
    localparam [1:0] WAIT = 2'd0, POUR = 2'd1, SETTLE = 2'd2;
    localparam [31:0] FULL_FRAMES_NUMBER = FULL_FRAMES;
    localparam COUNT_W = $clog2(FRAMES);

    reg  [1:0]        state;
    reg               drops, marks;
    reg  [7:0]        tos;
    reg  [15:0]       sum;
    wire              opens = state == WAIT && verdict_valid;
    wire              fifo_head, f_ready, came, kept, f_tvalid, f_tlast, left;
    wire [DATA_W-1:0] f_tdata;
    wire [15:0]       came_length, left_length, look_length;
    wire [31:0]       came_queue, left_queue, octets;
    wire [733:0]      look_stamp;
    wire [733:0]      arriving = {now, header};
    frame_fifo #(
        .DATA_W(DATA_W), .USER_W(USER_W), .WORDS(WORDS), .FRAMES(FRAMES), .STAMP_W(734)
    ) waiting (
        .clk(clk), .rst(rst), .capacity(32'hFFFF_FFFF), .stamp(arriving),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(f_ready),
        .s_tlast(s_tlast), .s_tuser(s_tuser),
        .frame_valid(came), .frame_kept(kept), .frame_length(came_length),
        .frame_queue(came_queue), .head_valid(fifo_head), .head_length(head_length),
        .head_stamp({head_came, head_header}), .open(opens), .look_at({COUNT_W{1'b0}}),
        .look_length(look_length), .look_stamp(look_stamp), .leave_valid(left),
        .leave_length(left_length), .leave_queue(left_queue),
        .m_tdata(f_tdata), .m_tkeep(m_tkeep), .m_tvalid(f_tvalid), .m_tready(1'b1),
        .m_tlast(f_tlast), .m_tuser(m_tuser), .octets(octets)
    );
    assign head_valid = state == WAIT && fifo_head;
    assign m_tvalid = f_tvalid && !drops;
    assign m_tlast = f_tlast;

    // --- the mark, and the checksum that follows it -------------------------------------------------
    wire        is_ipv4 = {head_header[8*12 +: 8], head_header[8*13 +: 8]} == VLAN_TYPE
                          && {head_header[8*16 +: 8], head_header[8*17 +: 8]} == IPV4_TYPE;
    wire [15:0] word_before = {head_header[8*18 +: 8], head_header[8*TOS_AT +: 8]};
    wire [15:0] word_after = {head_header[8*18 +: 8], verdict_mark};
    wire [15:0] sum_before = {head_header[8*SUM_AT +: 8], head_header[8*(SUM_AT+1) +: 8]};
    wire [15:0] sum_inverse = ~sum_before, word_inverse = ~word_before;
    wire [17:0] total = {2'd0, sum_inverse} + {2'd0, word_inverse} + {2'd0, word_after};
    wire [16:0] folded = {1'b0, total[15:0]} + {15'd0, total[17:16]};
    wire [15:0] sum_after = ~(folded[15:0] + {15'd0, folded[16]});

    reg  [15:0] word_number;                  // of the frame that leaves
    wire [DATA_W-1:0] marked;
    genvar octet;
    generate
        for (octet = 0; octet < KEEP_W; octet = octet + 1) begin : octets_of_word
            localparam TOS_HERE = octet == TOS_AT % KEEP_W;
            localparam HIGH_HERE = octet == SUM_AT % KEEP_W;
            localparam LOW_HERE = octet == (SUM_AT + 1) % KEEP_W;
            localparam [31:0] TOS_NUMBER = TOS_AT / KEEP_W, HIGH_NUMBER = SUM_AT / KEEP_W;
            localparam [31:0] LOW_NUMBER = (SUM_AT + 1) / KEEP_W;
            assign marked[8*octet +: 8] =
                TOS_HERE && word_number == TOS_NUMBER[15:0] ? tos
                : HIGH_HERE && word_number == HIGH_NUMBER[15:0] ? sum[15:8]
                : LOW_HERE && word_number == LOW_NUMBER[15:0] ? sum[7:0] : f_tdata[8*octet +: 8];
        end
    endgenerate
    assign m_tdata = marks ? marked : f_tdata;

    reg [COUNT_W:0] frames;
    always @(posedge clk) begin
        full <= !rst && (frames >= FULL_FRAMES_NUMBER[COUNT_W:0] || octets >= FULL_OCTETS);
        lost <= !rst && came && !kept;
        if (opens && fifo_head) begin
            m_header <= head_header;
            m_entered <= now;
            drops <= verdict_drop;
            marks <= verdict_marks && is_ipv4;
            tos <= verdict_mark;
            sum <= sum_after;
        end
        if (rst) begin
            state <= WAIT;
            frames <= {(COUNT_W + 1){1'b0}};
            word_number <= 16'd0;
            drops <= 1'b0;
            marks <= 1'b0;
        end else begin
            frames <= frames + {{COUNT_W{1'b0}}, came && kept} - {{COUNT_W{1'b0}}, left};
            if (f_tvalid)
                word_number <= f_tlast ? 16'd0 : word_number + 16'd1;
            case (state)
                WAIT: if (opens && fifo_head)
                    state <= POUR;
                POUR: if (f_tvalid && f_tlast)
                    state <= drops ? WAIT : SETTLE;
                default: if (taken)
                    state <= WAIT;
            endcase
        end
    end

    wire unused = |{f_ready, came_length, left_length, look_length, came_queue, left_queue,
                    look_stamp};
endmodule

`default_nettype wire
