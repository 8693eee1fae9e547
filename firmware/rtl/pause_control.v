// When a queue tells its neighbours to stop: plugins/pause.py. Above `high` a PAUSE of `quanta` is
// asked for, again whenever half of it has run, and one of 0 quanta once the queue is below `low`.
// Events (a frame went in or out, `queue` being the length after it) are taken one per clock while
// `event_ready`. A refresh that is due waits for a clock without an event; its time counts from
// when it was due. An asked PAUSE stands at `pause_*` until it is taken; a newer one replaces it.
`default_nettype none

module pause_control (
    input  wire        clk,
    input  wire        rst,
    input  wire [61:0] now,               // ps
    input  wire [29:0] high,              // octets
    input  wire [29:0] low,
    input  wire [15:0] quanta,
    input  wire [31:0] quantum,           // ps: 512 bit times of the fastest neighbour

    input  wire        event_valid,
    output wire        event_ready,
    input  wire        event_in,          // 1: a frame went in; 0: one went out
    input  wire [31:0] event_queue,       // octets
    input  wire [61:0] event_now,         // ps

    output reg         pause_valid,
    input  wire        pause_ready,
    output reg  [15:0] pause_quanta,
    output reg         stopped,
    output reg         timer_set,
    output reg  [61:0] timer              // ps: the next refresh
);
    reg [46:0] half;                      // of the PAUSE's duration, ps
    wire [47:0] whole = quanta * quantum;
    always @(posedge clk) half <= whole[47:1];

    assign event_ready = !rst;
    wire stop = event_valid && event_in && !stopped && event_queue > {2'd0, high};
    wire go = event_valid && !event_in && stopped && event_queue < {2'd0, low};
    wire refresh = !event_valid && timer_set && timer <= now;

    always @(posedge clk)
        if (rst) begin
            pause_valid <= 1'b0;
            stopped <= 1'b0;
            timer_set <= 1'b0;
        end else begin
            if (pause_ready)
                pause_valid <= 1'b0;
            if (stop || go || refresh) begin
                pause_valid <= 1'b1;
                pause_quanta <= go ? 16'd0 : quanta;
                timer_set <= !go;
                stopped <= !go;
                timer <= (refresh ? timer : event_now) + {15'd0, half};
            end
        end

    wire unused = whole[0];
endmodule

`default_nettype wire
