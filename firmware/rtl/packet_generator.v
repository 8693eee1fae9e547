// A source of data frames at a constant bit rate: traffic/cbr_source.py, with the octets of
// orchestrator/engine/frames/core_frame_types.py. The interval is `whole` ps and now and then one more: the host
// divides length * 8e12 by the rate into `whole` and `rest`, and the remainders are carried on.
//
// A frame is made when its time has come (`now`), with that time as `created`; when the output is
// held up, frames are made later, but none is left out: their times stay those of the rate.
`default_nettype none

module packet_generator #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              clear,         // start afresh: numbers from 0
    input  wire              enable,        // the first frame is due at once
    input  wire [61:0]       now,           // ps
    input  wire [61:0]       whole,         // ps
    input  wire [39:0]       rest,          // below rate
    input  wire [39:0]       rate,          // bit/s
    input  wire [15:0]       length,        // octets without FCS, 70 at least
    input  wire [23:0]       source,        // address indices, see orchestrator/engine/frames/address_index.py
    input  wire [23:0]       destination,
    input  wire [2:0]        priority_code,
    input  wire [31:0]       flow,
    input  wire [1:0]        ecn,
    input  wire [USER_W-1:0] user,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser,
    output reg  [63:0]       sequence_number // of the next frame
);
    localparam [23:0] MAC_PREFIX = 24'h02_54_42;
    localparam [7:0]  IP_PREFIX = 8'd10;
    localparam [15:0] VLAN_TYPE = 16'h8100, IPV4_TYPE = 16'h0800;
    localparam [11:0] VLAN_ID = 12'd1;
    localparam [15:0] DONT_FRAGMENT = 16'h4000, TTL_UDP = {8'd64, 8'd17};
    localparam [15:0] UDP_PORT = 16'hC7B1;
    localparam [4:0]  SOURCE_PORT_TOP = 5'b11001;     // 0xC800
    localparam [31:0] MAGIC = 32'h7442_4B31;
    localparam [15:0] IP_AT = 16'd18, UDP_AT = 16'd38;

    wire [15:0] packet = length - IP_AT;
    wire [15:0] version = {8'h45, 6'd0, ecn};
    wire [31:0] source_ip = {IP_PREFIX, source};
    wire [31:0] destination_ip = {IP_PREFIX, destination};

    // The header checksum: fields stand still, so it takes its time, in two steps.
    reg  [19:0] total;
    reg  [16:0] folded;
    wire [15:0] checksum = ~(folded[15:0] + {15'd0, folded[16]});
    always @(posedge clk) begin
        total <= {4'd0, version} + {4'd0, packet} + {4'd0, DONT_FRAGMENT} + {4'd0, TTL_UDP}
                 + {4'd0, source_ip[31:16]} + {4'd0, source_ip[15:0]}
                 + {4'd0, destination_ip[31:16]} + {4'd0, destination_ip[15:0]};
        folded <= {1'b0, total[15:0]} + {13'd0, total[19:16]};
    end

    reg         running;
    reg  [61:0] due;
    reg  [39:0] carry;
    wire [40:0] carried = {1'b0, carry} + {1'b0, rest};
    wire        extra = carried >= {1'b0, rate};
    wire [40:0] kept = carried - {1'b0, rate};
    wire        time_has_come = running && due <= now;
    wire        sender_ready;
    reg  [1:0]  settled;                    // the checksum is that of the fields

    always @(posedge clk)
        if (rst || clear || !enable) begin
            running <= 1'b0;
            settled <= 2'd0;
            if (rst || clear)
                sequence_number <= 64'd0;
        end else if (!running) begin
            settled <= settled + 2'd1;
            running <= settled == 2'd2;
            due <= now;
            carry <= 40'd0;
        end else if (time_has_come && sender_ready) begin
            due <= due + whole + {61'd0, extra};
            carry <= extra ? kept[39:0] : carried[39:0];
            sequence_number <= sequence_number + 64'd1;
        end

    wire [559:0] octets;
    octet_swap #(.OCTETS(70)) swap (
        .wanted(time_has_come),
        .in({MAC_PREFIX, destination, MAC_PREFIX, source,
             VLAN_TYPE, priority_code, 1'b0, VLAN_ID, IPV4_TYPE,
             version, packet, 16'd0, DONT_FRAGMENT, TTL_UDP, checksum, source_ip, destination_ip,
             SOURCE_PORT_TOP, flow[10:0], UDP_PORT, packet - (UDP_AT - IP_AT), 16'd0,
             MAGIC, flow, sequence_number, 2'd0, due}),
        .out(octets)
    );

    frame_sender #(.DATA_W(DATA_W), .USER_W(USER_W), .OCTETS(70)) sender (
        .clk(clk), .rst(rst), .request_valid(time_has_come), .request_ready(sender_ready),
        .octets(octets), .length(length), .user(user),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser)
    );

    wire unused = kept[40];
endmodule

`default_nettype wire
