// Token buckets of N limiters: orchestrator/engine/node/rate_limiter.py. Tokens are signed, in 10^-12 bit
// (bit/s times ps); every `period` a bucket gets (rate - rate mod granularity) * period of them, up
// to `depth`; a frame may start while they are above 0 (`eligible`) and takes its whole length.
//
// A charge and a rate take effect at `now` of the clock in which they are accepted: refills that
// are due by then come first. A charge takes three clocks, a refill six, a new rate 20 or, with a
// granularity above 1, some 63. Buckets are looked after in turn, so that a refill is at most about
// 9 N clocks late when nothing else asks for it.
`default_nettype none

module token_bucket #(
    parameter N = 4,
    parameter INDEX_W = N > 1 ? $clog2(N) : 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,          // every limiter becomes inactive, refilled from now on
    output wire               idle,

    input  wire [61:0]        now,            // ps
    input  wire [62:0]        depth,          // 10^-12 bit
    input  wire [33:0]        period,         // ps, not 0
    input  wire [39:0]        granularity,    // bit/s; 0 and 1: exact

    input  wire               phase_valid,    // while idle: the first refill of a limiter
    input  wire [INDEX_W-1:0] phase_index,
    input  wire [61:0]        phase,          // ps

    input  wire               rate_valid,
    output wire               rate_ready,
    input  wire [INDEX_W-1:0] rate_index,
    input  wire               rate_active,    // turning active empties the bucket
    input  wire [39:0]        rate,           // bit/s

    input  wire               charge_valid,
    output wire               charge_ready,
    input  wire [INDEX_W-1:0] charge_index,
    input  wire [15:0]        charge_length,  // octets

    output reg  [N-1:0]       eligible,

    output reg                write_valid,
    output reg  [INDEX_W-1:0] write_index,
    output reg  signed [63:0] write_tokens
);
    localparam [31:0] LAST_NUMBER = N - 1;
    localparam [INDEX_W-1:0] LAST = LAST_NUMBER[INDEX_W-1:0];
    localparam [42:0] OCTET = 43'd8_000_000_000_000;
    localparam [3:0] CLEAR = 4'd0, LOOK = 4'd1, COMPARE = 4'd11, SERVE = 4'd2, ADD = 4'd3, CLIP = 4'd4, REFILL = 4'd5,
                     CUT = 4'd6, CUT_WAIT = 4'd7, GAIN = 4'd8, GAIN_WAIT = 4'd9, RATE = 4'd10;

    reg signed [63:0] tokens [0:N-1];
    reg [73:0]        gains  [0:N-1];
    reg [61:0]        ticks  [0:N-1];      // when the next refill is due
    reg [N-1:0]       active;

    reg [3:0]         state;
    reg [INDEX_W-1:0] at;                  // the limiter looked at
    reg [INDEX_W-1:0] turn;                // the next one in turn

    // --- what is asked for, one deep ---------------------------------------------------------------
    localparam [1:0] TURN = 2'd0, CHARGE = 2'd1, NEW_RATE = 2'd2, PHASE = 2'd3;
    reg [1:0]         wish;
    reg [61:0]        moment;              // `now` when it was accepted
    reg [58:0]        cost;                // of the frame, 10^-12 bit
    reg               new_active;
    reg [39:0]        new_rate;

    // LOOK reads the bucket, COMPARE its time, SERVE acts on it.
    reg signed [63:0]  held;
    reg [73:0]         gain;
    reg [61:0]         tick;
    wire [62:0]        early = {1'b0, moment} - {1'b0, tick};
    reg                refill_due;
    reg signed [63:0]  charged;

    // Everything accepted is served before more is: an accepted wish stays while refills are due.
    wire served = state == SERVE && !refill_due;
    assign charge_ready = served && wish != NEW_RATE && !phase_valid && !rate_valid;
    assign rate_ready = served && wish != NEW_RATE && !phase_valid;
    assign idle = served && wish == TURN;

    // --- a refill: the sum, its bound, the write, in a clock each ---------------------------------
    reg               over;
    reg signed [75:0] sum;
    wire signed [75:0] bound = {13'd0, depth};
    wire signed [75:0] room = bound - sum;
    wire [63:0] refilled = over ? {1'b0, depth} : sum[63:0];

    // --- a rate's gain ------------------------------------------------------------------------------
    reg         cut_start;
    wire        cut_busy, cut_done;
    wire [39:0] cut_quotient, cut_rest;
    divide #(.DIVIDEND_W(40), .DIVISOR_W(40), .STEP(1)) cut (
        .clk(clk), .rst(rst || clear), .start(cut_start), .dividend(new_rate),
        .divisor(granularity), .busy(cut_busy), .done(cut_done), .quotient(cut_quotient),
        .remainder(cut_rest)
    );
    reg         gain_start;
    wire        gain_done;
    wire [73:0] new_gain;
    multiply #(.A_W(40), .B_W(34), .STEP(2)) make_gain (
        .clk(clk), .rst(rst || clear), .start(gain_start), .a(new_rate), .b(period),
        .done(gain_done), .product(new_gain)
    );
    wire       coarse = |granularity[39:1];
    wire       awakes = new_active && !active[at];

    // --- writes -------------------------------------------------------------------------------------
    reg               put;
    reg [63:0]        put_tokens;
    always @* begin
        put = 1'b0;
        put_tokens = refilled;
        case (state)
            CLEAR: begin
                put = 1'b1;
                put_tokens = 64'd0;
            end
            SERVE: if (!refill_due && wish == CHARGE && active[at]) begin
                put = 1'b1;
                put_tokens = charged;
            end
            REFILL: put = 1'b1;
            RATE: if (awakes) begin
                put = 1'b1;
                put_tokens = 64'd0;
            end
            default: put = 1'b0;
        endcase
    end

    always @(posedge clk) begin
        write_valid <= 1'b0;
        if (!rst && put) begin
            tokens[at] <= put_tokens;
            write_valid <= state != CLEAR;
            write_index <= at;
            write_tokens <= put_tokens;
        end
        if (!rst && (state == CLEAR || state == RATE))
            gains[at] <= state == CLEAR ? 74'd0 : new_gain;
        if (!rst && (state == CLEAR || state == REFILL || (served && wish == PHASE)))
            ticks[at] <= state == CLEAR ? now
                         : state == REFILL ? tick + {28'd0, period} : moment;
    end

    always @(posedge clk) begin
        cut_start <= 1'b0;
        gain_start <= 1'b0;
        if (rst || clear) begin
            state <= CLEAR;
            at <= {INDEX_W{1'b0}};
            turn <= {INDEX_W{1'b0}};
            active <= {N{1'b0}};
            eligible <= {N{1'b1}};
            wish <= TURN;
            moment <= 62'd0;
        end else begin
            if (write_valid)                  // a clock after the write
                eligible[write_index] <= !active[write_index]
                                         || (!write_tokens[63] && write_tokens != 64'sd0);
            case (state)
                CLEAR: begin
                    at <= at + 1'b1;
                    if (at == LAST) begin
                        at <= {INDEX_W{1'b0}};
                        state <= LOOK;
                    end
                end
                LOOK: begin
                    held <= tokens[at];
                    gain <= gains[at];
                    tick <= ticks[at];
                    state <= COMPARE;
                end
                COMPARE: begin
                    refill_due <= !early[62];
                    charged <= held - $signed({5'd0, cost});
                    state <= SERVE;
                end
                SERVE: if (refill_due) begin
                    state <= ADD;
                end else if (wish == NEW_RATE) begin
                    cut_start <= coarse;
                    state <= coarse ? CUT : GAIN;
                end else begin
                    state <= LOOK;
                    moment <= now;
                    cost <= charge_length * OCTET;
                    new_active <= rate_active;
                    new_rate <= rate;
                    if (phase_valid) begin
                        wish <= PHASE;
                        at <= phase_index;
                        moment <= phase;
                    end else if (rate_valid) begin
                        wish <= NEW_RATE;
                        at <= rate_index;
                    end else if (charge_valid) begin
                        wish <= CHARGE;
                        at <= charge_index;
                    end else begin
                        wish <= TURN;
                        at <= turn;
                        turn <= turn == LAST ? {INDEX_W{1'b0}} : turn + 1'b1;
                    end
                end
                ADD: begin
                    sum <= $signed({{12{held[63]}}, held}) + $signed({2'b00, gain});
                    state <= CLIP;
                end
                CLIP: begin
                    over <= room[75];      // equal: both are the same
                    state <= REFILL;
                end
                REFILL: state <= LOOK;
                CUT: state <= CUT_WAIT;
                CUT_WAIT: if (cut_done) begin
                    new_rate <= new_rate - cut_rest;
                    state <= GAIN;
                end
                GAIN: begin
                    gain_start <= 1'b1;
                    state <= GAIN_WAIT;
                end
                GAIN_WAIT: if (gain_done)
                    state <= RATE;
                RATE: begin
                    active[at] <= new_active;
                    if (!new_active)
                        eligible[at] <= 1'b1;
                    wish <= TURN;
                    state <= LOOK;
                end
                default: state <= CLEAR;
            endcase
        end
    end

    wire unused = |{cut_busy, cut_quotient, early[61:0], room[74:0]};
endmodule

`default_nettype wire
