// QCN congestion point: plugins/qcn_cp.py, on one event per frame that arrives or departs.
//
// `queue` is the queue's length in octets without the frame; at an arrival `capacity` is its bound.
// An event that takes no sample is over after one clock. A sample makes `event_ready` low for some
// 60 clocks; when its feedback is above 0, `message_valid` is high for one clock meanwhile.
// `message_about`: whose source to tell, in the kernel's numbers: 1 this frame's, 2 that of the frame
// at the queue's head, 3 that of a frame in the queue at random (occupancy_sampler).
`default_nettype none

module qcn_cp (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,            // start afresh, with the seed

    input  wire [29:0]        set_point,        // octets, not 0
    input  wire [6:0]         weight,
    input  wire [239:0]       intervals,        // 8 x 30 bits, octets
    input  wire [1:0]         sampling,         // 0 arrival, 1 head, 2 departure, 3 occupancy
    input  wire               counts_arriving,  // 1: a frame that finds no room counts too
    input  wire               jitter_on,
    input  wire [31:0]        seed,

    input  wire               event_valid,
    output wire               event_ready,
    input  wire               event_departure,
    input  wire [15:0]        event_length,     // octets
    input  wire [31:0]        event_queue,
    input  wire [31:0]        event_capacity,

    output reg                message_valid,
    output reg  [1:0]         message_about,
    output wire [5:0]         message_feedback,
    output wire signed [32:0] message_offset,
    output wire signed [32:0] message_delta,

    output wire               started,
    output wire signed [32:0] countdown,        // octets
    output reg  [31:0]        old,              // octets
    output wire [31:0]        random
);
    localparam [1:0] HEAD = 2'd1, DEPARTURE = 2'd2, OCCUPANCY = 2'd3;
    localparam [1:0] THIS = 2'd1, FIRST = 2'd2, RANDOM = 2'd3;

    wire [32:0] filled = {1'b0, event_queue} + {17'd0, event_length};
    wire        room = filled <= {1'b0, event_capacity};
    wire        counts = (sampling == DEPARTURE) == event_departure
                         && (event_departure || counts_arriving || room);
    wire        due, quantised;
    reg  [31:0] queue;

    qcn_sampler sampler (
        .clk(clk), .rst(rst), .clear(clear), .seed(seed), .intervals(intervals),
        .jitter_on(jitter_on),
        .count_valid(event_valid && counts), .count_ready(event_ready),
        .count_length(event_length), .due(due),
        .reload(quantised), .reload_feedback(message_feedback),
        .started(started), .countdown(countdown), .random(random)
    );

    qcn_quantiser quantiser (
        .clk(clk), .rst(rst || clear), .start(due), .queue_bytes(queue), .old(old),
        .set_point(set_point), .weight(weight),
        .done(quantised), .feedback(message_feedback), .offset(message_offset),
        .delta(message_delta)
    );

    always @(posedge clk) begin
        message_valid <= 1'b0;
        if (event_valid && event_ready)
            queue <= event_queue;
        if (rst || clear) begin
            old <= 32'd0;
        end else if (quantised) begin
            old <= queue;
            message_valid <= message_feedback != 6'd0;
            message_about <= sampling == HEAD ? FIRST : sampling == OCCUPANCY ? RANDOM : THIS;
        end
    end
endmodule

`default_nettype wire
