// A queue of whole frames. A frame counts, and may leave, from its last word on; it is kept when
// the queue's octets with it do not exceed `capacity` and there are words and a descriptor for it,
// else dropped whole. The input is never stalled for want of room, or, with STALL, stalled until
// there is; a frame that would not fit into the empty memory is dropped then too. A frame leaves when `open` is 1
// as it would start; its octets leave the queue with its first word (as in
// orchestrator/engine/node/receive_path.py `enqueue` and port.py `send_from_queue`).
//
// `frame_valid`: a frame came, with its length, the octets of the queue without it, whether it is
// kept. `leave_valid`: a frame starts to leave, with its length and the octets that stay. When both
// come in one clock the arrival was first. Frames have up to 65 535 octets.
//
// Descriptors are used in turn, from 0 on, by the frames that are kept: a counter of these gives the
// index of each, and `look_at` selects the descriptor that is read a clock later. With LATE, for so many frames
// that are kept after it has left as well: as many fewer descriptors are given out.
`default_nettype none

module frame_fifo #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter WORDS = 1024,                  // of memory, a power of two
    parameter FRAMES = 64,                   // descriptors, a power of two
    parameter STAMP_W = 1,
    parameter STALL = 0,
    parameter LATE = 0,
    parameter KEEP_W = DATA_W / 8,
    parameter FRAME_W = $clog2(FRAMES)
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [31:0]        capacity,      // octets
    input  wire [STAMP_W-1:0] stamp,         // kept with a frame as of its last word

    input  wire [DATA_W-1:0]  s_tdata,
    input  wire [KEEP_W-1:0]  s_tkeep,
    input  wire               s_tvalid,
    output wire               s_tready,
    input  wire               s_tlast,
    input  wire [USER_W-1:0]  s_tuser,

    output reg                frame_valid,
    output reg                frame_kept,
    output reg  [15:0]        frame_length,
    output reg  [31:0]        frame_queue,

    output wire               head_valid,    // a frame waits; its descriptor:
    output wire [15:0]        head_length,
    output wire [STAMP_W-1:0] head_stamp,
    input  wire               open,

    input  wire [FRAME_W-1:0] look_at,       // any descriptor:
    output reg  [15:0]        look_length,
    output reg  [STAMP_W-1:0] look_stamp,

    output reg                leave_valid,
    output reg  [15:0]        leave_length,
    output reg  [31:0]        leave_queue,

    output wire [DATA_W-1:0]  m_tdata,
    output wire [KEEP_W-1:0]  m_tkeep,
    output reg                m_tvalid,
    input  wire               m_tready,
    output wire               m_tlast,
    output wire [USER_W-1:0]  m_tuser,

    output reg  [31:0]        octets         // in the queue
);
    localparam WORD_W = DATA_W + KEEP_W + 1 + USER_W;
    localparam AT_W = $clog2(WORDS);

    reg [WORD_W-1:0]     memory [0:WORDS-1];
    reg [15:0]           lengths [0:FRAMES-1];
    reg [STAMP_W-1:0]    stamps [0:FRAMES-1];

    wire [DATA_W-1:0] c_tdata;
    wire [KEEP_W-1:0] c_tkeep;
    wire              c_tvalid, c_tlast;
    wire [USER_W-1:0] c_tuser;
    wire [6:0]        c_octets;
    reg               tight;                 // STALL: what is on its way still fits, no more
    wire              c_ready;
    assign s_tready = c_ready && !tight;
    octet_count #(.DATA_W(DATA_W), .USER_W(USER_W)) count (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid && !tight), .s_tready(c_ready),
        .s_tlast(s_tlast), .s_tuser(s_tuser),
        .m_tdata(c_tdata), .m_tkeep(c_tkeep), .m_tvalid(c_tvalid), .m_tready(1'b1),
        .m_tlast(c_tlast), .m_tuser(c_tuser), .m_octets(c_octets)
    );

    // --- in: words are written on trial and count once the frame is kept ----------------------------
    reg [AT_W:0]    write_at, kept_at, read_at;
    reg [FRAME_W:0] frame_in, frame_out;
    reg [15:0]      before_word;             // octets of the frame before this word
    reg             overrun;                 // the frame found no word free
    wire [15:0] length = before_word + {9'd0, c_octets};
    wire [33:0] spare = {2'd0, capacity} - {2'd0, octets};         // below 0: there is too much
    wire [33:0] lack = spare - {18'd0, length};
    wire        full = write_at == {~read_at[AT_W], read_at[AT_W-1:0]};
    reg         scarce;                      // LATE: those that are left are read late
    wire        no_descriptor = LATE != 0
                                ? scarce : frame_in == {~frame_out[FRAME_W], frame_out[FRAME_W-1:0]};
    wire        ends = c_tvalid && c_tlast;
    wire [AT_W:0]    words_used = write_at - read_at;
    wire [FRAME_W:0] frames_used = frame_in - frame_out;
    localparam [31:0] WORDS_NUMBER = WORDS - 6, FRAMES_NUMBER = FRAMES - 6;
    localparam [31:0] EARLY_NUMBER = FRAMES - LATE - 1;   // one comes while that is found out
    always @(posedge clk) begin
        tight <= STALL != 0 && frames_used != 0 && (words_used >= WORDS_NUMBER[AT_W:0]
                                                    || frames_used >= FRAMES_NUMBER[FRAME_W:0]);
        scarce <= frames_used >= EARLY_NUMBER[FRAME_W:0];
    end
    wire        keep = ends && !overrun && !full && !no_descriptor && !lack[33];

    always @(posedge clk) begin
        if (c_tvalid && !full)
            memory[write_at[AT_W-1:0]] <= {c_tuser, c_tlast, c_tkeep, c_tdata};
        if (keep) begin
            lengths[frame_in[FRAME_W-1:0]] <= length;
            stamps[frame_in[FRAME_W-1:0]] <= stamp;
        end
        frame_valid <= ends && !rst;
        frame_kept <= keep;
        frame_length <= length;
        frame_queue <= octets;
        if (rst) begin
            write_at <= {(AT_W + 1){1'b0}};
            kept_at <= {(AT_W + 1){1'b0}};
            frame_in <= {(FRAME_W + 1){1'b0}};
            before_word <= 16'd0;
            overrun <= 1'b0;
        end else if (c_tvalid) begin
            before_word <= c_tlast ? 16'd0 : length;
            overrun <= !c_tlast && (overrun || full);
            if (keep) begin
                write_at <= write_at + 1'b1;
                kept_at <= write_at + 1'b1;
                frame_in <= frame_in + 1'b1;
            end else if (c_tlast)
                write_at <= kept_at;
            else if (!full)
                write_at <= write_at + 1'b1;
        end
    end

    always @(posedge clk) begin
        look_length <= lengths[look_at];
        look_stamp <= stamps[look_at];
    end

    // --- out -----------------------------------------------------------------------------------------
    reg [WORD_W-1:0] word;
    reg              midway;                 // words of the frame that left first are yet to come
    assign {m_tuser, m_tlast, m_tkeep, m_tdata} = word;
    assign head_valid = frame_in != frame_out;
    assign head_length = lengths[frame_out[FRAME_W-1:0]];
    assign head_stamp = stamps[frame_out[FRAME_W-1:0]];

    // Whether the word at read_at is a frame's last is known only once it was read: `midway` is
    // therefore kept by the count of its octets.
    reg  [15:0] octets_left;
    localparam [31:0] WORD_NUMBER = KEEP_W;
    localparam [15:0] WORD = WORD_NUMBER[15:0];
    wire        takes = !m_tvalid || m_tready;
    wire        starts = takes && !midway && head_valid && open;
    wire        reads = starts || (takes && midway);
    wire [15:0] here = starts ? head_length : octets_left;

    // What stays is made ready for each of the four cases, not behind the choice between them: whether
    // a frame is kept is known last of all. `midway` chooses between comparisons for the same reason.
    wire [31:0] with_it = octets + {16'd0, length};
    wire [31:0] without = octets - {16'd0, head_length};
    wire [31:0] swapped = without + {16'd0, length};

    always @(posedge clk) begin
        if (reads)
            word <= memory[read_at[AT_W-1:0]];
        leave_valid <= starts && !rst;
        leave_length <= head_length;
        leave_queue <= keep ? swapped : without;
        if (rst) begin
            m_tvalid <= 1'b0;
            read_at <= {(AT_W + 1){1'b0}};
            frame_out <= {(FRAME_W + 1){1'b0}};
            midway <= 1'b0;
            octets <= 32'd0;
        end else begin
            if (takes)
                m_tvalid <= reads;
            if (reads) begin
                read_at <= read_at + 1'b1;
                octets_left <= here - WORD;
                midway <= starts ? head_length > WORD : octets_left > WORD;
            end
            if (starts)
                frame_out <= frame_out + 1'b1;
            octets <= keep ? (starts ? swapped : with_it) : (starts ? without : octets);
        end
    end

    wire unused = |lack[32:0];
endmodule

`default_nettype wire
