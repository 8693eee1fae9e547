// A 32-bit random source. `load` takes the seed (0 becomes 1, or the register would stand still),
// `draw` advances it by 32 steps; it comes in the fifth clock after the last `load` or `draw` at the
// earliest. `value` is the last draw.
`default_nettype none

module lfsr32 (
    input  wire        clk,
    input  wire        rst,
    input  wire        load,
    input  wire [31:0] seed,
    input  wire        draw,
    output reg  [31:0] value
);
    wire [31:0] next;

    lfsr_step advance (.clk(clk), .value(value), .next(next));

    always @(posedge clk)
        if (rst)
            value <= 32'd1;
        else if (load)
            // never cond_then: the driver never seeds it with 0 (`seed_for`); a bench does
            value <= seed == 32'd0 ? 32'd1 : seed;
        else if (draw)
            value <= next;
endmodule

`default_nettype wire
