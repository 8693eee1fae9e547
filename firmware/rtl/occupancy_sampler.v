// Selects the notified source when a congestion point samples by occupancy (plugins/qcn_cp.py; IBM's
// input-buffered QCN, section VI): the source of a random frame in the queue, weighted by the units of
// the queue's memory that it occupies.
//
// Frames come and leave as events, in their order; of one event the arrival was first. The
// congestion point processes an arriving frame in the same clock; when it notifies a source, one of the
// queued frames is drawn; then the arrived frame takes its units, if it is enqueued
// (orchestrator/engine/node/buffer.py). No event is taken meanwhile. Frames are identified by the slot
// of their descriptor. A frame for which there are not enough units is not drawn: with a unit per 256
// octets of the queue and one per frame there always are.
`default_nettype none

module occupancy_sampler #(
    parameter UNITS = 1024,                   // as of culprit_array
    parameter SLOTS = 4096,                   // a power of two
    parameter UNIT_W = $clog2(UNITS),
    parameter SLOT_W = $clog2(SLOTS)
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              clear,           // nothing stands in the queue, with the seed
    input  wire [31:0]       seed,
    input  wire [UNIT_W:0]   units,           // of this queue, not 0; changes with `clear` alone
    input  wire [19:0]       searches,        // 0: no bound

    input  wire              event_valid,
    output wire              event_ready,
    input  wire              event_comes,     // a frame comes; it,
    input  wire [15:0]       event_length,
    input  wire              event_kept,
    input  wire [SLOT_W-1:0] event_slot,
    input  wire              event_leaves,    // a frame leaves; it
    input  wire [SLOT_W-1:0] event_left,

    input  wire              cp_ready,        // of the congestion point, a clock after it took a frame
    input  wire              cp_message,      // before it is ready: a source is notified

    output wire              found_valid,     // one clock: whom
    output wire              found_none,      // nothing stood there
    output wire [SLOT_W-1:0] found_slot,
    output wire [31:0]       random
);
    localparam [2:0] IDLE = 3'd0, LOOK = 3'd1, DRAW = 3'd2, DRAWN = 3'd3, PUT = 3'd4,
                     PUTTING = 3'd5, READ = 3'd6, TAKE = 3'd7;

    reg [2:0]        state;
    reg [15:0]       length;
    reg              kept, leaves;
    reg [SLOT_W-1:0] slot, left;
    assign event_ready = state == IDLE;

    wire              put_ready, put_done, take_ready, draw_ready;
    wire [UNIT_W-1:0] put_unit;
    wire [UNIT_W:0]   free_units;
    wire [16:0]       rounded = {1'b0, length} + 17'd255;
    wire              fits = {{UNIT_W{1'b0}}, rounded[16:8]} <= {8'd0, free_units};

    // --- where each frame lies ----------------------------------------------------------------------
    reg  [UNIT_W:0]   lies [0:SLOTS-1];       // it does, from which unit on
    reg  [UNIT_W:0]   lay;
    wire              noted = (state == PUT && put_ready && !fits) || put_done;
    always @(posedge clk) begin
        lay <= lies[left];
        if (noted)
            lies[slot] <= {put_done, put_unit};
    end

    culprit_array #(.UNITS(UNITS), .TAG_W(SLOT_W)) array (
        .clk(clk), .rst(rst), .clear(clear), .seed(seed), .units(units),
        .put_valid(state == PUT && fits), .put_ready(put_ready), .put_length(length),
        .put_tag(slot), .put_done(put_done), .put_unit(put_unit),
        .take_valid(state == TAKE && lay[UNIT_W]), .take_ready(take_ready),
        .take_unit(lay[UNIT_W-1:0]),
        .draw_valid(state == DRAW), .draw_ready(draw_ready), .searches(searches),
        .found_valid(found_valid), .found_none(found_none), .found_tag(found_slot),
        .free_units(free_units), .random(random)
    );

    // --- one event after the other -------------------------------------------------------------------
    wire [2:0] put_behind = leaves ? READ : IDLE;
    wire [2:0] drawn_behind = kept ? PUT : put_behind;
    always @(posedge clk)
        if (rst || clear)
            state <= IDLE;
        else case (state)
            IDLE: begin
                length <= event_length;
                kept <= event_kept;
                slot <= event_slot;
                leaves <= event_leaves;
                left <= event_left;
                if (event_valid)
                    state <= event_comes ? LOOK : READ;
            end
            LOOK: if (cp_message)
                state <= DRAW;
            else if (cp_ready)
                state <= drawn_behind;
            DRAW: if (draw_ready)
                state <= DRAWN;
            DRAWN: if (found_valid)
                state <= drawn_behind;
            PUT: if (put_ready)               // none leaves any more: `fits` is what it says
                // never cond_else: there is a unit per 256 octets of the queue and one per frame
                state <= fits ? PUTTING : put_behind;
            PUTTING: if (put_done)
                state <= put_behind;
            READ: state <= TAKE;
            // never else: a unit is 32 words of a frame that leaves, and is free after 2 clocks
            default: if (!lay[UNIT_W] || take_ready)
                state <= IDLE;
        endcase

    wire unused = |rounded[7:0];
endmodule

`default_nettype wire
