// The limiters of a NIC: N reaction points, their token buckets, and which flow has which
// (orchestrator/engine/node/rate_limiter.py `bind_limiter`, `on_frame_sent`,
// `on_congestion_message`). A flow gets the first free limiter with its first message and gives it
// back when its reaction point ends.
//
// `sent`: a frame of a flow starts. `received`: a message for a flow. `backlog` has a bit per flow: frames
// of it wait; a limiter at the link's rate is given back when none do, at any event. Events wait in a
// small queue; a message is worked on when all before it is done, since a limiter may be given back
// by it. `may_send` has a bit per flow.
`default_nettype none

module nic_limiters #(
    parameter N = 4,
    parameter FLOWS = 8,
    parameter INDEX_W = N > 1 ? $clog2(N) : 1,
    parameter FLOW_W = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,
    input  wire [61:0]        now,            // ps

    input  wire               rp_on,          // timers run
`ifdef KERNEL_LIMITER
    input  wire               word_written,   // see kernel_limiter_registers
    input  wire [INDEX_W-1:0] word_limiter,
    input  wire [15:0]        word_index,
    input  wire [63:0]        word,
    output wire [63:0]        state_word,
    input  wire [39:0]        patience,
    output wire               event_started,
    output wire               late,
    output wire [47:0]        longest_wait,
