// Where the frames of a stream go: by destination address to an output port, as the routes say
// (orchestrator/engine/node/receive_path.py `forward`). MAC control frames go nowhere, congestion notification
// messages past the queues. The stream is not stalled, and a frame's words come without a pause
// in between; they leave DELAY clocks later with `to` and `kind`. An address is an index behind
// the prefix of orchestrator/engine/frames/address_index.py; those from 2^ROUTE_W on have no route.
`default_nettype none

module switch_lookup #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter PORTS = 4,
    parameter ROUTE_W = 8,
    parameter CNPS = 0,                       // 1: CNPs of RoCEv2 are control frames as well
    parameter KEEP_W = DATA_W / 8,
    parameter PORT_W = PORTS > 1 ? $clog2(PORTS) : 1
) (
    input  wire               clk,
    input  wire               rst,

    input  wire               route_written,  // `route_valid` and `route_port` are those of ...
    input  wire [ROUTE_W-1:0] route_index,    // ... this address from now on
    input  wire               route_valid,
    input  wire [PORT_W-1:0]  route_port,

    input  wire [DATA_W-1:0]  s_tdata,
    input  wire [KEEP_W-1:0]  s_tkeep,
    input  wire               s_tvalid,
    input  wire               s_tlast,
    input  wire [USER_W-1:0]  s_tuser,
    output wire [DATA_W-1:0]  m_tdata,
    output wire [KEEP_W-1:0]  m_tkeep,
    output wire               m_tvalid,
    output wire               m_tlast,
    output wire [USER_W-1:0]  m_tuser,
    output wire [PORT_W-1:0]  to,
    output wire [1:0]         kind,           // 0 data, 1 control, 2 nowhere
    output reg                unroutable      // one clock for each frame without a route
);
    localparam [1:0] DATA = 2'd0, CONTROL = 2'd1, NOWHERE = 2'd2;
    localparam HEADER = CNPS != 0 ? 48 : 24;  // octets: addresses, two tags, EtherType; BTH
    localparam WORDS = (8 * HEADER + DATA_W - 1) / DATA_W;
    localparam DELAY = WORDS + 4;
    localparam COUNT_W = $clog2(WORDS + 1);
    localparam [31:0] WORDS_NUMBER = WORDS;
    localparam [COUNT_W-1:0] FULL = WORDS_NUMBER[COUNT_W-1:0];
    localparam [15:0] VLAN_TYPE = 16'h8100, CN_TYPE = 16'h22E9, CNM_TYPE = 16'h22E7;
    localparam [15:0] CONTROL_TYPE = 16'h8808;
    localparam [23:0] MAC_PREFIX = 24'h02_54_42;
    localparam WORD_W = DATA_W + KEEP_W + 1 + USER_W;

    reg [PORT_W:0] routes [0:(1 << ROUTE_W)-1];
    integer entry;
    initial
        for (entry = 0; entry < 1 << ROUTE_W; entry = entry + 1)
            routes[entry] = {(PORT_W + 1){1'b0}};
    always @(posedge clk)
        if (route_written)
            routes[route_index] <= {route_valid, route_port};

    // --- the header: gathered word by word, zeros beyond a short frame's end ------------------------
    reg [DATA_W-1:0] kept;
    integer octet;
    always @*
        for (octet = 0; octet < KEEP_W; octet = octet + 1)
            kept[8*octet +: 8] = s_tkeep[octet] ? s_tdata[8*octet +: 8] : 8'd0;

    /* verilator lint_off UNUSEDSIGNAL */
    reg [WORDS*DATA_W-1:0] header;            // octets beyond 24 are not read
    /* verilator lint_on UNUSEDSIGNAL */
    reg [COUNT_W-1:0]      word;
    reg                    gathered;
    integer place;
    always @(posedge clk) begin
        gathered <= !rst && s_tvalid && (word == FULL - 1'b1 || (s_tlast && word != FULL));
        if (s_tvalid && word != FULL)
            for (place = 0; place < WORDS; place = place + 1)
                if (word == place[COUNT_W-1:0])
                    header[place*DATA_W +: DATA_W] <= kept;
                else if (word == 0)
                    header[place*DATA_W +: DATA_W] <= {DATA_W{1'b0}};
        if (rst)
            word <= {COUNT_W{1'b0}};
        else if (s_tvalid)
            word <= s_tlast ? {COUNT_W{1'b0}} : word == FULL ? FULL : word + 1'b1;
    end

    // --- what it says, and then the route --------------------------------------------------------------
    /* verilator lint_off UNUSEDSIGNAL */
    wire [8*HEADER-1:0] written;              // octet 0 in the top bits; the source is of no use
    /* verilator lint_on UNUSEDSIGNAL */
    octet_swap #(.OCTETS(HEADER)) swap (
        .wanted(gathered), .in(header[8*HEADER-1:0]), .out(written)
    );
    wire [15:0] type_12 = written[8*(HEADER-14) +: 16];
    wire [15:0] type_16 = written[8*(HEADER-18) +: 16];
    wire [15:0] type_20 = written[8*(HEADER-22) +: 16];
    wire        vlan = type_12 == VLAN_TYPE;
    wire        cn_tag = (vlan ? type_16 : type_12) == CN_TYPE;
    wire [15:0] ether_type = vlan && cn_tag ? type_20 : vlan || cn_tag ? type_16 : type_12;
    wire [23:0] index = written[8*(HEADER-6) +: 24];

    wire             cnp;
    generate
        if (CNPS != 0) begin : by_opcode
            assign cnp = vlan && type_16 == 16'h0800 && written[8*(HEADER-28) +: 8] == 8'd17
                         && written[8*(HEADER-42) +: 16] == 16'd4791
                         && written[8*(HEADER-47) +: 8] == 8'h81;
        end else begin : by_type
            assign cnp = 1'b0;
        end
    endgenerate
    reg              looked, mac_control, message, ours;
    reg [PORT_W:0]   route;
    always @(posedge clk) begin
        looked <= !rst && gathered;
        mac_control <= type_12 == CONTROL_TYPE;
        message <= ether_type == CNM_TYPE || cnp;
        ours <= written[8*(HEADER-3) +: 24] == MAC_PREFIX && index >> ROUTE_W == 24'd0;
        route <= routes[index[ROUTE_W-1:0]];
    end

    // --- verdicts wait for their frames: in DELAY clocks there are that many one-word frames at most -
    localparam SLOT_W = $clog2(DELAY + 1);
    reg [PORT_W+1:0]  verdicts [0:(1 << SLOT_W)-1];
    reg [SLOT_W-1:0]  verdict_in, verdict_out;
    wire              routed = ours && route[PORT_W];
    wire [1:0]        found = mac_control || !routed ? NOWHERE : message ? CONTROL : DATA;
    always @(posedge clk) begin
        if (looked)
            verdicts[verdict_in] <= {found, route[PORT_W-1:0]};
        unroutable <= looked && !mac_control && !routed;
        if (rst) begin
            verdict_in <= {SLOT_W{1'b0}};
            verdict_out <= {SLOT_W{1'b0}};
        end else begin
            if (looked)
                verdict_in <= verdict_in + 1'b1;
            if (m_tvalid && m_tlast)
                verdict_out <= verdict_out + 1'b1;
        end
    end
    assign {kind, to} = verdicts[verdict_out];

    // --- the words, DELAY clocks later --------------------------------------------------------------
    reg [DELAY-1:0]  valid;
    reg [DELAY*WORD_W-1:0] words;
    always @(posedge clk) begin
        valid <= rst ? {DELAY{1'b0}} : {valid[DELAY-2:0], s_tvalid};
        words <= {words[(DELAY-1)*WORD_W-1:0], s_tuser, s_tlast, s_tkeep, s_tdata};
    end
    assign {m_tuser, m_tlast, m_tkeep, m_tdata} = words[(DELAY-1)*WORD_W +: WORD_W];
    assign m_tvalid = valid[DELAY-1];
endmodule

`default_nettype wire
