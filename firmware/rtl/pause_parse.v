// Finds PAUSE and PFC frames in a stream that it watches. `pause_valid` is high for one clock,
// three clocks after the frame's last word. `classes` tells which classes the frame speaks of: all
// for PAUSE, whose time then stands for every class; those of the vector for PFC.
`default_nettype none

module pause_parse #(
    parameter DATA_W = 64,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [DATA_W-1:0] tdata,
    input  wire [KEEP_W-1:0] tkeep,
    input  wire              tvalid,         // valid and ready
    input  wire              tlast,

    output reg               pause_valid,
    output reg               pfc,
    output reg  [47:0]       source,         // first octet in the top bits
    output reg  [7:0]        classes,
    output reg  [127:0]      quanta          // class 0 in bits 15:0
);
    localparam HEADER = 34;
    localparam [47:0] ADDRESS = 48'h0180_C200_0001;
    localparam [15:0] MAC_CONTROL = 16'h8808, PAUSE = 16'h0001, PFC = 16'h0101;
    localparam [15:0] MINIMUM = 16'd60;

    wire                frame_done;
    wire [8*HEADER-1:0] header;
    wire [15:0]         length;
    frame_header #(.DATA_W(DATA_W), .HEADER(HEADER)) watch (
        .clk(clk), .rst(rst), .tdata(tdata), .tkeep(tkeep), .tvalid(tvalid), .tlast(tlast),
        .frame_done(frame_done), .header(header), .length(length)
    );

    wire [47:0]  destination;
    wire [15:0]  ether_type, opcode, time_or_vector;
    wire [47:0]  source_mac;
    wire [127:0] times;                      // class 0 in the top bits
    octet_swap #(.OCTETS(HEADER)) swap (
        .wanted(frame_done), .in(header), .out({destination, source_mac, ether_type, opcode, time_or_vector, times})
    );

    wire is_pfc = opcode == PFC;
    integer class_index;
    always @(posedge clk) begin
        pause_valid <= !rst && frame_done && length >= MINIMUM && destination == ADDRESS
                       && ether_type == MAC_CONTROL && (is_pfc || opcode == PAUSE);
        pfc <= is_pfc;
        source <= source_mac;
        classes <= is_pfc ? time_or_vector[7:0] : 8'hFF;
        for (class_index = 0; class_index < 8; class_index = class_index + 1)
            quanta[16*class_index +: 16] <= is_pfc ? times[16*(7-class_index) +: 16]
                                                   : time_or_vector;
    end
endmodule

`default_nettype wire
