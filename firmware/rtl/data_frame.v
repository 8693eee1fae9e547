// Sends a data frame: the octets of orchestrator/engine/frames/core_frame_types.py, with the number and the time of
// creation in its payload. The fields are taken with `request_valid` while `request_ready`; three
// clocks later the frame begins.
`default_nettype none

module data_frame #(
    parameter DATA_W = 64,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              request_valid,
    output wire              request_ready,
    input  wire [15:0]       length,          // octets without FCS, 70 at least
    input  wire [23:0]       source,          // address indices
    input  wire [23:0]       destination,
    input  wire [2:0]        priority_code,
    input  wire [7:0]        tos,             // octet of the IP header
    input  wire [31:0]       flow,
    input  wire [63:0]       sequence_number,
    input  wire [61:0]       created,         // ps
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast
);
    localparam [23:0] MAC_PREFIX = 24'h02_54_42;
    localparam [7:0]  IP_PREFIX = 8'd10;
    localparam [15:0] VLAN_TYPE = 16'h8100, IPV4_TYPE = 16'h0800;
    localparam [7:0]  VERSION = 8'h45;
    localparam [11:0] VLAN_ID = 12'd1;
    localparam [15:0] DONT_FRAGMENT = 16'h4000, TTL_UDP = {8'd64, 8'd17};
    localparam [15:0] UDP_PORT = 16'hC7B1;
    localparam [4:0]  SOURCE_PORT_TOP = 5'b11001;     // 0xC800
    localparam [31:0] MAGIC = 32'h7442_4B31;
    localparam [15:0] IP_AT = 16'd18, UDP_OVER_IP = 16'd20;

    wire [15:0] packet = length - IP_AT;
    wire [31:0] source_ip = {IP_PREFIX, source};
    wire [31:0] destination_ip = {IP_PREFIX, destination};

    // --- the header checksum, in two steps --------------------------------------------------------------
    reg  [1:0]  steps;                        // the request is on its way
    reg  [19:0] total;
    reg  [16:0] folded;
    wire [15:0] checksum = ~(folded[15:0] + {15'd0, folded[16]});
    wire        sender_ready;
    assign      request_ready = steps == 2'd0 && sender_ready;
    always @(posedge clk) begin
        total <= {4'd0, VERSION, tos} + {4'd0, packet} + {4'd0, DONT_FRAGMENT} + {4'd0, TTL_UDP}
                 + {4'd0, source_ip[31:16]} + {4'd0, source_ip[15:0]}
                 + {4'd0, destination_ip[31:16]} + {4'd0, destination_ip[15:0]};
        folded <= {1'b0, total[15:0]} + {13'd0, total[19:16]};
        steps <= rst ? 2'd0 : {steps[0], request_valid && request_ready};
    end

    wire [559:0] octets;
    octet_swap #(.OCTETS(70)) swap (
        .wanted(steps[1]),
        .in({MAC_PREFIX, destination, MAC_PREFIX, source,
             VLAN_TYPE, priority_code, 1'b0, VLAN_ID, IPV4_TYPE,
             VERSION, tos, packet, 16'd0, DONT_FRAGMENT, TTL_UDP, checksum, source_ip, destination_ip,
             SOURCE_PORT_TOP, flow[10:0], UDP_PORT, packet - UDP_OVER_IP, 16'd0,
             MAGIC, flow, sequence_number, 2'd0, created}),
        .out(octets)
    );

    wire tuser;
    frame_sender #(.DATA_W(DATA_W), .USER_W(1), .OCTETS(70)) sender (
        .clk(clk), .rst(rst), .request_valid(steps[1]), .request_ready(sender_ready),
        .octets(octets), .length(length), .user(1'b0),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(tuser)
    );
    wire unused = tuser;
endmodule

`default_nettype wire
