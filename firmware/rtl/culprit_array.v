// Which frame lies where in a buffer, and one of them at random: the CulpritArray of IBM's
// input-buffered QCN (section VI), for sampling by occupancy. The buffer's memory is divided into
// units of 256 octets; a frame takes as many as it needs, wherever one is free, and what it says of
// itself (`tag`: where its header is, say) stands at each of them. A draw hits a unit at random until
// it is an occupied one, so that a frame is the likelier the more it occupies; after so many
// `searches` (0: no bound) the units behind the last one are looked through instead. As
// `allocate_cells`, `free_cells` and `random_frame` of orchestrator/engine/node/buffer_occupancy.py,
// the random source included.
//
// A frame that comes or leaves takes two clocks per unit and one; a draw some UNIT_W + 6 per search,
// two per unit that is looked through. Nothing is asked for at once: `put` before `take` before
// `draw`. The caller sees to it that `free_units` are enough. UNITS is 16 at least.
`default_nettype none

module culprit_array #(
    parameter UNITS = 1024,                   // that there is memory for, a power of two
    parameter TAG_W = 16,
    parameter UNIT_W = $clog2(UNITS)
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              clear,           // all units free, with the seed
    input  wire [31:0]       seed,
    input  wire [UNIT_W:0]   units,           // of this buffer, not 0; changes with `clear` alone

    input  wire              put_valid,       // a frame comes
    output wire              put_ready,
    input  wire [15:0]       put_length,      // octets, not 0
    input  wire [TAG_W-1:0]  put_tag,
    output reg               put_done,        // one clock: it lies from `put_unit` on
    output reg  [UNIT_W-1:0] put_unit,

    input  wire              take_valid,      // the frame that lies from there on leaves
    output wire              take_ready,
    input  wire [UNIT_W-1:0] take_unit,

    input  wire              draw_valid,
    output wire              draw_ready,
    input  wire [19:0]       searches,
    output reg               found_valid,     // one clock
    output reg               found_none,      // the buffer is empty; nothing was drawn then
    output reg  [TAG_W-1:0]  found_tag,

    output reg  [UNIT_W:0]   free_units,
    output wire [31:0]       random
);
    localparam [3:0] CLEAR = 4'd0, IDLE = 4'd1, PUT_READ = 4'd2, PUT = 4'd3, TAKE_READ = 4'd4,
                     TAKE = 4'd5, DRAW = 4'd6, SCALE = 4'd7, SCALING = 4'd8, LOOK_READ = 4'd9,
                     LOOK = 4'd10;
    localparam [UNIT_W:0] NONE = {1'b1, {UNIT_W{1'b0}}};

    reg [TAG_W:0]    held [0:UNITS-1];        // occupied, tag
    reg [UNIT_W:0]   next [0:UNITS-1];        // of its frame, or of the free ones; NONE: the last
    reg [TAG_W:0]    held_here;
    reg [UNIT_W:0]   next_here;

    reg [3:0]        state;
    reg [UNIT_W-1:0] at;
    reg [UNIT_W-1:0] first;                   // of the frame that leaves
    reg [UNIT_W:0]   free;                    // the first free one
    reg [8:0]        left;                    // units that the frame still needs
    reg [TAG_W-1:0]  tag;
    reg [UNIT_W:0]   frames;
    reg [19:0]       tries;                   // searches that are left, of a bound
    reg              bounded, scanning;

    assign put_ready = state == IDLE;
    assign take_ready = state == IDLE && !put_valid;
    assign draw_ready = state == IDLE && !put_valid && !take_valid;

    // --- a unit at random -----------------------------------------------------------------------
    lfsr32 source (
        .clk(clk), .rst(rst), .load(clear), .seed(seed), .draw(state == DRAW), .value(random)
    );
    wire               scaled;
    wire [UNIT_W+32:0] product;
    multiply #(.A_W(32), .B_W(UNIT_W + 1), .STEP(1)) scale (
        .clk(clk), .rst(rst || clear), .start(state == SCALE), .a(random), .b(units),
        .done(scaled), .product(product)
    );

    // --- memory: one read and one write per clock -------------------------------------------------
    wire             here_last = next_here == NONE;
    wire             last_unit = {1'b0, at} + 1'b1 == units;
    wire [UNIT_W:0]  behind = {1'b0, at} + 1'b1;
    wire             put_ends = left == 9'd1;
    reg              write_held, write_next;
    reg [UNIT_W:0]   next_value;
    always @* begin
        write_held = state == CLEAR || state == PUT || state == TAKE;
        write_next = state == CLEAR || (state == PUT && put_ends) || (state == TAKE && here_last);
        case (state)
            CLEAR: next_value = last_unit ? NONE : behind;
            PUT: next_value = NONE;
            default: next_value = free;
        endcase
    end
    always @(posedge clk) begin
        held_here <= held[at];
        next_here <= next[at];
        if (write_held)
            held[at] <= state == PUT ? {1'b1, tag} : {(TAG_W + 1){1'b0}};
        if (write_next)
            next[at] <= next_value;
    end

    wire [16:0] rounded = {1'b0, put_length} + 17'd255;
    always @(posedge clk) begin
        put_done <= 1'b0;
        found_valid <= 1'b0;
        if (rst || clear) begin
            state <= CLEAR;
            at <= {UNIT_W{1'b0}};
            free <= {(UNIT_W + 1){1'b0}};
            free_units <= units;
            frames <= {(UNIT_W + 1){1'b0}};
        end else case (state)
            CLEAR: begin
                at <= behind[UNIT_W-1:0];
                if (last_unit)
                    state <= IDLE;
            end
            IDLE: begin
                left <= rounded[16:8];
                tag <= put_tag;
                first <= take_unit;
                tries <= searches;
                bounded <= searches != 20'd0;
                scanning <= 1'b0;
                if (put_valid) begin
                    at <= free[UNIT_W-1:0];
                    put_unit <= free[UNIT_W-1:0];
                    frames <= frames + 1'b1;
                    state <= PUT_READ;
                end else if (take_valid) begin
                    at <= take_unit;
                    frames <= frames - 1'b1;
                    state <= TAKE_READ;
                end else if (draw_valid) begin
                    found_none <= frames == 0;
                    found_valid <= frames == 0;
                    // never else: feedback above 0 says that octets wait, and their frames are here
                    if (frames != 0)
                        state <= DRAW;
                end
            end
            PUT_READ: state <= PUT;
            PUT: begin
                at <= next_here[UNIT_W-1:0];
                left <= left - 1'b1;
                free_units <= free_units - 1'b1;
                state <= PUT_READ;
                if (put_ends) begin
                    free <= next_here;
                    put_done <= 1'b1;
                    state <= IDLE;
                end
            end
            TAKE_READ: state <= TAKE;
            TAKE: begin
                at <= next_here[UNIT_W-1:0];
                free_units <= free_units + 1'b1;
                state <= TAKE_READ;
                if (here_last) begin
                    free <= {1'b0, first};
                    state <= IDLE;
                end
            end
            DRAW: state <= SCALE;
            SCALE: state <= SCALING;
            SCALING: if (scaled) begin
                at <= product[UNIT_W+31:32];
                tries <= tries - 1'b1;
                state <= LOOK_READ;
            end
            LOOK_READ: state <= LOOK;
            LOOK: if (held_here[TAG_W]) begin
                found_tag <= held_here[TAG_W-1:0];
                found_valid <= 1'b1;
                state <= IDLE;
            end else if (scanning || (bounded && tries == 20'd0)) begin
                scanning <= 1'b1;
                at <= last_unit ? {UNIT_W{1'b0}} : behind[UNIT_W-1:0];
                state <= LOOK_READ;
            end else
                state <= DRAW;
            // never case: every state has one of its own
            default: state <= IDLE;
        endcase
    end

    wire unused = |{rounded[7:0], product[UNIT_W+32], product[31:0], behind[UNIT_W]};
endmodule

`default_nettype wire
