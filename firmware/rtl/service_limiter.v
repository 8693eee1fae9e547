// The service rate of a queue: a frame may start (`open`) when the time that the frames before it
// took at the rate is over. Credit is in 10^-12 bit, `gain` (bit/s times ps per clock) is added
// every clock, so nothing is rounded; no more than one clock's gain is saved while idle, so that the
// long-run rate is exact and there is no burst. A frame takes its time at the gain of the clock in
// which it starts; another gain counts from the next frame on, and what was saved at the gain before
// (less than a clock, which may be worth several at the new one) is given up. With `keeps` a frame has
// left that has not started yet, or does not start: what is earned meanwhile is kept for the one that does.
`default_nettype none

module service_limiter (
    input  wire        clk,
    input  wire        rst,
    input  wire [55:0] gain,              // 10^-12 bit per clock
    input  wire        keeps,
    input  wire        start,             // a frame starts, in a clock with `open`
    input  wire [15:0] length,            // octets
    output wire        open
);
    localparam [42:0] OCTET = 43'd8_000_000_000_000;

    reg  signed [63:0] credit;
    reg                charged;           // the frame's cost is on its way
    reg  [58:0]        cost;
    reg  [55:0]        held;              // the gain that the frame at hand started with
    // another gain than that of the frame at hand: the carry out of a sum, which is a shorter path than
    // the tree of a comparison (all ones carry whatever is not 0)
    wire [56:0]        apart = {1'b0, gain ^ held} + {1'b0, {56{1'b1}}};
    wire signed [63:0] saved = $signed({8'd0, open ? gain : held});
    wire signed [63:0] raised = credit + saved;

    assign open = !credit[63] && !charged;

    always @(posedge clk) begin
        charged <= start && !rst;
        cost <= length * OCTET;
        if (open || held == 56'd0)        // a frame from before there was a gain ends all the same
            held <= gain;
        if (rst)
            credit <= 64'sd0;
        else if (charged)
            credit <= raised - $signed({5'd0, cost});
        else if (open && apart[56])
            credit <= saved;
        else
            // while a frame's cost is on its way this clock's gain is not idle time
            credit <= raised > saved && !start && !keeps ? saved : raised;
    end

    wire unused = |apart[55:0];
endmodule

`default_nettype wire
