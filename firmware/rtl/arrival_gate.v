// Gate before the queue of an output port: a data frame waits here whole until its congestion point has
// answered, then enters the queue, with another TOS octet where it is marked, or is dropped
// (orchestrator/engine/node/egress_enqueue.py `enqueue`). Frames stay in order.
//
// `head_valid`: a frame waits for its answer, with its header and length; `verdict_valid` is the
// answer, one clock. Its words then leave one per clock; the next frame waits for its answer from
// `taken` on: the queue has counted this one. `m_header` stays until then.
// Marks are those of tos_mark.v.
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

    output reg               full,
    output reg               lost
);
    localparam [1:0] WAIT = 2'd0, POUR = 2'd1, SETTLE = 2'd2;
    localparam [31:0] FULL_FRAMES_NUMBER = FULL_FRAMES;
    localparam COUNT_W = $clog2(FRAMES);

    reg  [1:0]        state;
    reg               drops;
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

    tos_mark #(.DATA_W(DATA_W)) marker (
        .clk(clk), .rst(rst), .take(opens && fifo_head), .marks(verdict_marks),
        .mark(verdict_mark), .header(head_header), .tdata(f_tdata), .passes(f_tvalid),
        .tlast(f_tlast), .marked(m_tdata)
    );

    reg [COUNT_W:0] frames;
    always @(posedge clk) begin
        full <= !rst && (frames >= FULL_FRAMES_NUMBER[COUNT_W:0] || octets >= FULL_OCTETS);
        lost <= !rst && came && !kept;
        if (opens && fifo_head) begin
            m_header <= head_header;
            drops <= verdict_drop;
        end
        if (rst) begin
            state <= WAIT;
            frames <= {(COUNT_W + 1){1'b0}};
            drops <= 1'b0;
        end else begin
            frames <= frames + {{COUNT_W{1'b0}}, came && kept} - {{COUNT_W{1'b0}}, left};
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
