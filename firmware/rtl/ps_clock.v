// Time in ps, counted by a clock whose period is NUM / DENOM ns; nothing is rounded in the long run.
`default_nettype none

module ps_clock #(
    parameter NUM = 4,
    parameter DENOM = 1
) (
    input  wire        clk,
    input  wire        rst,
    output reg  [61:0] now
);
    localparam [31:0] WHOLE = 1000 * NUM / DENOM;
    localparam [31:0] REST = 1000 * NUM % DENOM, FULL = DENOM;

    reg  [31:0] carry;                        // of ps, in parts of DENOM
    wire [31:0] carried = carry + REST;
    wire        extra = carried >= FULL;
    always @(posedge clk)
        if (rst) begin
            now <= 62'd0;
            carry <= 32'd0;
        end else begin
            now <= now + {30'd0, WHOLE} + {61'd0, extra};
            carry <= extra ? carried - FULL : carried;
        end
endmodule

`default_nettype wire