`endif
    input  wire [39:0]        link_rate,
    input  wire [44:0]        time_reset,
    input  wire [39:0]        byte_reset,
    input  wire [15:0]        threshold,
    input  wire [39:0]        ai_rate,
    input  wire [39:0]        hai_rate,
    input  wire [15:0]        gd_num,
    input  wire [15:0]        gd_den,
    input  wire [15:0]        factor_num,
    input  wire [15:0]        factor_den,
    input  wire [39:0]        min_rate,
    input  wire               cap_target,
    input  wire               extra_fast_recovery,
    input  wire               jitter_on,
    input  wire               seed_valid,
    input  wire [INDEX_W-1:0] seed_index,
    input  wire [31:0]        seed,
    input  wire [62:0]        depth,
    input  wire [33:0]        period,
    input  wire [39:0]        granularity,
    input  wire               phase_valid,    // one clock; index and phase stay for some
    input  wire [INDEX_W-1:0] phase_index,
    input  wire [61:0]        phase,
    output wire               rp_idle,
    output wire               bucket_idle,

    output reg  [FLOWS-1:0]   may_send,
    input  wire               sent,           // one clock; while `ready`
    output wire               ready,
    input  wire [FLOW_W-1:0]  sent_flow,
    input  wire [15:0]        sent_length,
    input  wire               sent_empty,     // nothing waits behind it
    input  wire [FLOWS-1:0]   backlog,
    output wire               settled,        // `may_send` is as after the last frame

    output wire               room,           // for a message
    input  wire               received,          // one clock, with `room`; not together with `sent`
    input  wire [FLOW_W-1:0]  received_flow,
    input  wire [5:0]         received_feedback,

    output reg                taken,          // a message reached a limiter,
    output reg                unassigned,     // or found none free; one clock each
    output reg                charged,        // octets were taken from a bucket
    output reg  [15:0]        charged_length,

    input  wire [INDEX_W-1:0] show_index,
    output reg                show_active,
    output reg  [39:0]        show_rate,
    output reg  [60:0]        show_target,
    output reg  [23:0]        show_byte_stage,
    output reg  [23:0]        show_timer_stage,
    output reg  [47:0]        show_feedback,
    output reg  [16:0]        show_flow
);
    // --- assignment of flows ------------------------------------------------------------------------
    reg  [FLOWS-1:0]   bound;
    reg  [INDEX_W-1:0] limiter_of [0:FLOWS-1];
    reg  [N-1:0]       used;
    reg  [FLOW_W-1:0]  flow_of [0:N-1];
    reg                any_free;
    reg  [INDEX_W-1:0] first_free;
    integer            look;
    always @* begin
        any_free = 1'b0;
        first_free = {INDEX_W{1'b0}};
        for (look = N - 1; look >= 0; look = look - 1)
            if (!used[look]) begin
                any_free = 1'b1;
                first_free = look[INDEX_W-1:0];
            end
    end

    // --- events in order ----------------------------------------------------------------------------------
    localparam EVENT_W = 1 + FLOW_W + 6 + 16 + 1 + 62;
    reg  [EVENT_W-1:0] events [0:31];
    reg  [5:0]         event_in, event_out;
    wire               waits = event_in != event_out;
    wire [5:0]         filled = event_in - event_out;
    wire               is_sent, empty;
    wire [FLOW_W-1:0]  flow;
    wire [5:0]         feedback;
    wire [15:0]        length;
    wire [61:0]        moment;
    assign {is_sent, flow, feedback, length, empty, moment} = events[event_out[4:0]];

    wire               rp_ready, update_valid, update_active, rate_ready;
    wire [INDEX_W-1:0] update_index, due_index;
    wire [39:0]        update_rate;
    wire [INDEX_W-1:0] limiter = bound[flow] ? limiter_of[flow] : first_free;
    wire               goes = waits && (is_sent ? bound[flow]
                                                : rp_idle && (bound[flow] || any_free));
    wire               gone = waits && (is_sent ? !bound[flow] || rp_ready
                                        : rp_idle && (rp_ready || !(bound[flow] || any_free)));
    wire               binds = goes && !is_sent && rp_ready && !bound[flow];
    wire               frees = update_valid && rate_ready && !update_active;

    always @(posedge clk) begin
        if (sent || received)
            events[event_in[4:0]] <= sent
                ? {1'b1, sent_flow, 6'd0, sent_length, sent_empty, now}
                : {1'b0, received_flow, received_feedback, 16'd0, !backlog[received_flow], now};
        taken <= !rst && goes && !is_sent && rp_ready;
        unassigned <= !rst && gone && !is_sent && !goes;
        if (rst || clear) begin
            event_in <= 6'd0;
            event_out <= 6'd0;
            bound <= {FLOWS{1'b0}};
            used <= {N{1'b0}};
        end else begin
            if (sent || received)
                event_in <= event_in + 6'd1;
            if (gone)
                event_out <= event_out + 6'd1;
            if (binds) begin
                bound[flow] <= 1'b1;
                limiter_of[flow] <= first_free;
                used[first_free] <= 1'b1;
                flow_of[first_free] <= flow;
            end
            if (frees) begin
                used[update_index] <= 1'b0;
                bound[flow_of[update_index]] <= 1'b0;
            end
        end
    end

    wire               write_valid, write_active, write_known;
    wire [1:0]         write_kind;
    wire [INDEX_W-1:0] write_index;
    wire [39:0]        write_rate;
    wire [60:0]        write_target;
    wire [23:0]        write_byte_stage, write_timer_stage;
    wire signed [41:0] write_countdown;
    wire [62:0]        write_timer;
    wire [31:0]        write_random;
`ifdef KERNEL_LIMITER
    kernel_limiter #(.N(N)) reaction_points (
        .clk(clk), .rst(rst), .clear(clear), .idle(rp_idle), .link_rate(link_rate),
        .word_written(word_written), .word_limiter(word_limiter), .word_index(word_index),
        .word(word), .state_word(state_word), .scan_timers(rp_on), .now(now),
        .event_valid(goes), .event_ready(rp_ready), .event_sent(is_sent), .event_index(limiter),
        .event_binds(!bound[flow]), .event_feedback(feedback), .event_length(length),
        .event_empty(empty), .event_now(moment),
        .due_index(due_index), .due_empty(!backlog[flow_of[due_index]]),
        .update_valid(update_valid), .update_ready(rate_ready), .update_index(update_index),
        .update_active(update_active), .update_rate(update_rate),
        .write_valid(write_valid), .write_index(write_index), .write_active(write_active),
        .write_rate(write_rate), .write_target(write_target), .patience(patience),
        .event_started(event_started), .late(late), .longest_wait(longest_wait)
    );
    assign {write_kind, write_countdown, write_timer, write_random, write_known} = 140'd0;
    assign {write_byte_stage, write_timer_stage} = 48'd0;
    wire unused_settings = |{time_reset, byte_reset, threshold, ai_rate, hai_rate, gd_num, gd_den,
                             factor_num, factor_den, min_rate, cap_target, extra_fast_recovery,
                             jitter_on, seed_valid, seed_index, seed};
