// How long each class has to stay silent: until now + quanta * quantum, from the moment a PAUSE or
// PFC frame is received; 0 quanta end it (802.3 annex 31B). As `apply_pause` of
// orchestrator/engine/node/lane_flow_control.py for rates at which a quantum is a whole number of ps. `hold` is the
// host's word: 1 holds all classes for good, 0 ends it, and a frame received later takes its place.
`default_nettype none

module pause_timer #(
    parameter CLASSES = 8
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire [61:0]           now,      // ps
    input  wire [31:0]           quantum,  // ps: 512 bit times, 51 200 at 10 Gb/s
    input  wire                  pause_valid,
    input  wire [CLASSES-1:0]    classes,
    input  wire [16*CLASSES-1:0] quanta,   // class 0 in bits 15:0
    input  wire                  hold_valid,
    input  wire                  hold,
    output reg  [CLASSES-1:0]    paused,
    output reg  [62*CLASSES-1:0] until_ps  // 62 bits per class, class 0 lowest
);
    reg                  received;
    reg [CLASSES-1:0]    received_classes;
    reg [61:0]           received_at;
    reg [48*CLASSES-1:0] spans;            // 48 bits per class

    integer i;
    always @(posedge clk) begin
        received <= !rst && pause_valid;
        received_classes <= classes;
        received_at <= now;
        for (i = 0; i < CLASSES; i = i + 1) begin
            spans[48*i +: 48] <= quanta[16*i +: 16] * quantum;
            if (rst)
                until_ps[62*i +: 62] <= 62'd0;
            else if (hold_valid)
                until_ps[62*i +: 62] <= {62{hold}};
            else if (received && received_classes[i])
                until_ps[62*i +: 62] <= received_at + {14'd0, spans[48*i +: 48]};
            paused[i] <= !rst && now < until_ps[62*i +: 62];
        end
    end
endmodule

`default_nettype wire
