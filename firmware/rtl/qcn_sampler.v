// Which frame is sampled: a countdown of octets that starts at interval 0, expires when it falls
// below 0 and is then reloaded from the interval of the feedback that the sample gave (NetFPGA-QCN,
// table 1), spread by +-15 %. The countdown of plugins/qcn_cp.py `_count`.
//
// One count per clock; interval 0 is set a clock before the first one. After an expiry (`due`, one
// clock after the count) `count_ready` is low until `reload` has come and its interval is set.
`default_nettype none

module qcn_sampler (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,        // start afresh, with the seed
    input  wire [31:0]        seed,
    input  wire [239:0]       intervals,    // 8 x 30 bits, octets; index feedback >> 3, 0 lowest
    input  wire               jitter_on,
    input  wire               count_valid,
    output wire               count_ready,
    input  wire [15:0]        count_length, // octets
    output reg                due,
    input  wire               reload,
    input  wire [5:0]         reload_feedback,
    output reg                started,
    output wire signed [32:0] countdown,    // 0 until something is counted
    output wire [31:0]        random
);
    localparam [1:0] COUNT = 2'd0, WAIT = 2'd1, DRAW = 2'd2, SPREAD = 2'd3;

    reg [1:0]  state;
    reg [29:0] interval;

    wire draw = state == DRAW && jitter_on;
    reg  spread;
    wire spread_done;
    wire [30:0] spread_interval;

    lfsr32 source (
        .clk(clk), .rst(rst), .load(clear), .seed(seed), .draw(draw), .value(random)
    );
    jitter #(.BASE_W(30)) jitter (
        .clk(clk), .rst(rst || clear), .start(spread), .base(interval), .random(random[31:16]),
        .done(spread_done), .result(spread_interval)
    );

    reg  signed [32:0] from;                 // interval 0 until something is counted
    wire signed [32:0] left = from - $signed({17'd0, count_length});
    assign countdown = started ? from : 33'sd0;

    assign count_ready = state == COUNT;

    always @(posedge clk) begin
        due <= 1'b0;
        spread <= 1'b0;
        if (rst || clear) begin
            state <= COUNT;
            started <= 1'b0;
            from <= {3'b000, intervals[29:0]};
        end else case (state)
            COUNT: if (count_valid) begin
                started <= 1'b1;
                from <= left;
                if (left[32]) begin
                    due <= 1'b1;
                    state <= WAIT;
                end
            end else if (!started)
                from <= {3'b000, intervals[29:0]};
            WAIT: if (reload) begin
                interval <= intervals[reload_feedback[5:3] * 30 +: 30];
                state <= DRAW;
            end
            DRAW: if (jitter_on) begin
                spread <= 1'b1;
                state <= SPREAD;
            end else begin
                from <= {3'b000, interval};
                state <= COUNT;
            end
            SPREAD: if (spread_done) begin
                from <= {2'b00, spread_interval};
                state <= COUNT;
            end
        endcase
    end

    wire unused = |reload_feedback[2:0];
endmodule

`default_nettype wire