`else
    localparam [1:0] FEEDBACK = 2'd0, SENT = 2'd1;
    qcn_rp #(.N(N)) reaction_points (
        .clk(clk), .rst(rst), .clear(clear), .ready_to_seed(write_known), .idle(rp_idle),
        .link_rate(link_rate), .time_reset(time_reset), .byte_reset(byte_reset),
        .threshold(threshold), .ai_rate(ai_rate), .hai_rate(hai_rate), .gd_num(gd_num),
        .gd_den(gd_den), .factor_num(factor_num), .factor_den(factor_den), .min_rate(min_rate),
        .cap_target(cap_target), .extra_fast_recovery(extra_fast_recovery),
        .jitter_on(jitter_on), .seed_valid(seed_valid),
        .seed_index(seed_index), .seed(seed), .scan_timers(rp_on), .now(now),
        .event_valid(goes), .event_ready(rp_ready), .event_kind(is_sent ? SENT : FEEDBACK),
        .event_index(limiter), .event_feedback(feedback), .event_length(length),
        .event_empty(empty), .event_now(moment),
        .due_index(due_index), .due_empty(!backlog[flow_of[due_index]]),
        .update_valid(update_valid), .update_ready(rate_ready), .update_index(update_index),
        .update_active(update_active), .update_rate(update_rate),
        .write_valid(write_valid), .write_kind(write_kind), .write_index(write_index),
        .write_active(write_active), .write_rate(write_rate), .write_target(write_target),
        .write_byte_stage(write_byte_stage), .write_timer_stage(write_timer_stage),
        .write_countdown(write_countdown), .write_timer(write_timer), .write_random(write_random)
    );
`endif

    // --- token buckets: a charge waits for its turn; what it does to `eligible` takes some clocks --------
    localparam [3:0] EFFECT = 4'd15;
    reg                charge_valid;
    reg  [INDEX_W-1:0] charge_index;
    reg  [3:0]         effect;
    wire               charge_ready;
    wire [N-1:0]       eligible;
    wire               tokens_written;
    wire [INDEX_W-1:0] tokens_index;
    wire signed [63:0] tokens;
    assign settled = !charge_valid && effect == 4'd0;
    assign ready = settled && filled < 6'd24;
    assign room = filled < 6'd28;
    always @(posedge clk) begin
        charged <= !rst && charge_valid && charge_ready;
        if (sent) begin
            charge_index <= limiter_of[sent_flow];
            charged_length <= sent_length;
        end
        if (rst || clear) begin
            charge_valid <= 1'b0;
            effect <= 4'd0;
        end else if (sent && bound[sent_flow])
            charge_valid <= 1'b1;
        else if (charge_valid && charge_ready) begin
            charge_valid <= 1'b0;
            effect <= EFFECT;
        end else if (effect != 4'd0)
            effect <= effect - 4'd1;
    end
    // a phase comes for one clock, and the buckets take one only between two looks
    reg phase_waits;
    always @(posedge clk)
        phase_waits <= !rst && (phase_valid || (phase_waits && !bucket_idle));
    token_bucket #(.N(N)) buckets (
        .clk(clk), .rst(rst), .clear(clear), .idle(bucket_idle), .now(now), .depth(depth),
        .period(period), .granularity(granularity), .phase_valid(phase_waits && bucket_idle),
        .phase_index(phase_index), .phase(phase),
        .rate_valid(update_valid), .rate_ready(rate_ready), .rate_index(update_index),
        .rate_active(update_active), .rate(update_rate),
        .charge_valid(charge_valid), .charge_ready(charge_ready), .charge_index(charge_index),
        .charge_length(charged_length), .eligible(eligible),
        .write_valid(tokens_written), .write_index(tokens_index), .write_tokens(tokens)
    );

    integer each;
    always @(posedge clk)
        for (each = 0; each < FLOWS; each = each + 1)
            may_send[each] <= !bound[each] || eligible[limiter_of[each]];

    // --- what the host sees -------------------------------------------------------------------------------
    localparam SHOW_W = 1 + 40 + 61 + 24 + 24;
    reg  [SHOW_W-1:0] shadows [0:N-1];
    reg  [N-1:0]      shadowed;
    reg  [47:0]       feedbacks [0:N-1];
    reg  [N-1:0]      fed;
    always @(posedge clk) begin
        if (write_valid)
            shadows[write_index] <= {write_active, write_rate, write_target, write_byte_stage,
                                     write_timer_stage};
        if (goes && !is_sent && rp_ready)
            feedbacks[limiter] <= fed[limiter] ? feedbacks[limiter] + 48'd1 : 48'd1;
        if (rst || clear) begin
            shadowed <= {N{1'b0}};
            fed <= {N{1'b0}};
        end else begin
            if (write_valid)
                shadowed[write_index] <= 1'b1;
            if (goes && !is_sent && rp_ready)
                fed[limiter] <= 1'b1;
        end
        {show_active, show_rate, show_target, show_byte_stage, show_timer_stage}
            <= shadowed[show_index] ? shadows[show_index]
               : {1'b0, link_rate, {21'd0, link_rate}, 48'd0};
        show_feedback <= fed[show_index] ? feedbacks[show_index] : 48'd0;
        show_flow <= used[show_index] ? {1'b1, {(16 - FLOW_W){1'b0}}, flow_of[show_index]} : 17'd0;
    end

    wire unused = |{write_kind, write_countdown, write_timer, write_random, write_known,
                    tokens_written, tokens_index, tokens};
endmodule

`default_nettype wire
