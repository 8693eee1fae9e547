// Restoring division of unsigned integers, STEP quotient bits per clock; rounds down.
// `start` while `busy` is ignored; `done` is high for one clock, quotient and remainder then stay.
// A divisor of 0 gives a quotient of ones and takes the same time.
`default_nettype none

module divide #(
    parameter DIVIDEND_W = 56,
    parameter DIVISOR_W = 16,
    parameter STEP = 2          // divides DIVIDEND_W
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  start,
    input  wire [DIVIDEND_W-1:0] dividend,
    input  wire [DIVISOR_W-1:0]  divisor,
    output reg                   busy,
    output reg                   done,
    output reg  [DIVIDEND_W-1:0] quotient,
    output reg  [DIVISOR_W-1:0]  remainder
);
    localparam ROUNDS = DIVIDEND_W / STEP;
    localparam COUNT_W = $clog2(ROUNDS + 1);

    reg [COUNT_W-1:0]    left;
    reg [DIVISOR_W-1:0]  by;
    reg [DIVIDEND_W-1:0] shifted;
    reg [DIVISOR_W-1:0]  rest;
    reg [DIVISOR_W:0]    trial;

    integer step;
    always @* begin
        shifted = quotient;
        rest = remainder;
        trial = {(DIVISOR_W + 1){1'b0}};
        for (step = 0; step < STEP; step = step + 1) begin
            trial = {rest, shifted[DIVIDEND_W-1]};
            shifted = {shifted[DIVIDEND_W-2:0], 1'b0};
            if (trial >= {1'b0, by}) begin
                trial = trial - {1'b0, by};
                shifted[0] = 1'b1;
            end
            rest = trial[DIVISOR_W-1:0];
        end
    end

    always @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            busy <= 1'b0;
        end else if (!busy) begin
            if (start) begin
                busy <= 1'b1;
                left <= ROUNDS[COUNT_W-1:0];
                by <= divisor;
                quotient <= dividend;
                remainder <= {DIVISOR_W{1'b0}};
            end
        end else begin
            quotient <= shifted;
            remainder <= rest;
            left <= left - 1'b1;
            if (left == 1) begin
                busy <= 1'b0;
                done <= 1'b1;
            end
        end
    end
endmodule

`default_nettype wire
