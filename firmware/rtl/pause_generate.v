// Makes PAUSE (802.3x: opcode 1, one time) and PFC frames (802.1Qbb: opcode 0x101, a vector of
// classes, a time for each), 60 octets without FCS. Times are in quanta of 512 bit times, 0 resumes.
// The octets are those of docs/settled/frames.md#pause-and-pfc, PAUSE's those of
// orchestrator/engine/frames/core_frame_types.py.
`default_nettype none

module pause_generate #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [47:0]       source_mac,     // first octet in the top bits
    input  wire [USER_W-1:0] user,

    input  wire              request_valid,
    output wire              request_ready,
    input  wire              request_pfc,
    input  wire [7:0]        request_classes, // PFC: whose times are valid; of others 0 is sent
    input  wire [127:0]      request_quanta, // class 0 in bits 15:0; PAUSE: bits 15:0

    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser
);
    localparam [47:0] ADDRESS = 48'h0180_C200_0001;
    localparam [15:0] MAC_CONTROL = 16'h8808, PAUSE = 16'h0001, PFC = 16'h0101;
    localparam [15:0] LENGTH = 16'd60;

    // As written, from the 17th octet on: a time, or the vector and eight times, class 0 first.
    reg [127:0] class_times;
    integer     class_index;
    always @*
        for (class_index = 0; class_index < 8; class_index = class_index + 1)
            class_times[16*(7-class_index) +: 16] =
                request_classes[class_index] ? request_quanta[16*class_index +: 16] : 16'd0;
    wire [143:0] times = request_pfc ? {8'd0, request_classes, class_times}
                                     : {request_quanta[15:0], 128'd0};

    wire [271:0] octets;
    octet_swap #(.OCTETS(34)) swap (
        .wanted(request_valid), .in({ADDRESS, source_mac, MAC_CONTROL, request_pfc ? PFC : PAUSE, times}),
        .out(octets)
    );

    frame_sender #(.DATA_W(DATA_W), .USER_W(USER_W), .OCTETS(34)) sender (
        .clk(clk), .rst(rst), .request_valid(request_valid), .request_ready(request_ready),
        .octets(octets), .length(LENGTH), .user(user),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser)
    );
endmodule

`default_nettype wire
