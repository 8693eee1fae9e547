// `base` spread uniformly over [base - 15 %, base + 15 %), by the upper 16 bits of `random`:
// width = floor(3 base / 10); result = base - floor(width / 2) + floor(width r / 2^16).
// The same as orchestrator/engine/lfsr.py `jittered` for every base of BASE_W (at most 45) bits.
// The division by ten takes two bits per clock; `done` is high for one clock,
// `result` then stays.
`default_nettype none

module jitter #(
    parameter BASE_W = 45
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              start,
    input  wire [BASE_W-1:0] base,
    input  wire [15:0]       random,
    output reg               done,
    output reg  [BASE_W:0]   result
);
    localparam DIGITS = (BASE_W + 2 + 1) / 2;      // of two bits
    localparam TRIPLE_W = 2 * DIGITS;
    localparam COUNT_W = $clog2(DIGITS + 1);
    localparam [2:0] IDLE = 3'd0, DIVIDE = 3'd1, MULTIPLY = 3'd2, LEAST = 3'd3, ADD = 3'd4;

    reg [2:0]          state;
    reg [COUNT_W-1:0]  left;
    reg [TRIPLE_W-1:0] width;     // 3 base, digit by digit replaced by its tenth
    reg [3:0]          rest;
    reg [BASE_W-1:0]   centre;
    reg [15:0]         draw;
    reg                multiplied;

    // One digit of the long division: {rest, digit} / 10, at most 39 / 10.
    reg [1:0] digit;
    reg [5:0] partial;
    integer bit_index;
    always @* begin
        partial = {rest, width[TRIPLE_W-1 -: 2]};
        digit = 2'd0;
        for (bit_index = 1; bit_index >= 0; bit_index = bit_index - 1)
            if (partial >= (6'd10 << bit_index)) begin
                partial = partial - (6'd10 << bit_index);
                digit[bit_index] = 1'b1;
            end
    end

    wire [BASE_W+1:0]   triple = {2'b00, base} + {1'b0, base, 1'b0};
    wire [TRIPLE_W:0]   spare = {{(TRIPLE_W - BASE_W - 1){1'b0}}, triple};
    wire [TRIPLE_W-1:0] padded = spare[TRIPLE_W-1:0];
    wire              product_done;
    wire [BASE_W+15:0] product;
    multiply #(.A_W(BASE_W), .B_W(16), .STEP(1)) share_of (
        .clk(clk), .rst(rst), .start(state == MULTIPLY && !multiplied),
        .a(width[BASE_W-1:0]), .b(draw), .done(product_done), .product(product)
    );
    wire [BASE_W-1:0] share = product[BASE_W+15:16];
    wire unused = |{partial[5:4], spare[TRIPLE_W], product[15:0]};

    always @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            state <= IDLE;
        end else case (state)
            IDLE: if (start) begin
                state <= DIVIDE;
                left <= DIGITS[COUNT_W-1:0];
                width <= padded;
                rest <= 4'd0;
                centre <= base;
                draw <= random;
                multiplied <= 1'b0;
            end
            DIVIDE: begin
                width <= {width[TRIPLE_W-3:0], digit};
                rest <= partial[3:0];
                left <= left - 1'b1;
                if (left == 1)
                    state <= MULTIPLY;
            end
            MULTIPLY: begin
                multiplied <= 1'b1;
                if (product_done)
                    state <= LEAST;
            end
            LEAST: begin
                // one sum per clock: two in a row were the longest path of all
                centre <= centre - {1'b0, width[BASE_W-1:1]};
                state <= ADD;
            end
            ADD: begin
                result <= {1'b0, centre} + {1'b0, share};
                done <= 1'b1;
                state <= IDLE;
            end
            // never case: every state has one of its own
            default: state <= IDLE;
        endcase
    end
endmodule

`default_nettype wire
