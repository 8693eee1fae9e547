// Packet generators of FLOWS flows on one calculator: traffic/cbr_source.py with a host queue each, as
// `make_frame` and `send_ready_flow` of orchestrator/engine/node/nic_transmit.py have it. A flow makes a frame when it is
// due and its queue has room; a frame that found none is made when one leaves. Of waiting frames
// only the times are kept: the octets are made when a frame is taken.
//
// The interval is `whole` ps and now and then one more: the host divides length * 8e12 by the rate
// into `whole` and `rest`, and the remainders are carried on. Flows are looked at in turn, some three
// clocks each; the times of frames are those of the rate all the same.
`default_nettype none

module flow_sources #(
    parameter FLOWS = 8,
    parameter ROOM = 64,                      // frames of a host queue at most, a power of two
    parameter FLOW_W = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              clear,           // all flows are off and their queues empty
    input  wire [61:0]       now,             // ps

    input  wire              commit,          // set a flow
    input  wire [FLOW_W-1:0] commit_index,
    input  wire              commit_on,
    input  wire              commit_start,    // its first frame is due at `commit_due`
    input  wire [61:0]       commit_due,
    input  wire [61:0]       commit_whole,    // ps
    input  wire [39:0]       commit_rest,
    input  wire [39:0]       commit_rate,
    input  wire [15:0]       commit_length,
    input  wire [15:0]       commit_room,     // frames, from 1 to ROOM
    input  wire [23:0]       commit_source,
    input  wire [23:0]       commit_destination,
    input  wire [2:0]        commit_priority,
    input  wire [31:0]       commit_flow,
    input  wire [7:0]        commit_tos,

    output reg  [FLOWS-1:0]  waiting,         // flows with a frame
    input  wire              take_valid,      // of a flow that has one
    output wire              take_ready,
    input  wire [FLOW_W-1:0] take_index,
    output reg               taken,           // one clock; then until the next take:
    output reg  [FLOW_W-1:0] taken_index,
    output reg               taken_empty,     // nothing waits behind it
    output reg  [61:0]       taken_created,
    output reg  [63:0]       taken_sequence,
    output reg  [15:0]       taken_length,
    output reg  [23:0]       taken_source,
    output reg  [23:0]       taken_destination,
    output reg  [2:0]        taken_priority,
    output reg  [31:0]       taken_flow,
    output reg  [7:0]        taken_tos,

    input  wire [FLOW_W-1:0] show_index,
    output reg  [63:0]       show_frames,     // sent
    output reg  [63:0]       show_octets,
    output reg  [15:0]       show_waiting
);
    localparam ROOM_W = $clog2(ROOM);
    localparam SLOTS = FLOWS * ROOM;
    localparam [31:0] LAST_NUMBER = FLOWS - 1;
    localparam [FLOW_W-1:0] LAST = LAST_NUMBER[FLOW_W-1:0];
    localparam CONFIG_W = 62 + 40 + 40 + 16 + 16 + 24 + 24 + 3 + 32 + 8;
    // due, carry, room since, frames waiting, place of the first one, frames and octets sent
    localparam STATE_W = 62 + 40 + 62 + (ROOM_W + 1) + ROOM_W + 64 + 64;

    reg [CONFIG_W-1:0] configs [0:FLOWS-1];
    reg [STATE_W-1:0]  states [0:FLOWS-1];
    reg [61:0]         times [0:SLOTS-1];
    reg [FLOWS-1:0]    on;

    localparam [2:0] CLEAR = 3'd0, READ = 3'd1, LOOK = 3'd2, MAKE = 3'd3, TAKE = 3'd4, SET = 3'd5,
                     CHECK = 3'd6;
    reg [2:0]        state;
    reg [FLOW_W-1:0] at, turn;
    reg              taking, setting;

    // --- a flow at hand --------------------------------------------------------------------------------
    reg  [61:0]       whole;
    reg  [39:0]       rest, rate;
    reg  [15:0]       length, room;
    reg  [23:0]       source, destination;
    reg  [2:0]        priority_code;
    reg  [31:0]       flow;
    reg  [7:0]        tos;
    reg  [61:0]       due, room_since;
    reg  [39:0]       carry;
    reg  [ROOM_W:0]   count;
    reg  [ROOM_W-1:0] head;
    reg  [63:0]       frames, octets;

    wire              full = {{(15 - ROOM_W){1'b0}}, count} >= room;
    wire [40:0]       carried = {1'b0, carry} + {1'b0, rest};
    wire [40:0]       over = carried - {1'b0, rate};
    wire              extra = !over[40];
    wire [61:0]       made_at = due > room_since ? due : room_since;
    reg               is_due;
    wire [ROOM_W-1:0] tail = head + count[ROOM_W-1:0];

    assign take_ready = state == READ && !commit && !set_waits;
    reg               set_waits;              // a commit came while another flow was at hand

    always @(posedge clk) begin
        taken <= 1'b0;
        if (rst || clear) begin
            state <= CLEAR;
            at <= {FLOW_W{1'b0}};
            turn <= {FLOW_W{1'b0}};
            on <= {FLOWS{1'b0}};
            waiting <= {FLOWS{1'b0}};
            set_waits <= 1'b0;
        end else begin
            if (commit)
                set_waits <= 1'b1;
            case (state)
                CLEAR: begin
                    states[at] <= {STATE_W{1'b0}};
                    configs[at] <= {CONFIG_W{1'b0}};
                    at <= at + 1'b1;
                    if (at == LAST)
                        state <= READ;
                end
                // whose turn it is: a commit, a take, the next flow
                READ: begin
                    setting <= set_waits;
                    taking <= !set_waits && take_valid && take_ready;
                    at <= set_waits ? commit_index : take_valid && take_ready ? take_index : turn;
                    if (!set_waits && !(take_valid && take_ready))
                        turn <= turn == LAST ? {FLOW_W{1'b0}} : turn + 1'b1;
                    state <= LOOK;
                end
                LOOK: begin
                    {whole, rest, rate, length, room, source, destination, priority_code, flow,
                     tos} <= configs[at];
                    {due, carry, room_since, count, head, frames, octets} <= states[at];
                    state <= setting ? SET : taking ? TAKE : CHECK;
                end
                SET: begin
                    set_waits <= commit;
                    on[at] <= commit_on;
                    configs[at] <= {commit_whole, commit_rest, commit_rate, commit_length,
                                    commit_room, commit_source, commit_destination,
                                    commit_priority, commit_flow, commit_tos};
                    // what is left over is below the new rate: at most one ps is not carried on
                    states[at] <= {commit_start ? commit_due : due,
                                   carry < commit_rate ? carry : 40'd0,
                                   room_since, count, head, frames, octets};
                    state <= READ;
                end
                TAKE: begin
                    taken_created <= times[{at, head}];
                    taken_index <= at;
                    taken_sequence <= frames;
                    taken_length <= length;
                    taken_source <= source;
                    taken_destination <= destination;
                    taken_priority <= priority_code;
                    taken_flow <= flow;
                    taken_tos <= tos;
                    if (full)
                        room_since <= now;
                    count <= count - 1'b1;
                    head <= head + 1'b1;
                    frames <= frames + 64'd1;
                    octets <= octets + {48'd0, length};
                    state <= CHECK;
                end
                CHECK: begin
                    is_due <= on[at] && due <= now && !full;
                    state <= MAKE;
                end
                default: begin
                    if (is_due)
                        times[{at, tail}] <= made_at;
                    states[at] <= {is_due ? made_at + whole + {61'd0, extra} : due,
                                   !is_due ? carry : extra ? over[39:0] : carried[39:0],
                                   room_since, is_due ? count + 1'b1 : count, head, frames, octets};
                    waiting[at] <= is_due || count != {(ROOM_W + 1){1'b0}};
                    taken <= taking;
                    taken_empty <= !is_due && count == {(ROOM_W + 1){1'b0}};
                    state <= READ;
                end
            endcase
        end
    end

    /* verilator lint_off UNUSEDSIGNAL */
    wire [STATE_W-1:0] shown = states[show_index];
    /* verilator lint_on UNUSEDSIGNAL */
    always @(posedge clk) begin
        {show_frames, show_octets} <= shown[127:0];
        show_waiting <= {{(15 - ROOM_W){1'b0}}, shown[128 + ROOM_W +: ROOM_W + 1]};
    end
endmodule

`default_nettype wire
