// Makes a congestion notification message (docs/settled/frames.md#congestion-notification-message;
// orchestrator/engine/frames/core_frame_types.py) about a frame: its first 84 octets as `header` (zeros beyond its end) and its length, in octets.
//
// To the frame's source, from `source_mac`; a VLAN tag and a CN-TAG of the frame are copied; then
// EtherType 0x22E7, feedback, CPID, offset and delta in units of 64 octets (rounded down, saturated
// to 16 bits), priority, the frame's destination, the length of its MSDU and up to 64 octets of
// it. The MSDU begins at the EtherType behind the tags. MACs and CPID: first octet in the top bits.
`default_nettype none

module cnm_generate #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [47:0]        source_mac,
    input  wire [63:0]        cpid,
    input  wire [USER_W-1:0]  user,

    input  wire               request_valid,
    output wire               request_ready,
    input  wire [671:0]       header,
    input  wire [15:0]        length,
    input  wire [5:0]         feedback,
    input  wire signed [32:0] offset,         // octets
    input  wire signed [32:0] delta,          // octets

    output wire [DATA_W-1:0]  m_tdata,
    output wire [KEEP_W-1:0]  m_tkeep,
    output wire               m_tvalid,
    input  wire               m_tready,
    output wire               m_tlast,
    output wire [USER_W-1:0]  m_tuser
);
    localparam [15:0] VLAN_TYPE = 16'h8100, CN_TYPE = 16'h22E9, CNM_TYPE = 16'h22E7;
    localparam OCTETS = 20 + 26 + 64;
    localparam [6:0] MINIMUM = 7'd60, KEPT = 7'd64;

    function [15:0] units;
        input signed [26:0] whole;
        begin
            units = whole > 27'sd32767 ? 16'h7FFF : whole < -27'sd32768 ? 16'h8000 : whole[15:0];
        end
    endfunction

    // Octet n of the header, and fields in the order of the wire.
    wire [15:0] type_12 = {header[8*12 +: 8], header[8*13 +: 8]};
    wire [15:0] type_16 = {header[8*16 +: 8], header[8*17 +: 8]};
    wire        vlan = type_12 == VLAN_TYPE;
    wire        cn_tag = (vlan ? type_16 : type_12) == CN_TYPE;
    wire [1:0]  tags = {1'b0, vlan} + {1'b0, cn_tag};
    wire [2:0]  priority_code = vlan ? header[8*14+5 +: 3] : 3'd0;

    // --- first clock: the pieces -------------------------------------------------------------------
    reg          busy, built;
    reg  [1:0]   tag_count;
    reg  [95:0]  addresses;
    reg  [575:0] after_12;                    // the frame's octets from 12 on
    reg  [207:0] pdu;
    reg  [15:0]  msdu;                        // octets

    wire [15:0]  msdu_length = length - 16'd12 - {12'd0, tags, 2'b00};
    wire         sender_ready;
    assign request_ready = !busy;

    // Fields first octet first; turned so that octet 0 is in bits 7:0.
    wire [95:0]  addresses_wire;
    wire [207:0] pdu_wire;
    octet_swap #(.OCTETS(12)) swap_addresses (
        .wanted(request_valid),
        .in({header[8*6 +: 8], header[8*7 +: 8], header[8*8 +: 8], header[8*9 +: 8],
             header[8*10 +: 8], header[8*11 +: 8], source_mac}),
        .out(addresses_wire)
    );
    octet_swap #(.OCTETS(26)) swap_pdu (
        .wanted(request_valid),
        .in({CNM_TYPE, 10'd0, feedback, cpid, units(offset[32:6]), units(delta[32:6]),
             priority_code, 13'd0,
             header[8*0 +: 8], header[8*1 +: 8], header[8*2 +: 8], header[8*3 +: 8],
             header[8*4 +: 8], header[8*5 +: 8],
             msdu_length}),
        .out(pdu_wire)
    );

    // --- second clock: in their places, by the number of tags -------------------------------------
    reg  [8*OCTETS-1:0] octets;
    reg  [15:0]         octet_count;
    wire [6:0]   kept_length = |msdu[15:6] ? KEPT : {1'b0, msdu[5:0]};
    wire [6:0]   whole_length = 7'd38 + {3'd0, tag_count, 2'b00} + kept_length;

    always @(posedge clk)
        if (rst) begin
            busy <= 1'b0;
            built <= 1'b0;
        end else if (!busy) begin
            busy <= request_valid;
            if (request_valid) begin
                tag_count <= tags;
                addresses <= addresses_wire;
                pdu <= pdu_wire;
                after_12 <= header[671:96];
                msdu <= msdu_length;
            end
        end else if (!built) begin
            built <= 1'b1;
            octet_count <= {9'd0, whole_length < MINIMUM ? MINIMUM : whole_length};
            case (tag_count)
                2'd0: octets <= {64'd0, after_12[511:0], pdu, addresses};
                2'd1: octets <= {32'd0, after_12[543:32], pdu, after_12[31:0], addresses};
                default: octets <= {after_12[575:64], pdu, after_12[63:0], addresses};
            endcase
        end else if (sender_ready) begin
            busy <= 1'b0;
            built <= 1'b0;
        end

    frame_sender #(.DATA_W(DATA_W), .USER_W(USER_W), .OCTETS(OCTETS)) sender (
        .clk(clk), .rst(rst), .request_valid(built), .request_ready(sender_ready),
        .octets(octets), .length(octet_count), .user(user),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser)
    );
    wire unused = |{offset[5:0], delta[5:0]};
endmodule

`default_nettype wire
