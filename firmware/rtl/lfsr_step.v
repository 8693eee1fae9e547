// The random source 32 steps on: Galois form, x^32 + x^22 + x^2 + x + 1, shifted right.
// The same function as orchestrator/engine/lfsr.py `lfsr_next`, eight steps to a clock: `next` is right
// from the fourth clock after `value` last changed. (Unrolled, eight steps are an XOR of at most
// seven bits; 32 are one of 21, and were the longest path of all.)
`default_nettype none

module lfsr_step (
    input  wire        clk,
    input  wire [31:0] value,
    output wire [31:0] next
);
    localparam [31:0] MASK = 32'h80200003;
    localparam STAGES = 4;

    reg [32*STAGES-1:0] stages, ahead;
    reg [31:0]          at;
    integer             stage, step;
    assign next = stages[32*STAGES-1 -: 32];

    always @* begin
        ahead = {(32 * STAGES){1'b0}};
        at = value;
        for (stage = 0; stage < STAGES; stage = stage + 1) begin
            for (step = 0; step < 32 / STAGES; step = step + 1)
                at = {1'b0, at[31:1]} ^ (at[0] ? MASK : 32'd0);
            ahead[32*stage +: 32] = at;
            at = stages[32*stage +: 32];
        end
    end

    always @(posedge clk)
        stages <= ahead;
endmodule

`default_nettype wire
