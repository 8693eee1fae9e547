"""Fixed text of the shell around a compiled reaction point (firmware.compiler.limiter_shell)."""

from __future__ import annotations

SHELL = """\
// Reaction points around {name} (firmware/compiler/limiter_shell.py); not edited.
`default_nettype none
/* verilator lint_off WIDTH */
/* verilator lint_off UNUSEDSIGNAL */

module kernel_limiter #(
    parameter N = 4,
    parameter INDEX_W = N > 1 ? $clog2(N) : 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,          // every limiter becomes inactive
    output wire               idle,
    input  wire [39:0]        link_rate,
    input  wire               word_written,
    input  wire [INDEX_W-1:0] word_limiter,
    input  wire [15:0]        word_index,
    input  wire [63:0]        word,
    output reg  [63:0]        state_word,

    input  wire               scan_timers,
    input  wire [61:0]        now,            // ps
    input  wire               event_valid,
    output wire               event_ready,
    input  wire               event_sent,     // a frame was sent; else a message came
    input  wire [INDEX_W-1:0] event_index,
    input  wire               event_binds,    // the limiter gets a flow with it
    input  wire [5:0]         event_feedback,
    input  wire [15:0]        event_length,
    input  wire               event_empty,    // nothing waits behind the limiter
    input  wire [61:0]        event_now,
    output wire [INDEX_W-1:0] due_index,
    input  wire               due_empty,

    output reg                update_valid,
    input  wire               update_ready,
    output reg  [INDEX_W-1:0] update_index,
    output reg                update_active,
    output reg  [39:0]        update_rate,
    output reg                write_valid,
    output reg  [INDEX_W-1:0] write_index,
    output reg                write_active,
    output reg  [39:0]        write_rate,
    output reg  [60:0]        write_target,

    input  wire [39:0]        patience,
    output reg                event_started,
    output reg                late,
    output reg  [47:0]        longest_wait
);
    localparam [2:0] IDLE = 3'd0, READ = 3'd1, START = 3'd2, BUSY = 3'd3, UPDATE = 3'd4;
    localparam [31:0] LAST = N - 1;
    localparam signed [63:0] NEVER = 64'sd{never};
    localparam [{event_bits}-1:0] FEEDBACK = {feedback}, SENT = {sent}, TIMER = {timer_event};
    localparam HAS_SENT = {has_sent}, HAS_TIMER = {has_timer};
    reg  [2:0]         state;
    reg  [{event_bits}-1:0] event_number;
    reg  [INDEX_W-1:0] index, scan;
    reg                binds, is_message, is_timer, empty;
    reg  [5:0]         e_feedback;
    reg  [15:0]        e_length;
    reg  [{now_bits}-1:0] e_now;

    reg                active_of [0:N-1];
    reg  signed [63:0] rate_of [0:N-1], target_of [0:N-1], timer_of [0:N-1];
    reg                active;
    reg  signed [63:0] rate, target, timer;
    integer            each;
    {declared}

    wire               kernel_done, kernel_ready;
    wire signed [63:0] kernel_answer;
    {name} kernel (
        .clk(clk), .rst(rst || clear), .start(state == START), .event_number(event_number),
        .now(e_now), .ready(kernel_ready), .done(kernel_done), .answer(kernel_answer){ports}
    );
    wire               active_after = {active};
    wire signed [63:0] rate_after = {rate};
    wire signed [63:0] target_after = {target};
    wire signed [63:0] timer_after = {timer};
    wire signed [63:0] soonest = $signed({{2'd0, e_now}}) + 64'sd{soonest};
    wire signed [63:0] next_timer =
        !active_after ? NEVER : is_timer && timer_after < soonest ? soonest : timer_after;

    wire due = HAS_TIMER && scan_timers && timer_of[scan] <= $signed({{2'd0, now}});
    assign due_index = scan;
    assign idle = state == IDLE && !due;
    assign event_ready = idle && !word_written;
    wire [61:0] waited = state == READ ? now - e_now : 62'd0;

    always @* begin
        state_word = 64'd0;
        case (word_index)
            {shown}
            default: ;
        endcase
    end

    always @(posedge clk) begin
        write_valid <= 1'b0;
        event_started <= 1'b0;
        late <= 1'b0;
        if (rst || clear) begin
            state <= IDLE;
            scan <= {{INDEX_W{{1'b0}}}};
            update_valid <= 1'b0;
            longest_wait <= 48'd0;
            for (each = 0; each < N; each = each + 1) begin
                active_of[each] <= 1'b0;
                rate_of[each] <= link_rate;
                target_of[each] <= link_rate;
                timer_of[each] <= NEVER;
            end
        end else case (state)
            IDLE: begin
                {accepted}
                scan <= scan == LAST[INDEX_W-1:0] ? {{INDEX_W{{1'b0}}}} : scan + 1'b1;
                if (due) begin
                    index <= scan;
                    event_number <= TIMER;
                    e_now <= timer_of[scan];
                    e_length <= 16'd0;
                    e_feedback <= 6'd0;
                    empty <= due_empty;
                    {{binds, is_message, is_timer}} <= 3'b001;
                    state <= READ;
                end else if (event_valid && event_ready && (!event_sent || HAS_SENT)) begin
                    index <= event_index;
                    event_number <= event_sent ? SENT : FEEDBACK;
                    e_now <= event_now;
                    e_length <= event_length;
                    e_feedback <= event_feedback;
                    empty <= event_empty;
                    {{binds, is_message, is_timer}} <= {{event_binds, !event_sent, 1'b0}};
                    state <= READ;
                end
            end
            READ: begin
                active <= active_of[index];
                rate <= rate_of[index];
                target <= target_of[index];
                timer <= is_timer ? NEVER : timer_of[index];
                {fetched}
                event_started <= 1'b1;
                late <= waited > {{22'd0, patience}};
                if (waited[47:0] > longest_wait)
                    longest_wait <= waited[47:0];
                state <= START;
            end
            START: state <= BUSY;
            BUSY: if (kernel_done) begin
                active_of[index] <= active_after;
                rate_of[index] <= rate_after;
                target_of[index] <= target_after;
                timer_of[index] <= next_timer;
                {keep}
                write_valid <= 1'b1;
                write_index <= index;
                write_active <= active_after;
                write_rate <= rate_after;
                write_target <= target_after;
                update_index <= index;
                update_active <= active_after;
                update_rate <= rate_after;
                update_valid <= active_after != active || rate_after != rate
                                || (is_message && !active_after);
                state <= active_after != active || rate_after != rate
                         || (is_message && !active_after) ? UPDATE : IDLE;
            end
            default: if (update_ready) begin
                update_valid <= 1'b0;
                state <= IDLE;
            end
        endcase
        if (word_written)
            case (word_index)
            {writes}
            default: ;
            endcase
    end
endmodule

`default_nettype wire
"""
