// One port of a QCN switch: its output queue with a congestion point, the service rate, PAUSE asked
// for and obeyed, and the order of what leaves: PAUSE, then control frames, then data
// (orchestrator/engine/node/port_scheduler.py). Frames come from the bus of the switch: `data_valid` for the queue,
// `control_valid` past it; `header` and `header_done` are those of frame_header on that bus.
//
// A message that the congestion point has made stands at `message_*` until it is taken; meanwhile
// events wait. None is lost: with SLACK places left `hold` asks for no further frames, and where
// departures count none leaves; SLACK has to cover what is on its way by then. With KEEP_HEAD the
// headers of waiting frames are kept, so that the head's or the leaving frame's source can be
// notified; without it only arrivals are sampled. With UNITS as well, of memory in 256 octets, that
// of any frame, drawn by occupancy: it stands in the queue as of the event, and may have left since.
// Frames that stood there when the congestion point began to sample so, or was cleared, are not drawn.
//
// With the macro KERNEL_POINT the congestion point is the module kernel_point, which the compiler makes
// of an algorithm's kernels (firmware/compiler/point_shell.py), and frames wait in arrival_gate for
// its answer before they enter the queue; with departures on, those that leave are events as well,
// and with `gated` they wait in departure_gate for their answers.
`default_nettype none

module switch_port #(
    parameter DATA_W = 64,
    parameter WORDS = 32768,                  // of the queue's memory, a power of two
    parameter FRAMES = 4096,
    parameter CONTROL_WORDS = 1024,
    parameter KEEP_HEAD = 1,
    parameter UNITS = 0,                      // a power of two, 16 at least; 0: no such sampling
    parameter PFC = 0,                        // 1: obeys PFC as well
    parameter EVENTS = 64,                    // that wait for the congestion point, a power of two
    parameter SLACK = 24,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [61:0]        now,            // ps

    input  wire [31:0]        capacity,       // octets
    input  wire [55:0]        gain,           // service rate, see service_limiter
    input  wire [31:0]        quantum,        // ps: of this port's rate
    input  wire               pause_on,
    input  wire [29:0]        pause_high,
    input  wire [29:0]        pause_low,
    input  wire [15:0]        pause_quanta,
    input  wire [31:0]        pause_quantum,  // ps: of the fastest neighbour
    input  wire [23:0]        address,
    input  wire               hold_port_valid, // the host's word on this port: 1 holds it
    input  wire               hold_port,

    input  wire               cp_clear,
    input  wire               cp_on,
    input  wire [29:0]        set_point,
    input  wire [6:0]         weight,
    input  wire [239:0]       intervals,
    input  wire [1:0]         sampling,
    input  wire               counts_arriving,
    input  wire               jitter_on,
    input  wire [31:0]        seed,
    output wire [31:0]        random,
    input  wire [19:0]        searches,       // see occupancy_sampler
    input  wire [23:0]        units,
    input  wire [31:0]        units_seed,
    output wire [31:0]        units_random,
`ifdef KERNEL_POINT
    input  wire               word_written,   // see kernel_point_registers
    input  wire [15:0]        word_index,
    input  wire [63:0]        word,
    output wire [63:0]        state_word,
    input  wire               arrivals_on,
    input  wire               departures_on,
    input  wire [39:0]        line_rate,
    input  wire [39:0]        service_rate,
    input  wire [39:0]        patience,
    input  wire               gated,          // frames that leave wait for their answers
    input  wire [39:0]        allowance,      // ps that such a frame may wait
    output wire               marked,         // events that are counted, one clock each
    output wire               dropped,
    output wire               dropped_leaving,
    output reg                late,
    output reg  [47:0]        longest_wait,
    output reg  [47:0]        longest_hold,
    output wire               gate_lost,
