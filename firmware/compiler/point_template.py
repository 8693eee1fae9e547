"""Fixed text of the shell around a compiled congestion point (firmware.compiler.point_shell)."""

from __future__ import annotations

SHELL = """\
// Congestion point around {name} (firmware/compiler/point_shell.py); not edited.
`default_nettype none
/* verilator lint_off WIDTH */
/* verilator lint_off UNUSEDSIGNAL */

module kernel_point (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,
    input  wire               on,
    input  wire [61:0]        now,            // ps
    input  wire               word_written,
    input  wire [15:0]        word_index,
    input  wire [63:0]        word,
    output reg  [63:0]        state_word,
    input  wire               arrivals_on,
    input  wire [39:0]        line_rate,
    input  wire [39:0]        service_rate,
    input  wire [31:0]        capacity,
    input  wire               pausing,
    input  wire [31:0]        queue_octets,
    input  wire [15:0]        queue_frames,

    input  wire               ask_valid,      // a frame waits in the gate
    input  wire [671:0]       ask_header,
    input  wire [15:0]        ask_length,
    input  wire [61:0]        ask_came,
    output reg                verdict_valid,
    output reg                verdict_drop,
    output reg                verdict_marks,
    output reg  [7:0]         verdict_mark,

    input  wire               left_valid,     // a frame has left the queue
    output reg                left_ready,
    output reg                left_verdict,   // the same for the frame that has left
    input  wire [671:0]       left_header,
    input  wire [15:0]        left_length,
    input  wire [61:0]        left_entered,
    input  wire [61:0]        left_time,
    input  wire [31:0]        left_octets,
    input  wire [15:0]        left_frames,

    input  wire               message_waits,
    output reg                message_valid,
    output reg                message_head,   // about the frame at the queue's head
    output reg  [5:0]         message_feedback,
    output reg  signed [32:0] message_offset,
    output reg  signed [32:0] message_delta,
    output wire [671:0]       event_header,
    output wire [15:0]        event_length,
    output reg                event_started,
    output reg  [61:0]        event_time
);
    localparam [1:0] IDLE = 2'd0, START = 2'd1, BUSY = 2'd2, REST = 2'd3;
    localparam [63:0] NEVER = 64'd{never};
    localparam [{event_bits}-1:0] ARRIVAL = {arrival}, DEPARTURE = {departure};
    localparam [{event_bits}-1:0] TIMER = {timer_event};
    localparam HAS_ARRIVAL = {has_arrival}, HAS_DEPARTURE = {has_departure};
    localparam HAS_TIMER = {has_timer};
    reg  [1:0]   state;
    reg  [{event_bits}-1:0] event_number;
    reg          event_is_arrival;
    reg  [671:0] e_header;
    reg  [15:0]  e_length, e_frames;
    reg  [7:0]   e_mark;
    reg  [61:0]  e_entered;
    reg  [31:0]  e_octets;
    reg  [63:0]  timer, e_timer;
    reg  [{now_bits}-1:0] e_now;
    {declared}

    wire        kernel_done, kernel_ready;
    wire signed [63:0] kernel_answer;
    {name} kernel (
        .clk(clk), .rst(rst || clear), .start(state == START), .event_number(event_number),
        .now(e_now), .ready(kernel_ready), .done(kernel_done), .answer(kernel_answer){ports}
    );

    function [7:0] tos;                       // of a VLAN-tagged IPv4 frame; 0 of any other
        input [671:0] octets;
        tos = octets[8*12 +: 16] == 16'h0081 && octets[8*16 +: 16] == 16'h0008
              ? octets[8*19 +: 8] : 8'd0;
    endfunction
    wire [7:0] mark_after = {mark};
    wire [63:0] timer_after = {timer};
    wire [63:0] soonest = {{2'd0, e_now}} + 64'd{soonest};
    assign event_header = e_header;
    assign event_length = e_length;

    always @* begin
        state_word = 64'd0;
        case (word_index)
            {shown}
            default: ;
        endcase
    end

    always @(posedge clk) begin
        verdict_valid <= 1'b0;
        left_ready <= 1'b0;
        left_verdict <= 1'b0;
        message_valid <= 1'b0;
        event_started <= 1'b0;
        if (rst || clear) begin
            state <= IDLE;
            timer <= NEVER;
        end else case (state)
            IDLE: begin
                {accepted}
                e_timer <= timer;
                e_octets <= queue_octets;
                e_frames <= queue_frames;
                event_is_arrival <= 1'b0;
                if (message_waits || word_written)
                    state <= IDLE;
                else if (left_valid) begin
                    left_ready <= 1'b1;
                    e_now <= left_time;
                    e_octets <= left_octets;
                    e_frames <= left_frames;
                    e_header <= left_header;
                    e_length <= left_length;
                    e_mark <= tos(left_header);
                    e_entered <= left_entered;
                    event_number <= DEPARTURE;
                    event_started <= on && HAS_DEPARTURE;
                    event_time <= left_time;
                    left_verdict <= !(on && HAS_DEPARTURE);
                    verdict_drop <= 1'b0;
                    verdict_marks <= 1'b0;
                    state <= on && HAS_DEPARTURE ? START : REST;
                end else if (on && HAS_TIMER && timer <= {{2'd0, now}}) begin
                    e_timer <= NEVER;
                    e_now <= now;
                    e_length <= 16'd0;
                    e_mark <= 8'd0;
                    e_entered <= 62'd0;
                    event_number <= TIMER;
                    event_started <= 1'b1;
                    event_time <= timer[61:0];
                    state <= START;
                end else if (ask_valid && on && HAS_ARRIVAL && arrivals_on) begin
                    e_now <= now;
                    e_header <= ask_header;
                    e_length <= ask_length;
                    e_mark <= tos(ask_header);
                    e_entered <= 62'd0;
                    event_is_arrival <= 1'b1;
                    event_number <= ARRIVAL;
                    event_started <= 1'b1;
                    event_time <= ask_came;
                    state <= START;
                end else if (ask_valid) begin
                    verdict_valid <= 1'b1;
                    verdict_drop <= 1'b0;
                    verdict_marks <= 1'b0;
                    state <= REST;
                end
            end
            START: state <= BUSY;
            BUSY: if (kernel_done) begin
                {keep}
                timer <= event_number == TIMER && timer_after < soonest ? soonest : timer_after;
                verdict_valid <= event_is_arrival;
                left_verdict <= event_number == DEPARTURE;
                verdict_drop <= kernel_answer == {drop};
                verdict_marks <= mark_after != e_mark;
                verdict_mark <= mark_after;
                message_valid <= event_number == TIMER
                    ? kernel_answer == {head} && queue_frames != 16'd0
                    : kernel_answer == {this} || kernel_answer == {head};
                message_head <= kernel_answer == {head};
                message_feedback <= {feedback};
                message_offset <= {offset};
                message_delta <= {delta};
                state <= REST;
            end
            REST: state <= IDLE;              // the gate and the events move on meanwhile
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
