// The service rate of a queue: a frame may start (`open`) when the time that the frames before it
// took at the rate is over. Credit is in 10^-12 bit, `gain` (bit/s times ps per clock) is added
// every clock, so nothing is rounded; no more than one clock's gain is saved while idle, so that the
// long-run rate is exact and there is no burst.
`default_nettype none

module service_limiter (
    input  wire        clk,
    input  wire        rst,
    input  wire [55:0] gain,              // 10^-12 bit per clock
    input  wire        start,             // a frame starts, in a clock with `open`
    input  wire [15:0] length,            // octets
    output wire        open
);
    localparam [42:0] OCTET = 43'd8_000_000_000_000;

    reg  signed [63:0] credit;
    reg                charged;           // the frame's cost is on its way
    reg  [58:0]        cost;
    wire signed [63:0] saved = $signed({8'd0, gain});
    wire signed [63:0] raised = credit + saved;

    assign open = !credit[63] && !charged;

    always @(posedge clk) begin
        charged <= start && !rst;
        cost <= length * OCTET;
        if (rst)
            credit <= 64'sd0;
        else if (charged)
            credit <= raised - $signed({5'd0, cost});
        else
            // while a frame's cost is on its way this clock's gain is not idle time
            credit <= raised > saved && !start ? saved : raised;
    end
endmodule

`default_nettype wire
