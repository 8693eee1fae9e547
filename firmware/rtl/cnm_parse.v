// Finds congestion notification messages in a stream that it watches, as `decode` of
// orchestrator/engine/frames/frame_codec.py; untagged ones and those with a CN-TAG as well. A message of another
// version, or too short to be whole, is none. `message_valid` is high for one clock, three clocks
// after the frame's last word; the fields are valid in it. MACs and CPID: first octet on top.
`default_nettype none

module cnm_parse #(
    parameter DATA_W = 64,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [DATA_W-1:0]  tdata,
    input  wire [KEEP_W-1:0]  tkeep,
    input  wire               tvalid,         // valid and ready
    input  wire               tlast,

    output reg                message_valid,
    output reg  [47:0]        destination,    // whose frame was sampled
    output reg  [47:0]        source,         // the congestion point
    output reg                has_flow,       // it has a CN-TAG
    output reg  [15:0]        flow,           // of the CN-TAG
    output reg  [5:0]         feedback,
    output reg  [63:0]        cpid,
    output reg  signed [15:0] offset,         // units of 64 octets
    output reg  signed [15:0] delta,
    output reg  [2:0]         priority_code,
    output reg  [47:0]        inner,          // where the sampled frame went
    output reg  [15:0]        msdu_length
);
    localparam HEADER = 46;
    localparam [15:0] VLAN_TYPE = 16'h8100, CN_TYPE = 16'h22E9, CNM_TYPE = 16'h22E7, MINIMUM = 16'd60;

    wire                frame_done;
    wire [8*HEADER-1:0] header;
    wire [15:0]         length;
    frame_header #(.DATA_W(DATA_W), .HEADER(HEADER)) watch (
        .clk(clk), .rst(rst), .tdata(tdata), .tkeep(tkeep), .tvalid(tvalid), .tlast(tlast),
        .frame_done(frame_done), .header(header), .length(length)
    );

    // The header as it is written: octet n in bits 8 (HEADER - 1 - n) and up.
    wire [8*HEADER-1:0] written;
    octet_swap #(.OCTETS(HEADER)) swap (.wanted(frame_done), .in(header), .out(written));

    wire [15:0] type_12 = written[8*(HEADER-14) +: 16];
    wire [15:0] type_16 = written[8*(HEADER-18) +: 16];
    wire        vlan = type_12 == VLAN_TYPE;
    wire        cn_tag = (vlan ? type_16 : type_12) == CN_TYPE;
    wire [1:0]  tags = {1'b0, vlan} + {1'b0, cn_tag};
    // EtherType and the 24 octets of the PDU
    wire [207:0] pdu = tags == 2'd0 ? written[8*(HEADER-38) +: 208]
                       : tags == 2'd1 ? written[8*(HEADER-42) +: 208] : written[207:0];

    always @(posedge clk) begin
        message_valid <= !rst && frame_done && length >= MINIMUM
                         && pdu[207:192] == CNM_TYPE && pdu[191:188] == 4'd0;
        destination <= written[8*(HEADER-6) +: 48];
        source <= written[8*(HEADER-12) +: 48];
        has_flow <= cn_tag;
        flow <= vlan ? written[8*(HEADER-20) +: 16] : written[8*(HEADER-16) +: 16];
        feedback <= pdu[181:176];
        cpid <= pdu[175:112];
        offset <= pdu[111:96];
        delta <= pdu[95:80];
        priority_code <= vlan ? written[8*(HEADER-15)+5 +: 3] : pdu[79:77];
        inner <= pdu[63:16];
        msdu_length <= pdu[15:0];
    end

    wire unused = |{pdu[187:182], pdu[76:64]};
endmodule

`default_nettype wire
