// The random source 32 steps on: Galois form, x^32 + x^22 + x^2 + x + 1, shifted right.
// The same function as orchestrator/lfsr.py `lfsr_next`; unrolled it is one XOR matrix.
`default_nettype none

module lfsr_step (
    input  wire [31:0] value,
    output reg  [31:0] next
);
    localparam [31:0] MASK = 32'h80200003;

    integer step;
    always @* begin
        next = value;
        for (step = 0; step < 32; step = step + 1)
            next = {1'b0, next[31:1]} ^ (next[0] ? MASK : 32'd0);
    end
endmodule

`default_nettype wire