`endif

    input  wire [DATA_W-1:0]  bus_tdata,
    input  wire [KEEP_W-1:0]  bus_tkeep,
    input  wire               bus_tlast,
    input  wire [USER_W-1:0]  bus_tuser,      // passed on; of PAUSE it is all ones
    output reg                hold,
    input  wire               data_valid,
    input  wire               control_valid,
    input  wire               header_done,
    input  wire [671:0]       header,

    // received stream
    input  wire [DATA_W-1:0]  rx_tdata,
    input  wire [KEEP_W-1:0]  rx_tkeep,
    input  wire               rx_tvalid,
    input  wire               rx_tlast,

    output wire [DATA_W-1:0]  m_tdata,
    output wire [KEEP_W-1:0]  m_tkeep,
    output wire               m_tvalid,
    input  wire               m_tready,
    output wire               m_tlast,
    output wire [USER_W-1:0]  m_tuser,

    output reg                message_valid,
    input  wire               message_ready,
    output reg  [671:0]       message_header,
    output reg  [15:0]        message_length,
    output reg  [5:0]         message_feedback,
    output reg  signed [32:0] message_offset,
    output reg  signed [32:0] message_delta,

    // PAUSE that this queue asks for, and what this port is to send for others
    output wire               stop_valid,
    input  wire               stop_ready,
    output wire [15:0]        stop_quanta,
    output wire               stopped,
    input  wire               send_valid,
    input  wire [15:0]        send_quanta,

    output wire [31:0]        queue_octets,
    output reg  [31:0]        queue_most,
    output reg  [5:0]         feedback_value,
    output reg                sampled,        // events that are counted, one clock each
    output reg                notified,
    output wire               frame_in,
    output wire               frame_lost,
    output wire               frame_out,
    output wire [15:0]        frame_out_length,
    output reg                sent,           // a frame starts on the port, with its length,
    output reg  [15:0]        sent_length,    // which stays until the next one starts
    output reg                pause_sent,
    output wire               pause_superseded, // a word that waited gave way to a newer one
    output wire               pause_obeyed,
    output wire               held            // by PAUSE or PFC
);
    localparam [47:0] MAC_PREFIX = {24'h02_54_42, 24'd0};
    localparam [15:0] PAUSE_LENGTH = 16'd60;

    // --- PAUSE received ------------------------------------------------------------------------------
    wire         received, received_pfc;
    wire [7:0]   received_classes;
    wire [127:0] received_quanta;
    wire [47:0]  received_source;
    pause_parse #(.DATA_W(DATA_W)) ears (
        .clk(clk), .rst(rst), .tdata(rx_tdata), .tkeep(rx_tkeep), .tvalid(rx_tvalid),
        .tlast(rx_tlast), .pause_valid(received), .pfc(received_pfc), .source(received_source),
        .classes(received_classes), .quanta(received_quanta)
    );
    assign pause_obeyed = received && (!received_pfc || PFC != 0);
    wire        port_held;
    wire [61:0] port_until;
    pause_timer #(.CLASSES(1)) port_timer (
        .clk(clk), .rst(rst), .now(now), .quantum(quantum), .pause_valid(received && !received_pfc),
        .classes(1'b1), .quanta(received_quanta[15:0]), .hold_valid(hold_port_valid),
        .hold(hold_port), .paused(port_held), .until_ps(port_until)
    );
    wire lane_held;
    generate
        if (PFC != 0) begin : by_class
            wire [7:0]   paused;
            wire [495:0] until_ps;
            pause_timer #(.CLASSES(8)) class_timer (
                .clk(clk), .rst(rst), .now(now), .quantum(quantum),
                .pause_valid(received && received_pfc), .classes(received_classes),
                .quanta(received_quanta),
                .hold_valid(1'b0), .hold(1'b0), .paused(paused), .until_ps(until_ps)
            );
            assign lane_held = |paused;
            wire unused = |until_ps;
        end else begin : by_port
            assign lane_held = 1'b0;
            wire unused = |{received_classes, received_quanta[127:16]};
        end
    endgenerate
    assign held = port_held || lane_held;

    // --- the two queues -------------------------------------------------------------------------------
`ifdef KERNEL_POINT
    localparam STAMP_W = 672 + 62;            // its header, and when it came
