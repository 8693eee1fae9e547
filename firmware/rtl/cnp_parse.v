// Finds congestion notification packets of RoCEv2 in a stream that it watches: BTH opcode 0x81 in UDP
// over VLAN-tagged IPv4 (orchestrator/engine/frames/core_frame_types.py). `message_valid` is high for
// one clock, three clocks after the frame's last word, with the destination's MAC address.
`default_nettype none

module cnp_parse #(
    parameter DATA_W = 64,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [DATA_W-1:0] tdata,
    input  wire [KEEP_W-1:0] tkeep,
    input  wire              tvalid,          // valid and ready
    input  wire              tlast,
    output reg               message_valid,
    output reg  [47:0]       destination      // first octet on top
);
    localparam HEADER = 47;
    localparam [15:0] VLAN_TYPE = 16'h8100, IPV4_TYPE = 16'h0800, ROCE_PORT = 16'd4791;
    localparam [7:0]  UDP = 8'd17, CNP_OPCODE = 8'h81;

    wire                frame_done;
    wire [8*HEADER-1:0] header;
    wire [15:0]         length;
    frame_header #(.DATA_W(DATA_W), .HEADER(HEADER)) watch (
        .clk(clk), .rst(rst), .tdata(tdata), .tkeep(tkeep), .tvalid(tvalid), .tlast(tlast),
        .frame_done(frame_done), .header(header), .length(length)
    );
    always @(posedge clk) begin
        message_valid <= !rst && frame_done
                         && {header[8*12 +: 8], header[8*13 +: 8]} == VLAN_TYPE
                         && {header[8*16 +: 8], header[8*17 +: 8]} == IPV4_TYPE
                         && header[8*27 +: 8] == UDP
                         && {header[8*40 +: 8], header[8*41 +: 8]} == ROCE_PORT
                         && header[8*46 +: 8] == CNP_OPCODE;
        destination <= {header[7:0], header[15:8], header[23:16], header[31:24], header[39:32],
                        header[47:40]};
    end
    wire unused = |{length, header};
endmodule

`default_nettype wire
