// Multiplication of unsigned integers by shifting and adding, STEP bits of `b` per clock: one
// adder of A_W bits per STEP, no multiplier block. `start` while busy is ignored; `done` is high
// for one clock, B_W / STEP clocks later; `product` then stays.
`default_nettype none

module multiply #(
    parameter A_W = 40,
    parameter B_W = 24,
    parameter STEP = 2           // divides B_W
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,
    input  wire [A_W-1:0]     a,
    input  wire [B_W-1:0]     b,
    output reg                done,
    output wire [A_W+B_W-1:0] product
);
    localparam ROUNDS = B_W / STEP;
    localparam COUNT_W = $clog2(ROUNDS + 1);

    reg               busy;
    reg [COUNT_W-1:0] left;
    reg [A_W-1:0]     by;
    reg [A_W-1:0]     high, next_high;
    reg [B_W-1:0]     low, next_low;
    reg [A_W:0]       sum;
    assign product = {high, low};

    integer step;
    always @* begin
        next_high = high;
        next_low = low;
        sum = {(A_W + 1){1'b0}};
        for (step = 0; step < STEP; step = step + 1) begin
            sum = {1'b0, next_high} + (next_low[0] ? {1'b0, by} : {(A_W + 1){1'b0}});
            next_low = {sum[0], next_low[B_W-1:1]};
            next_high = sum[A_W:1];
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
                by <= a;
                high <= {A_W{1'b0}};
                low <= b;
            end
        end else begin
            high <= next_high;
            low <= next_low;
            left <= left - 1'b1;
            if (left == 1) begin
                busy <= 1'b0;
                done <= 1'b1;
            end
        end
    end
endmodule

`default_nettype wire
