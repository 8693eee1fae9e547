// QCN feedback: F = (q - Q_eq) + w (q - q_old), clipped to 0 .. L with L = Q_eq (2 w + 1), and
// floor(63 F / L), as plugins/qcn_cp.py. The quotient has 6 bits, so it is found by trial:
// the largest k with k L <= 63 F, bit by bit; the products with w are summed up bit by bit as well.
// `done` is high for one clock, 19 clocks after `start`; the results then stay. The set point must
// not be 0.
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
    localparam [2:0] IDLE = 3'd0, GROW = 3'd1, SUM = 3'd2, CLIP = 3'd3, SCALE = 3'd4, TRY = 3'd5,
        COMPARE = 3'd6;

    reg [2:0]         state;
    reg [2:0]         bit_index;
    reg signed [40:0] grown;     // w delta: 33 and 8 signed bits
    reg signed [41:0] raw;       // F
    reg [37:0]        limit;     // L: 30 and 8 bits
    reg [7:0]         factor;    // what is left of 2 w + 1
    reg               over;      // F is above L
    reg [37:0]        clipped;
    reg [43:0]        rest;      // 63 F - k L, k of the bits found so far
    reg [42:0]        trial;     // L times the bit that is tried

    wire [44:0] left = {1'b0, rest} - {2'b00, trial};
    // By the sign of a difference: its chain of carries ends at a register, that of a comparison
    // would have to be led out first.
    wire [42:0] to_limit = {5'd0, limit} - {raw[41], raw};

    always @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            state <= IDLE;
        end else case (state)
            IDLE: begin
                grown <= 41'sd0;
                limit <= 38'd0;
                factor <= {weight, 1'b1};
                bit_index <= 3'd7;
                if (start) begin
                    offset <= $signed({1'b0, queue_bytes}) - $signed({3'b000, set_point});
                    delta <= $signed({1'b0, queue_bytes}) - $signed({1'b0, old});
                    state <= GROW;
                end
            end
            GROW: begin
                // from the top bit down; the last bit is that of 2 w + 1 alone
                if (bit_index != 0)
                    grown <= {grown[39:0], 1'b0} + (factor[7] ? {{8{delta[32]}}, delta} : 41'd0);
                limit <= {limit[36:0], 1'b0} + (factor[7] ? {8'd0, set_point} : 38'd0);
                factor <= {factor[6:0], 1'b0};
                bit_index <= bit_index - 1'b1;
                if (bit_index == 0)
                    state <= SUM;
            end
            SUM: begin
                raw <= {{9{offset[32]}}, offset} + {grown[40], grown};
                state <= COMPARE;
            end
            COMPARE: begin
                over <= to_limit[42];
                state <= CLIP;
            end
            CLIP: begin
                if (raw[41])
                    clipped <= 38'd0;
                else if (over)
                    clipped <= limit;
                else
                    clipped <= raw[37:0];
                state <= SCALE;
            end
            SCALE: begin
                rest <= {clipped, 6'd0} - {6'd0, clipped};
                trial <= {limit, 5'd0};
                feedback <= 6'd0;
                bit_index <= 3'd5;
                state <= TRY;
            end
            TRY: begin
                if (!left[44]) begin
                    rest <= left[43:0];
                    feedback[bit_index] <= 1'b1;
                end
                trial <= {1'b0, trial[42:1]};
                bit_index <= bit_index - 1'b1;
                if (bit_index == 0) begin
                    done <= 1'b1;
                    state <= IDLE;
                end
            end
            // never case: every state has one of its own
            default: state <= IDLE;
        endcase
    end
    wire unused = |to_limit[41:0];
endmodule

`default_nettype wire
