// QCN feedback: F = (q - Q_eq) + w (q - q_old), clipped to 0 .. L with L = Q_eq (2 w + 1), and
// floor(63 F / L), as plugins/qcn_cp.py. The quotient has 6 bits, so it is found by trial:
// the largest k with k L <= 63 F, bit by bit. `done` is high for one clock, 11 clocks after `start`;
// the results then stay. The set point must not be 0.
`default_nettype none

module qcn_quantiser (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,
    input  wire [31:0]        queue_bytes, // octets
    input  wire [31:0]        old,         // octets at the last sample
    input  wire [29:0]        set_point,   // octets, Q_eq
    input  wire [6:0]         weight,      // w
    output reg                done,
    output reg  [5:0]         feedback,
    output reg  signed [32:0] offset,      // octets, q - Q_eq
    output reg  signed [32:0] delta        // octets, q - q_old
);
    localparam [2:0] IDLE = 3'd0, GROW = 3'd1, SUM = 3'd2, CLIP = 3'd3, SCALE = 3'd4, TRY = 3'd5;

    reg [2:0]         state;
    reg [2:0]         bit_index;
    reg signed [40:0] grown;     // w delta: 33 and 8 signed bits
    reg signed [41:0] raw;       // F
    reg [37:0]        limit;     // L: 30 and 8 bits
    reg [37:0]        clipped;
    reg [43:0]        scaled;    // 63 F
    reg [43:0]        held;      // k L of the bits found so far

    wire [43:0] trial = held + ({6'd0, limit} << bit_index);
    wire signed [41:0] signed_limit = {4'd0, limit};

    always @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            state <= IDLE;
        end else case (state)
            IDLE: if (start) begin
                offset <= $signed({1'b0, queue_bytes}) - $signed({3'b000, set_point});
                delta <= $signed({1'b0, queue_bytes}) - $signed({1'b0, old});
                state <= GROW;
            end
            GROW: begin
                grown <= delta * $signed({1'b0, weight});
                limit <= set_point * {weight, 1'b1};
                state <= SUM;
            end
            SUM: begin
                raw <= {{9{offset[32]}}, offset} + {grown[40], grown};
                state <= CLIP;
            end
            CLIP: begin
                if (raw[41])
                    clipped <= 38'd0;
                else if (raw > signed_limit)
                    clipped <= limit;
                else
                    clipped <= raw[37:0];
                state <= SCALE;
            end
            SCALE: begin
                scaled <= {clipped, 6'd0} - {6'd0, clipped};
                held <= 44'd0;
                feedback <= 6'd0;
                bit_index <= 3'd5;
                state <= TRY;
            end
            TRY: begin
                if (trial <= scaled) begin
                    held <= trial;
                    feedback[bit_index] <= 1'b1;
                end
                bit_index <= bit_index - 1'b1;
                if (bit_index == 0) begin
                    done <= 1'b1;
                    state <= IDLE;
                end
            end
            default: state <= IDLE;
        endcase
    end
endmodule

`default_nettype wire
