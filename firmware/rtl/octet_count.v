// Passes an AXI-Stream on and tells with each word how many octets it has. The octets are counted
// in two register slices, by groups of eight and then in all, so that a wide tkeep costs no speed.
`default_nettype none

module octet_count #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    output wire              s_tready,
    input  wire              s_tlast,
    input  wire [USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser,
    output wire [6:0]        m_octets
);
    localparam GROUPS = KEEP_W / 8;

    reg [4*GROUPS-1:0] groups;
    integer group, octet;
    always @* begin
        groups = {(4 * GROUPS){1'b0}};
        for (group = 0; group < GROUPS; group = group + 1)
            for (octet = 0; octet < 8; octet = octet + 1)
                groups[4*group +: 4] = groups[4*group +: 4] + {3'd0, s_tkeep[8*group + octet]};
    end

    wire [DATA_W-1:0]   a_tdata;
    wire [KEEP_W-1:0]   a_tkeep;
    wire                a_tvalid, a_tready, a_tlast;
    wire [USER_W-1:0]   a_tuser;
    wire [4*GROUPS-1:0] a_groups;
    axis_slice #(.DATA_W(DATA_W), .USER_W(USER_W + 4 * GROUPS)) by_group (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser({groups, s_tuser}),
        .m_tdata(a_tdata), .m_tkeep(a_tkeep), .m_tvalid(a_tvalid), .m_tready(a_tready),
        .m_tlast(a_tlast), .m_tuser({a_groups, a_tuser})
    );

    reg [6:0] sum;
    integer part;
    always @* begin
        sum = 7'd0;
        for (part = 0; part < GROUPS; part = part + 1)
            sum = sum + {3'd0, a_groups[4*part +: 4]};
    end

    axis_slice #(.DATA_W(DATA_W), .USER_W(USER_W + 7)) in_all (
        .clk(clk), .rst(rst),
        .s_tdata(a_tdata), .s_tkeep(a_tkeep), .s_tvalid(a_tvalid), .s_tready(a_tready),
        .s_tlast(a_tlast), .s_tuser({sum, a_tuser}),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser({m_octets, m_tuser})
    );
endmodule

`default_nettype wire