`else
    localparam STAMP_W = KEEP_HEAD != 0 ? 672 : 1;
`endif
    localparam SLOT_W = $clog2(FRAMES);
    wire [SLOT_W-1:0]  found_slot;
    wire [15:0]        found_length;
    wire [STAMP_W-1:0] found_stamp;
    wire               in_valid, in_kept;
    wire [15:0]        in_length;
    wire [31:0]        in_queue;
    wire               head_valid, out_valid;
    wire [15:0]        head_length, out_length;
    wire [31:0]        out_queue;
    wire [STAMP_W-1:0] head_stamp;
    wire               data_open, d_tvalid, d_tready, d_tlast, d_ready;
    wire [USER_W-1:0]  d_tuser;
    wire [DATA_W-1:0]  d_tdata;
    wire [KEEP_W-1:0]  d_tkeep;
    wire               q_tvalid, q_tlast;
    wire [DATA_W-1:0]  q_tdata;
    wire [KEEP_W-1:0]  q_tkeep;
    wire [USER_W-1:0]  q_tuser;
    wire [STAMP_W-1:0] q_stamp;
    wire               d_go;
    wire               gate_on, asks, released, chained, keeps, ended;  // of departure_gate
    wire [DATA_W-1:0]  g_tdata;
    wire               g_tvalid, g_tready;
    wire [15:0]        held_length;
    frame_fifo #(
        .DATA_W(DATA_W), .USER_W(USER_W), .WORDS(WORDS), .FRAMES(FRAMES), .STAMP_W(STAMP_W),
        .LATE(UNITS != 0 ? EVENTS + 4 : 0)
    ) queue (
        .clk(clk), .rst(rst), .capacity(capacity), .stamp(q_stamp),
        .s_tdata(q_tdata), .s_tkeep(q_tkeep), .s_tvalid(q_tvalid), .s_tready(d_ready),
        .s_tlast(q_tlast), .s_tuser(q_tuser),
        .frame_valid(in_valid), .frame_kept(in_kept), .frame_length(in_length),
        .frame_queue(in_queue),
        .head_valid(head_valid), .head_length(head_length), .head_stamp(head_stamp),
        .open(data_open),
        .look_at(found_slot), .look_length(found_length), .look_stamp(found_stamp),
        .leave_valid(out_valid), .leave_length(out_length), .leave_queue(out_queue),
        .m_tdata(d_tdata), .m_tkeep(d_tkeep), .m_tvalid(d_tvalid), .m_tready(g_tready),
        .m_tlast(d_tlast), .m_tuser(d_tuser), .octets(queue_octets)
    );

    wire              c_in, c_kept, c_head_valid, c_out, c_stamp, c_look_stamp, c_open, c_ready;
    wire [15:0]       c_in_length, c_head_length, c_look_length, c_out_length;
    wire [31:0]       c_in_queue, c_out_queue, c_octets;
    wire              c_tvalid, c_tready, c_tlast;
    wire [USER_W-1:0] c_tuser;
    wire [DATA_W-1:0] c_tdata;
    wire [KEEP_W-1:0] c_tkeep;
    frame_fifo #(
        .DATA_W(DATA_W), .USER_W(USER_W), .WORDS(CONTROL_WORDS), .FRAMES(64)
    ) control (
        .clk(clk), .rst(rst), .capacity(32'hFFFF_FFFF), .stamp(1'b0),
        .s_tdata(bus_tdata), .s_tkeep(bus_tkeep), .s_tvalid(control_valid), .s_tready(c_ready),
        .s_tlast(bus_tlast), .s_tuser(bus_tuser),
        .frame_valid(c_in), .frame_kept(c_kept), .frame_length(c_in_length),
        .frame_queue(c_in_queue),
        .head_valid(c_head_valid), .head_length(c_head_length), .head_stamp(c_stamp),
        .open(c_open), .look_at(6'd0), .look_length(c_look_length), .look_stamp(c_look_stamp),
        .leave_valid(c_out), .leave_length(c_out_length), .leave_queue(c_out_queue),
        .m_tdata(c_tdata), .m_tkeep(c_tkeep), .m_tvalid(c_tvalid), .m_tready(c_tready),
        .m_tlast(c_tlast), .m_tuser(c_tuser), .octets(c_octets)
    );

    assign frame_in = in_valid;
    assign frame_lost = (in_valid && !in_kept) || (c_in && !c_kept);
    assign frame_out = (out_valid && !asks) || released;
    assign frame_out_length = released ? held_length : out_length;
    always @(posedge clk)
        if (rst)
            queue_most <= 32'd0;
        else if (queue_octets > queue_most)
            queue_most <= queue_octets;

`ifdef KERNEL_POINT
    // --- a congestion point compiled from its kernels: it answers before a frame enters the queue ---
    localparam EVENT_W = $clog2(EVENTS);
    localparam [31:0] HOLD_NUMBER = EVENTS - SLACK;
    localparam [EVENT_W:0] HOLD_FROM = HOLD_NUMBER[EVENT_W:0];
    wire              departures = departures_on && cp_on;
    assign            gate_on = departures && gated;
    wire              stalls = departures && !gated && hold;
    wire              ask_valid, left_verdict, verdict_valid, verdict_drop, verdict_marks, gate_full;
    wire [671:0]      ask_header, q_header;
    wire [15:0]       ask_length;
    wire [61:0]       ask_came;
    wire [7:0]        verdict_mark;
    assign q_stamp = {now, q_header};         // taken with the frame's last word
    arrival_gate #(.DATA_W(DATA_W), .USER_W(USER_W)) gate (
        .clk(clk), .rst(rst), .now(now), .header(header),
        .s_tdata(bus_tdata), .s_tkeep(bus_tkeep), .s_tvalid(data_valid), .s_tlast(bus_tlast),
        .s_tuser(bus_tuser), .head_valid(ask_valid), .head_header(ask_header),
        .head_length(ask_length), .head_came(ask_came), .verdict_valid(verdict_valid),
        .verdict_drop(verdict_drop), .verdict_marks(verdict_marks), .verdict_mark(verdict_mark),
        .taken(in_valid), .m_tdata(q_tdata), .m_tkeep(q_tkeep), .m_tvalid(q_tvalid),
        .m_tlast(q_tlast), .m_tuser(q_tuser), .m_header(q_header),
        .full(gate_full), .lost(gate_lost)
    );

    reg  [15:0]        frames;                // in the queue
    wire [15:0]        frames_now = frames + {15'd0, in_valid && in_kept} - {15'd0, out_valid};
    reg  [STAMP_W-1:0] first;                 // of the frame that left a clock ago
    reg  [187:0]       events [0:EVENTS-1];
    reg  [671:0]       headers [0:EVENTS-1];
    reg  [EVENT_W:0]   event_in, event_out;
    wire [EVENT_W:0]   event_count = event_in - event_out;
    wire               left_ready;
    wire [61:0]        left_entered, left_time;
    wire [15:0]        left_length, left_frames;
    wire [31:0]        left_octets;
    assign {left_time, left_entered, left_length, left_frames, left_octets}
        = events[event_out[EVENT_W-1:0]];
    always @(posedge clk) begin
        frames <= rst ? 16'd0 : frames_now;
        if (d_go)
            first <= head_stamp;
        if (out_valid && (departures || asks)) begin
            events[event_in[EVENT_W-1:0]] <= {at, first[733:672], out_length, event_frames,
                                              event_octets};
            headers[event_in[EVENT_W-1:0]] <= first[671:0];
        end
        hold <= !rst && (gate_full || event_count >= HOLD_FROM);
        if (rst || cp_clear) begin
            event_in <= {(EVENT_W + 1){1'b0}};
            event_out <= {(EVENT_W + 1){1'b0}};
        end else begin
            if (out_valid && (departures || asks))
                event_in <= event_in + 1'b1;
            if (left_ready)
                event_out <= event_out + 1'b1;
        end
    end

    wire [61:0]        at, held_for;
    wire [15:0]        event_frames;
    wire [31:0]        event_octets;
    wire               marks_leaving;
    departure_gate #(.DATA_W(DATA_W)) departure (
        .clk(clk), .rst(rst), .clear(cp_clear), .on(gate_on), .now(now), .go(d_go),
        .left_valid(out_valid), .left_length(out_length), .left_octets(out_queue),
        .left_frames(frames_now), .at(at), .event_octets(event_octets),
        .event_frames(event_frames), .asks(asks), .verdict_valid(left_verdict),
        .verdict_drop(verdict_drop), .verdict_marks(verdict_marks), .verdict_mark(verdict_mark),
        .header(event_header), .release_frame(released), .length(held_length),
        .drops(dropped_leaving), .marks(marks_leaving), .waited(held_for), .chained(chained), .keeps(keeps),
        .ended(ended), .s_tdata(d_tdata), .s_tvalid(d_tvalid), .s_tready(g_tready),
        .s_tlast(d_tlast), .m_tdata(g_tdata), .m_tvalid(g_tvalid), .m_tready(d_tready)
    );

    wire               cp_message, cp_head, event_started;
    wire [5:0]         cp_feedback;
    wire signed [32:0] cp_offset, cp_delta;
    wire [671:0]       event_header;
    wire [15:0]        event_length;
    wire [61:0]        happened;
    wire [61:0]        waited = event_started ? now - happened : 62'd0;
    kernel_point cp (
        .clk(clk), .rst(rst), .clear(cp_clear), .on(cp_on), .now(now),
        .word_written(word_written), .word_index(word_index), .word(word),
        .state_word(state_word), .arrivals_on(arrivals_on), .line_rate(line_rate),
        .service_rate(service_rate), .capacity(capacity), .pausing(stopped),
        .queue_octets(queue_octets), .queue_frames(frames), .ask_valid(ask_valid),
        .ask_header(ask_header), .ask_length(ask_length), .ask_came(ask_came),
        .verdict_valid(verdict_valid), .verdict_drop(verdict_drop),
        .verdict_marks(verdict_marks), .verdict_mark(verdict_mark), .left_verdict(left_verdict),
        .left_valid(event_in != event_out), .left_ready(left_ready),
        .left_header(headers[event_out[EVENT_W-1:0]]), .left_length(left_length),
        .left_entered(left_entered), .left_time(left_time), .left_octets(left_octets),
        .left_frames(left_frames), .message_waits(message_valid), .message_valid(cp_message),
        .message_head(cp_head), .message_feedback(cp_feedback), .message_offset(cp_offset),
        .message_delta(cp_delta), .event_header(event_header), .event_length(event_length),
        .event_started(event_started), .event_time(happened)
    );
    assign marked = (verdict_valid && verdict_marks) || marks_leaving;
    assign dropped = verdict_valid && verdict_drop;
    assign random = 32'd0;
    assign units_random = 32'd0;
    wire of_head = cp_head && head_valid;
    always @(posedge clk) begin
        sampled <= !rst && event_started;
        notified <= !rst && cp_message;
        late <= !rst && ((event_started && waited > {22'd0, patience})
                         || (released && held_for > {22'd0, allowance}));
        if (rst || cp_clear)
            longest_hold <= 48'd0;
        else if (released && held_for[47:0] > longest_hold)
            longest_hold <= held_for[47:0];
        if (rst || cp_clear)
            longest_wait <= 48'd0;
        else if (event_started && waited[47:0] > longest_wait)
            longest_wait <= waited[47:0];
        if (cp_message) begin
            message_header <= of_head ? head_stamp[671:0] : event_header;
            message_length <= of_head ? head_length : event_length;
            message_feedback <= cp_feedback;
            message_offset <= cp_offset;
            message_delta <= cp_delta;
            feedback_value <= cp_feedback;
        end
        if (rst || cp_clear) begin
            message_valid <= 1'b0;
            feedback_value <= 6'd0;
        end else if (cp_message)
            message_valid <= 1'b1;
        else if (message_ready)
            message_valid <= 1'b0;
    end
    wire unused_here = KEEP_HEAD != 0 || |{header_done, set_point, weight, intervals, sampling, counts_arriving,
                         jitter_on, seed, searches, units, units_seed, found_length, found_stamp};
    assign found_slot = {SLOT_W{1'b0}};
`else
    assign {gate_on, asks, released, chained, keeps, ended} = 6'd0;
    assign held_length = 16'd0;
    assign g_tdata = d_tdata;
    assign g_tvalid = d_tvalid;
    assign g_tready = d_tready;
    assign q_tdata = bus_tdata;
    assign q_tkeep = bus_tkeep;
    assign q_tvalid = data_valid;
    assign q_tlast = bus_tlast;
    assign q_tuser = bus_tuser;
    assign q_stamp = header[STAMP_W-1:0];

    // --- the congestion point: events wait in a small queue while a sample is worked on ----------------
    reg  looking;                             // what was found is read
    wire head_too = KEEP_HEAD != 0;
    wire departures = sampling == 2'd2;
    reg  [671:0] arrived, first;              // headers, as of the event
    reg  [15:0]  first_length;
    always @(posedge clk) begin
        if (header_done)
            arrived <= header;
        if (header_done || d_go) begin
            first <= {{(672 - STAMP_W){1'b0}}, head_stamp};
            first_length <= head_length;
        end
    end
    // the head of a clock ago is the one that left

    localparam EVENT_W = $clog2(EVENTS);
    localparam [31:0] HOLD_NUMBER = EVENTS - SLACK;
    localparam [EVENT_W:0] HOLD_FROM = HOLD_NUMBER[EVENT_W:0];
    reg  [63:0]        events [0:EVENTS-1];
    reg  [671:0]       headers [0:EVENTS-1];
    reg  [EVENT_W:0]   event_in, event_out;
    wire [EVENT_W:0]   event_count = event_in - event_out;
    wire               tracking, leaves;      // frames can be drawn; one of those leaves
    wire               counts = departures ? out_valid && head_too : in_valid;
    wire               counted = cp_on && (counts || leaves);
    wire               stalls = (departures || tracking) && hold;
    wire               by_head = sampling == 2'd1 && head_too && in_queue != 32'd0;
    wire [671:0]       culprit = departures ? first : by_head ? first : arrived;
    wire [15:0]        culprit_length = departures ? out_length : by_head ? first_length : in_length;
    wire               cp_ready, event_counts, at_rest;
    wire               event_waits = event_in != event_out && !message_valid && !notifying
                                     && at_rest && !looking;
    wire               event_valid = event_waits && event_counts;
    wire               event_taken = event_waits && (cp_ready || !event_counts);
    wire [15:0]        event_culprit_length, event_length;
    wire [31:0]        event_queue;
    assign {event_culprit_length, event_length, event_queue} = events[event_out[EVENT_W-1:0]];

    always @(posedge clk) begin
        hold <= !rst && event_count >= HOLD_FROM;
        if (counted) begin
            events[event_in[EVENT_W-1:0]] <= {culprit_length, departures ? out_length : in_length,
                                      departures ? out_queue : in_queue};
            headers[event_in[EVENT_W-1:0]] <= culprit;
        end
        if (rst || cp_clear) begin
            event_in <= {(EVENT_W + 1){1'b0}};
            event_out <= {(EVENT_W + 1){1'b0}};
        end else begin
            if (counted)
                event_in <= event_in + 1'b1;
            if (event_taken)
                event_out <= event_out + 1'b1;
        end
    end

    wire               cp_message, cp_started, notifying;
    wire [1:0]         cp_about;
    wire [5:0]         cp_feedback;
    wire signed [32:0] cp_offset, cp_delta, cp_countdown;
    wire [31:0]        cp_old;
    assign notifying = cp_message;
    qcn_cp cp (
        .clk(clk), .rst(rst), .clear(cp_clear), .set_point(set_point), .weight(weight),
        .intervals(intervals), .sampling(sampling), .counts_arriving(counts_arriving),
        .jitter_on(jitter_on), .seed(seed),
        .event_valid(event_valid), .event_ready(cp_ready), .event_departure(departures),
        .event_length(event_length), .event_queue(event_queue), .event_capacity(capacity),
        .message_valid(cp_message), .message_about(cp_about), .message_feedback(cp_feedback),
        .message_offset(cp_offset), .message_delta(cp_delta),
        .started(cp_started), .countdown(cp_countdown), .old(cp_old), .random(random)
    );

    // --- sampling by occupancy: all that come and leave are events, and known by their slot -----------
    wire drawing, found_valid, found_none;    // the message is about what is drawn
    generate
        if (UNITS != 0) begin : by_occupancy
            localparam UNIT_W = $clog2(UNITS);
            wire wanted = cp_on && head_too && sampling == 2'd3 && !cp_clear;
            reg              tracks;              // every event that waits is of frames that are known
            reg [SLOT_W:0]   came, left;          // frames that were kept, that have left
            reg [SLOT_W:0]   unknown;             // frames that stand there from before
            wire [SLOT_W:0]  comes = {{SLOT_W{1'b0}}, in_valid && in_kept};
            wire [SLOT_W:0]  goes = {{SLOT_W{1'b0}}, out_valid};
            wire             known = unknown == {(SLOT_W + 1){1'b0}};
            assign tracking = tracks;
            assign leaves = tracks && out_valid && known;
            always @(posedge clk) begin
                tracks <= !rst && wanted && (tracks || (event_in == event_out && !counted));
                came <= rst ? {(SLOT_W + 1){1'b0}} : came + comes;
                left <= rst ? {(SLOT_W + 1){1'b0}} : left + goes;
                if (!tracks)
                    unknown <= came - left + comes - goes;
                else if (!known)
                    unknown <= unknown - goes;
            end

            localparam NOTE_W = 4 + 2 * SLOT_W;
            reg  [NOTE_W-1:0] notes [0:EVENTS-1];
            wire              event_tracked, event_leaves, event_kept;
            wire [SLOT_W-1:0] event_slot, event_left;
            always @(posedge clk)
                if (counted)
                    notes[event_in[EVENT_W-1:0]] <= {tracks, counts, in_kept, leaves,
                                                     came[SLOT_W-1:0], left[SLOT_W-1:0]};
            assign {event_tracked, event_counts, event_kept, event_leaves, event_slot, event_left}
                = notes[event_out[EVENT_W-1:0]];

            reg  tracked;                         // the event at hand was
            always @(posedge clk)
                if (event_taken)
                    tracked <= event_tracked;
            assign drawing = tracked && cp_about == 2'd3;
            occupancy_sampler #(.UNITS(UNITS), .SLOTS(FRAMES)) sampler (
                .clk(clk), .rst(rst), .clear(cp_clear || !tracks), .seed(units_seed),
                .units(units[UNIT_W:0]), .searches(searches),
                .event_valid(event_taken && event_tracked), .event_ready(at_rest),
                .event_comes(event_counts), .event_length(event_length), .event_kept(event_kept),
                .event_slot(event_slot), .event_leaves(event_leaves), .event_left(event_left),
                .cp_ready(cp_ready), .cp_message(cp_message && drawing),
                .found_valid(found_valid), .found_none(found_none), .found_slot(found_slot),
                .random(units_random)
            );
            wire unused = |units[23:UNIT_W+1];
        end else begin : by_arrival
            assign tracking = 1'b0;
            assign leaves = 1'b0;
            assign event_counts = 1'b1;
            assign at_rest = 1'b1;
            assign drawing = 1'b0;
            assign found_valid = 1'b0;
            assign found_none = 1'b1;
            assign found_slot = {SLOT_W{1'b0}};
            assign units_random = 32'd0;
            wire unused = |{searches, units, units_seed, event_taken};
        end
    endgenerate

    reg was_ready;
    always @(posedge clk) begin
        if (event_taken) begin
            message_header <= headers[event_out[EVENT_W-1:0]];
            message_length <= event_culprit_length;
        end else if (looking) begin
            message_header <= {{(672 - STAMP_W){1'b0}}, found_stamp};
            message_length <= found_length;
        end
        looking <= !rst && !cp_clear && found_valid && !found_none;
        was_ready <= cp_ready;
        sampled <= !rst && was_ready && !cp_ready;
        notified <= !rst && cp_message;
        if (cp_message) begin
            message_feedback <= cp_feedback;
            message_offset <= cp_offset;
            message_delta <= cp_delta;
            feedback_value <= cp_feedback;
        end
        if (rst || cp_clear) begin
            message_valid <= 1'b0;
            feedback_value <= 6'd0;
        end else if ((cp_message && !drawing) || (found_valid && found_none) || looking)
            message_valid <= 1'b1;
        else if (message_ready)
            message_valid <= 1'b0;
    end
    wire unused_here = |{cp_about, cp_started, cp_countdown, cp_old};
`endif

    // --- PAUSE asked for: of two events in one clock the arrival is first --------------------------------
    reg        left_waits;
    reg [31:0] left_queue;
    reg [61:0] event_time;
    wire       came = in_valid && in_kept;
    wire       pause_event_ready, timer_set;
    wire [61:0] timer;
    always @(posedge clk) begin
        event_time <= now;
        left_waits <= !rst && ((left_waits && came) || out_valid);
        if (out_valid)
            left_queue <= out_queue;
    end
    pause_control control_of_pause (
        .clk(clk), .rst(rst || !pause_on), .now(now), .high(pause_high), .low(pause_low),
        .quanta(pause_quanta), .quantum(pause_quantum),
        .event_valid(came || left_waits), .event_ready(pause_event_ready), .event_in(came),
        .event_queue(came ? in_queue + {16'd0, in_length} : left_queue), .event_now(event_time),
        .pause_valid(stop_valid), .pause_ready(stop_ready), .pause_quanta(stop_quanta),
        .stopped(stopped), .timer_set(timer_set), .timer(timer)
    );

    // --- PAUSE said: the newest word counts while one waits, so that no end of a PAUSE is lost ---------
    reg               pause_due;
    reg  [15:0]       due_quanta;
    wire              p_ready, p_tvalid, p_tready, p_tlast, p_tuser;
    wire [DATA_W-1:0] p_tdata;
    wire [KEEP_W-1:0] p_tkeep;
    wire              p_go;
    assign            pause_superseded = send_valid && pause_due && !p_go;
    always @(posedge clk) begin
        if (send_valid)
            due_quanta <= send_quanta;
        pause_due <= !rst && (send_valid || (pause_due && !p_go));
    end
    pause_generate #(.DATA_W(DATA_W), .USER_W(1)) mouth (
        .clk(clk), .rst(rst), .source_mac(MAC_PREFIX | {24'd0, address}), .user(1'b0),
        .request_valid(p_go), .request_ready(p_ready), .request_pfc(1'b0),
        .request_classes(8'd0), .request_quanta({112'd0, due_quanta}),
        .m_tdata(p_tdata), .m_tkeep(p_tkeep), .m_tvalid(p_tvalid), .m_tready(p_tready),
        .m_tlast(p_tlast), .m_tuser(p_tuser)
    );

    // --- what leaves next ---------------------------------------------------------------------------
    localparam [1:0] NONE = 2'd0, PAUSE = 2'd1, CONTROL = 2'd2, DATA = 2'd3;
    reg  [1:0] leaving;
    wire       service_open;
    wire       free = leaving == NONE && m_tready && p_ready;
    assign     p_go = free && pause_due && !chained;
    assign     c_open = free && !pause_due && !port_held && !chained;
    wire       c_go = c_open && c_head_valid;
    assign     data_open = service_open && ((c_open && !c_head_valid && !lane_held && !stalls)
                                            || (free && chained));
    assign     d_go = data_open && head_valid;
    wire       d_starts = (d_go && !gate_on) || released;

    service_limiter service (
        .clk(clk), .rst(rst), .gain(gain), .keeps(keeps), .start(d_starts),
        .length(released ? held_length : head_length), .open(service_open)
    );

    assign p_tready = leaving == PAUSE && m_tready;
    assign c_tready = leaving == CONTROL && m_tready;
    assign d_tready = leaving == DATA && m_tready;
    assign m_tvalid = leaving == PAUSE ? p_tvalid : leaving == CONTROL ? c_tvalid
                      : leaving == DATA && g_tvalid;
    assign m_tdata = leaving == PAUSE ? p_tdata : leaving == CONTROL ? c_tdata : g_tdata;
    assign m_tkeep = leaving == PAUSE ? p_tkeep : leaving == CONTROL ? c_tkeep : d_tkeep;
    assign m_tlast = leaving == PAUSE ? p_tlast : leaving == CONTROL ? c_tlast : d_tlast;
    assign m_tuser = leaving == PAUSE ? {USER_W{1'b1}} : leaving == CONTROL ? c_tuser : d_tuser;

    always @(posedge clk) begin
        sent <= !rst && (p_go || c_go || d_starts);
        if (p_go || c_go || d_starts)
            sent_length <= released ? held_length : p_go ? PAUSE_LENGTH : c_go ? c_head_length
                           : head_length;
        pause_sent <= !rst && p_go;
        if (rst)
            leaving <= NONE;
        else if (leaving == NONE)
            leaving <= p_go ? PAUSE : c_go ? CONTROL : d_go ? DATA : NONE;
        else if ((m_tvalid && m_tready && m_tlast) || ended)
            leaving <= NONE;
    end

    wire unused = |{received_source, port_until, d_ready, c_ready, p_tuser, c_stamp,
                    c_out, c_in_length, c_out_length, c_in_queue, c_out_queue, c_octets,
                    c_look_stamp, c_look_length, pause_event_ready, timer_set, timer};
endmodule

`default_nettype wire
