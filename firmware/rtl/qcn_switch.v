// A QCN switch: inputs, one bus, a lookup, an output queue with a congestion point per port
// (orchestrator/engine/node/receive_path.py, port.py). Frames are taken whole at their input, pass over the bus
// one after the other in turn and reach their queue; DATA_W times the clock must not be less than
// all ports receive together, else an input overruns, which is counted. Messages of congestion
// points go over the bus too, as if from one more port. Inputs are never stalled; the bus waits when
// a congestion point has too many frames yet to look at (a sample takes it some 60 clocks).
//
// With each frame that leaves go its length and `m_source`: the port that it came from; all ones:
// no port, it was made here.
//
// Windows on AXI-Lite, 4 KiB each: qcn_switch, then switch_port and qcn_cp of every port; with the
// macro KERNEL_POINT kernel_point in place of qcn_cp.
`default_nettype none

module qcn_switch #(
    parameter DATA_W = 64,
    parameter PORTS = 4,
    parameter WORDS = 32768,                  // of an output queue's memory, a power of two
    parameter FRAMES = 4096,
    parameter INPUT_WORDS = 4096,
    parameter ROUTE_W = 8,
    parameter KEEP_HEAD = 1,
    parameter UNITS = 0,                      // see switch_port
    parameter PFC = 0,
    parameter CNPS = 0,                       // see switch_lookup
`ifdef KERNEL_POINT
    parameter [31:0] POINT_DIGEST = 32'd0,    // of the kernel_point that it is built with
`endif
    parameter [31:0] CLK_HZ = 32'd125_000_000,
    parameter ADDR_W = 20,
    parameter KEEP_W = DATA_W / 8,
    parameter SOURCE_W = $clog2(PORTS + 1)
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [61:0]             now,       // ps

    input  wire [ADDR_W-1:0]       s_axil_awaddr,
    input  wire                    s_axil_awvalid,
    output wire                    s_axil_awready,
    input  wire [31:0]             s_axil_wdata,
    input  wire [3:0]              s_axil_wstrb,
    input  wire                    s_axil_wvalid,
    output wire                    s_axil_wready,
    output wire [1:0]              s_axil_bresp,
    output wire                    s_axil_bvalid,
    input  wire                    s_axil_bready,
    input  wire [ADDR_W-1:0]       s_axil_araddr,
    input  wire                    s_axil_arvalid,
    output wire                    s_axil_arready,
    output wire [31:0]             s_axil_rdata,
    output wire [1:0]              s_axil_rresp,
    output wire                    s_axil_rvalid,
    input  wire                    s_axil_rready,

    input  wire [PORTS*DATA_W-1:0] s_tdata,
    input  wire [PORTS*KEEP_W-1:0] s_tkeep,
    input  wire [PORTS-1:0]        s_tvalid,
    output wire [PORTS-1:0]        s_tready,
    input  wire [PORTS-1:0]        s_tlast,
    output wire [PORTS*DATA_W-1:0] m_tdata,
    output wire [PORTS*KEEP_W-1:0] m_tkeep,
    output wire [PORTS-1:0]        m_tvalid,
    input  wire [PORTS-1:0]        m_tready,
    output wire [PORTS-1:0]        m_tlast,
    output wire [PORTS*16-1:0]     m_length,  // octets
    output wire [PORTS*SOURCE_W-1:0] m_source
);
    localparam PAGES = 1 + 2 * PORTS;
    localparam PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;
    localparam [23:0] MAC_PREFIX = 24'h02_54_42;
    localparam [31:0] PORTS_NUMBER = PORTS, ROUTE_NUMBER = ROUTE_W, OCTETS_NUMBER = KEEP_W;
    localparam [31:0] ROOM_NUMBER = WORDS * KEEP_W;
    localparam [31:0] CAPS = {OCTETS_NUMBER[15:0], ROUTE_NUMBER[7:0], PORTS_NUMBER[7:0]};
    localparam [31:0] UNIT_BITS_NUMBER = UNITS != 0 ? $clog2(UNITS) : 0;
    localparam [31:0] PORT_CAPS =
        {ROOM_NUMBER[23:0], UNIT_BITS_NUMBER[5:0], PFC != 0, KEEP_HEAD != 0};

    // --- register windows -----------------------------------------------------------------------------
    wire [11:0]         awaddr, araddr;
    wire [31:0]         wdata;
    wire [3:0]          wstrb;
    wire [PAGES-1:0]    awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid;
    wire [PAGES-1:0]    rready;
    wire [2*PAGES-1:0]  bresp, rresp;
    wire [32*PAGES-1:0] rdata;
    axil_pages #(.PAGES(PAGES), .ADDR_W(ADDR_W)) pages (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .m_axil_awaddr(awaddr), .m_axil_awvalid(awvalid), .m_axil_awready(awready),
        .m_axil_wdata(wdata), .m_axil_wstrb(wstrb), .m_axil_wvalid(wvalid),
        .m_axil_wready(wready), .m_axil_bresp(bresp), .m_axil_bvalid(bvalid),
        .m_axil_bready(bready), .m_axil_araddr(araddr), .m_axil_arvalid(arvalid),
        .m_axil_arready(arready), .m_axil_rdata(rdata), .m_axil_rvalid(rvalid),
        .m_axil_rready(rready)
    );

    wire        enable, clear, snapshot, route_written, lost;
    wire [23:0] route_address;
    wire [8:0]  route;
    reg  [47:0] unroutable;
    qcn_switch_registers #(.NEXT(32'h1000), .CAPS(CAPS), .CLK_HZ(CLK_HZ)) registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[0]),
        .s_axil_awready(awready[0]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[0]), .s_axil_wready(wready[0]), .s_axil_bresp(bresp[1:0]),
        .s_axil_bvalid(bvalid[0]), .s_axil_bready(bready[0]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[0]), .s_axil_arready(arready[0]), .s_axil_rdata(rdata[31:0]),
        .s_axil_rresp(rresp[1:0]), .s_axil_rvalid(rvalid[0]), .s_axil_rready(rready[0]),
        .enable(enable), .clear(clear), .snapshot(snapshot), .is_idle(1'b1),
        .route_address(route_address), .route(route), .route_written(route_written),
        .unroutable(unroutable)
    );
    always @(posedge clk)
        if (rst || clear)
            unroutable <= 48'd0;
        else if (lost)
            unroutable <= unroutable + 48'd1;

    // --- inputs: whole frames, then one bus ----------------------------------------------------------
    wire [(PORTS+1)*DATA_W-1:0] i_tdata;
    wire [(PORTS+1)*KEEP_W-1:0] i_tkeep;
    wire [PORTS:0]              i_tvalid, i_tready, i_tlast;
    wire [PORTS-1:0]            overrun, hold;
    wire                        held_back = |hold;
    genvar                      port;
    generate
        for (port = 0; port < PORTS; port = port + 1) begin : inputs
            wire        came, kept, head_valid, head_stamp, look_stamp, left, tuser;
            wire [15:0] came_length, head_length, look_length, left_length;
            wire [31:0] came_queue, left_queue, octets;
            frame_fifo #(
                .DATA_W(DATA_W), .USER_W(1), .WORDS(INPUT_WORDS), .FRAMES(INPUT_WORDS / 4)
            ) store (
                .clk(clk), .rst(rst), .capacity(32'hFFFF_FFFF), .stamp(1'b0),
                .s_tdata(s_tdata[port*DATA_W +: DATA_W]),
                .s_tkeep(s_tkeep[port*KEEP_W +: KEEP_W]),
                .s_tvalid(s_tvalid[port] && enable), .s_tready(s_tready[port]),
                .s_tlast(s_tlast[port]), .s_tuser(1'b0),
                .frame_valid(came), .frame_kept(kept), .frame_length(came_length),
                .frame_queue(came_queue), .head_valid(head_valid), .head_length(head_length),
                .head_stamp(head_stamp), .open(!held_back),
                .look_at({$clog2(INPUT_WORDS / 4){1'b0}}), .look_length(look_length),
                .look_stamp(look_stamp), .leave_valid(left),
                .leave_length(left_length), .leave_queue(left_queue),
                .m_tdata(i_tdata[port*DATA_W +: DATA_W]),
                .m_tkeep(i_tkeep[port*KEEP_W +: KEEP_W]),
                .m_tvalid(i_tvalid[port]), .m_tready(i_tready[port]), .m_tlast(i_tlast[port]),
                .m_tuser(tuser), .octets(octets)
            );
            assign overrun[port] = came && !kept;
            wire unused = |{came_length, came_queue, head_valid, head_length, head_stamp, left,
                            left_length, left_queue, look_length, look_stamp, octets, tuser};
        end
    endgenerate

    wire [DATA_W-1:0]   a_tdata, b_tdata;
    wire [KEEP_W-1:0]   a_tkeep, b_tkeep;
    wire                a_tvalid, a_tlast, a_tuser, b_tvalid, b_tlast;
    wire [SOURCE_W-1:0] a_source, b_source;
    wire                a_inside = a_source == PORTS_NUMBER[SOURCE_W-1:0];
    axis_arbiter #(.DATA_W(DATA_W), .USER_W(1), .INPUTS(PORTS + 1)) arbiter (
        .clk(clk), .rst(rst), .s_tdata(i_tdata), .s_tkeep(i_tkeep), .s_tvalid(i_tvalid),
        .s_tready(i_tready), .s_tlast(i_tlast), .s_tuser({(PORTS + 1){1'b0}}),
        .m_tdata(a_tdata), .m_tkeep(a_tkeep), .m_tvalid(a_tvalid), .m_tready(1'b1),
        .m_tlast(a_tlast), .m_tuser(a_tuser), .m_source(a_source)
    );

    wire [PORT_W-1:0] to;
    wire [1:0]        kind;
    switch_lookup #(
        .DATA_W(DATA_W), .USER_W(SOURCE_W), .PORTS(PORTS), .ROUTE_W(ROUTE_W), .CNPS(CNPS)
    ) lookup (
        .clk(clk), .rst(rst), .route_written(route_written), .route_index(route_address[ROUTE_W-1:0]),
        .route_valid(route[8]), .route_port(route[PORT_W-1:0]),
        .s_tdata(a_tdata), .s_tkeep(a_tkeep), .s_tvalid(a_tvalid), .s_tlast(a_tlast),
        .s_tuser(a_inside ? {SOURCE_W{1'b1}} : a_source), .m_tdata(b_tdata), .m_tkeep(b_tkeep), .m_tvalid(b_tvalid),
        .m_tlast(b_tlast), .m_tuser(b_source), .to(to), .kind(kind), .unroutable(lost)
    );

    wire         header_done;
    wire [671:0] header;
    wire [15:0]  header_length;
    frame_header #(.DATA_W(DATA_W), .HEADER(84)) watch (
        .clk(clk), .rst(rst), .tdata(b_tdata), .tkeep(b_tkeep), .tvalid(b_tvalid), .tlast(b_tlast),
        .frame_done(header_done), .header(header), .length(header_length)
    );

    // --- ports ------------------------------------------------------------------------------------------
    wire [PORTS-1:0]     message_valid, message_ready, stop_valid, stop_ready, stopped, send_valid;
    wire [672*PORTS-1:0] message_header;
    wire [16*PORTS-1:0]  message_length, stop_quanta;
    wire [6*PORTS-1:0]   message_feedback;
    wire [33*PORTS-1:0]  message_offset, message_delta;
    wire [24*PORTS-1:0]  address;
    reg                  asked;               // a queue has asked for PAUSE
    reg  [PORT_W-1:0]    asker;
    reg  [7:0]           pausing;             // by so many ports
    integer              speaker;
    always @* begin
        pausing = 8'd0;
        for (speaker = 0; speaker < PORTS; speaker = speaker + 1)
            pausing = pausing + {7'd0, send_valid[speaker]};
    end
    reg  [15:0]          asked_quanta;
    generate
        for (port = 0; port < PORTS; port = port + 1) begin : ports
            localparam A = 1 + 2 * port, B = 2 + 2 * port;
            localparam [31:0] NEXT_NUMBER = port == PORTS - 1 ? 0 : 4096 * (B + 1);
            localparam [31:0] CP_NUMBER = 4096 * B;
            wire        port_enable, port_clear, port_snapshot, pause_on;
            wire        hold_port, hold_port_written;
            wire [31:0] capacity, quantum, pause_quantum, queue_octets, queue_most;
            wire [55:0] gain;
            wire [29:0] pause_high, pause_low;
            wire [15:0] pause_quanta, out_length, sent_length;
            wire [5:0]  feedback_value;
            wire        frame_in, frame_lost, frame_out, sampled, notified, sent;
            wire        pause_leaves, pause_obeyed, held;
            wire        superseded;
            reg  [63:0] octets_out, sent_octets;
            reg  [47:0] frames_in, frames_out, frames_lost, pause_sent, pause_asked, pause_received;
            reg  [47:0] paused_clocks, sent_frames, overruns, samples, messages;
            reg  [47:0] pause_superseded;
            switch_port_registers #(
                .NEXT(CP_NUMBER), .CAPS(PORT_CAPS), .CLK_HZ(CLK_HZ)
            ) port_registers (
                .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[A]),
                .s_axil_awready(awready[A]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
                .s_axil_wvalid(wvalid[A]), .s_axil_wready(wready[A]),
                .s_axil_bresp(bresp[2*A +: 2]), .s_axil_bvalid(bvalid[A]),
                .s_axil_bready(bready[A]), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid[A]),
                .s_axil_arready(arready[A]), .s_axil_rdata(rdata[32*A +: 32]),
                .s_axil_rresp(rresp[2*A +: 2]), .s_axil_rvalid(rvalid[A]),
                .s_axil_rready(rready[A]),
                .enable(port_enable), .clear(port_clear), .snapshot(port_snapshot),
                .is_idle(queue_octets == 32'd0), .address(address[24*port +: 24]),
                .capacity(capacity), .gain(gain), .quantum(quantum), .pause_on(pause_on),
                .pause_high(pause_high), .pause_low(pause_low), .pause_quanta(pause_quanta),
                .pause_quantum(pause_quantum), .hold_port(hold_port),
                .hold_port_written(hold_port_written), .queue_octets(queue_octets),
                .queue_most(queue_most), .octets_out(octets_out), .frames_in(frames_in),
                .frames_out(frames_out), .frames_lost(frames_lost),
                .feedback_value(feedback_value), .pause_sent(pause_sent),
                .pause_asked(pause_asked), .pause_received(pause_received),
                .paused_clocks(paused_clocks), .sent_octets(sent_octets),
                .sent_frames(sent_frames), .overrun(overruns),
                .pause_superseded(pause_superseded)
            );

            wire        cp_enable, cp_clear, cp_snapshot, counts_arriving, jitter_on;
            wire [29:0] set_point;
            wire [6:0]  weight;
            wire [239:0] intervals;
            wire [1:0]  sampling;
            wire [31:0] seed, random, units_seed, units_random;
            wire [19:0] searches;
            wire [23:0] units;
`ifdef KERNEL_POINT
            wire        word_written, arrivals_on, departures_on, gated, marked, dropped, late;
            wire        dropped_leaving, gate_lost;
            wire [15:0] word_index;
            wire [63:0] word, state_word;
            wire [39:0] line_rate, service_rate, patience, allowance;
            wire [47:0] longest_wait, longest_hold;
            reg  [47:0] marks, drops, drops_leaving, late_events, lost_events;
            assign set_point = 30'd0;
            assign weight = 7'd0;
            assign intervals = 240'd0;
            assign {sampling, counts_arriving, jitter_on} = 4'd0;
            assign {seed, units_seed, searches, units} = 108'd0;
            kernel_point_registers #(
                .NEXT(NEXT_NUMBER), .CAPS(POINT_DIGEST), .CLK_HZ(CLK_HZ)
            ) cp_registers (
                .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[B]),
                .s_axil_awready(awready[B]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
                .s_axil_wvalid(wvalid[B]), .s_axil_wready(wready[B]),
                .s_axil_bresp(bresp[2*B +: 2]), .s_axil_bvalid(bvalid[B]),
                .s_axil_bready(bready[B]), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid[B]),
                .s_axil_arready(arready[B]), .s_axil_rdata(rdata[32*B +: 32]),
                .s_axil_rresp(rresp[2*B +: 2]), .s_axil_rvalid(rvalid[B]),
                .s_axil_rready(rready[B]),
                .enable(cp_enable), .clear(cp_clear), .snapshot(cp_snapshot), .is_idle(1'b1),
                .word_index(word_index), .word(word), .word_written(word_written),
                .state_word(state_word), .arrivals_on(arrivals_on),
                .departures_on(departures_on), .line_rate(line_rate),
                .service_rate(service_rate), .patience(patience), .gated(gated),
                .allowance(allowance), .messages(messages), .marked(marks), .dropped(drops),
                .dropped_leaving(drops_leaving), .events(samples), .late_events(late_events),
                .lost_events(lost_events), .longest_wait(longest_wait),
                .longest_hold(longest_hold)
            );
            always @(posedge clk)
                if (rst || port_clear) begin
                    marks <= 48'd0;
                    drops <= 48'd0;
                    drops_leaving <= 48'd0;
                    late_events <= 48'd0;
                    lost_events <= 48'd0;
                end else begin
                    marks <= marks + {47'd0, marked};
                    drops <= drops + {47'd0, dropped};
                    drops_leaving <= drops_leaving + {47'd0, dropped_leaving};
                    late_events <= late_events + {47'd0, late};
                    lost_events <= lost_events + {47'd0, gate_lost};
                end
            wire unused_draws = |{random, units_random};
`else
            qcn_cp_registers #(
                .NEXT(NEXT_NUMBER), .CAPS(32'd0), .CLK_HZ(CLK_HZ)
            ) cp_registers (
                .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[B]),
                .s_axil_awready(awready[B]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
                .s_axil_wvalid(wvalid[B]), .s_axil_wready(wready[B]),
                .s_axil_bresp(bresp[2*B +: 2]), .s_axil_bvalid(bvalid[B]),
                .s_axil_bready(bready[B]), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid[B]),
                .s_axil_arready(arready[B]), .s_axil_rdata(rdata[32*B +: 32]),
                .s_axil_rresp(rresp[2*B +: 2]), .s_axil_rvalid(rvalid[B]),
                .s_axil_rready(rready[B]),
                .enable(cp_enable), .clear(cp_clear), .snapshot(cp_snapshot), .is_idle(1'b1),
                .set_point(set_point), .weight(weight),
                .interval_0(intervals[29:0]), .interval_1(intervals[59:30]),
                .interval_2(intervals[89:60]), .interval_3(intervals[119:90]),
                .interval_4(intervals[149:120]), .interval_5(intervals[179:150]),
                .interval_6(intervals[209:180]), .interval_7(intervals[239:210]),
                .sampling(sampling), .counts_arriving(counts_arriving), .jitter_on(jitter_on),
                .seed(seed), .random(random), .searches(searches), .units(units),
                .units_seed(units_seed), .units_random(units_random), .samples(samples),
                .messages(messages)
            );
`endif

            wire here = to == port[PORT_W-1:0] && b_tvalid;
            switch_port #(
                .DATA_W(DATA_W), .WORDS(WORDS), .FRAMES(FRAMES), .KEEP_HEAD(KEEP_HEAD),
                .UNITS(UNITS), .PFC(PFC), .EVENTS(64), .SLACK(PORTS + (UNITS != 0 ? 22 : 20)),
                .USER_W(SOURCE_W)
            ) output_port (
                .clk(clk), .rst(rst), .now(now), .capacity(capacity), .gain(gain),
                .quantum(quantum), .pause_on(pause_on), .pause_high(pause_high),
                .pause_low(pause_low), .pause_quanta(pause_quanta),
                .pause_quantum(pause_quantum), .address(address[24*port +: 24]),
                .hold_port_valid(hold_port_written), .hold_port(hold_port),
                .cp_clear(cp_clear), .cp_on(cp_enable), .set_point(set_point), .weight(weight),
                .intervals(intervals), .sampling(sampling), .counts_arriving(counts_arriving),
                .jitter_on(jitter_on), .seed(seed), .random(random), .searches(searches),
                .units(units), .units_seed(units_seed), .units_random(units_random),
`ifdef KERNEL_POINT
                .word_written(word_written), .word_index(word_index), .word(word),
                .state_word(state_word), .arrivals_on(arrivals_on), .departures_on(departures_on),
                .line_rate(line_rate), .service_rate(service_rate), .patience(patience),
                .gated(gated), .allowance(allowance), .marked(marked), .dropped(dropped),
                .dropped_leaving(dropped_leaving), .late(late), .longest_wait(longest_wait),
                .longest_hold(longest_hold), .gate_lost(gate_lost),
`endif
                .bus_tdata(b_tdata), .bus_tkeep(b_tkeep), .bus_tlast(b_tlast),
                .bus_tuser(b_source), .hold(hold[port]),
                .data_valid(here && kind == 2'd0), .control_valid(here && kind == 2'd1),
                .header_done(header_done), .header(header),
                .rx_tdata(s_tdata[port*DATA_W +: DATA_W]), .rx_tkeep(s_tkeep[port*KEEP_W +: KEEP_W]),
                .rx_tvalid(s_tvalid[port] && s_tready[port] && enable), .rx_tlast(s_tlast[port]),
                .m_tdata(m_tdata[port*DATA_W +: DATA_W]), .m_tkeep(m_tkeep[port*KEEP_W +: KEEP_W]),
                .m_tvalid(m_tvalid[port]), .m_tready(m_tready[port]), .m_tlast(m_tlast[port]),
                .m_tuser(m_source[port*SOURCE_W +: SOURCE_W]),
                .message_valid(message_valid[port]), .message_ready(message_ready[port]),
                .message_header(message_header[672*port +: 672]),
                .message_length(message_length[16*port +: 16]),
                .message_feedback(message_feedback[6*port +: 6]),
                .message_offset(message_offset[33*port +: 33]),
                .message_delta(message_delta[33*port +: 33]),
                .stop_valid(stop_valid[port]), .stop_ready(stop_ready[port]),
                .stop_quanta(stop_quanta[16*port +: 16]), .stopped(stopped[port]),
                .send_valid(send_valid[port]), .send_quanta(asked_quanta),
                .queue_octets(queue_octets), .queue_most(queue_most),
                .feedback_value(feedback_value), .sampled(sampled), .notified(notified),
                .frame_in(frame_in), .frame_lost(frame_lost), .frame_out(frame_out),
                .frame_out_length(out_length), .sent(sent), .sent_length(sent_length),
                .pause_sent(pause_leaves), .pause_superseded(superseded),
                .pause_obeyed(pause_obeyed), .held(held)
            );

            assign m_length[16*port +: 16] = sent_length;

            // A neighbour that another queue still holds is not let go.
            wire [PORTS-1:0] self = {{(PORTS - 1){1'b0}}, 1'b1} << port;
            wire [PORTS-1:0] others = stopped & ~self & ~({{(PORTS - 1){1'b0}}, 1'b1} << asker);
            assign send_valid[port] = asked && asker != port[PORT_W-1:0]
                                     && (asked_quanta != 16'd0 || others == {PORTS{1'b0}});

            always @(posedge clk)
                if (rst || port_clear) begin
                    octets_out <= 64'd0;
                    sent_octets <= 64'd0;
                    frames_in <= 48'd0;
                    frames_out <= 48'd0;
                    frames_lost <= 48'd0;
                    pause_sent <= 48'd0;
                    pause_asked <= 48'd0;
                    pause_received <= 48'd0;
                    paused_clocks <= 48'd0;
                    sent_frames <= 48'd0;
                    overruns <= 48'd0;
                    pause_superseded <= 48'd0;
                    samples <= 48'd0;
                    messages <= 48'd0;
                end else begin
                    if (frame_out)
                        octets_out <= octets_out + {48'd0, out_length};
                    if (sent)
                        sent_octets <= sent_octets + {48'd0, sent_length};
                    frames_in <= frames_in + {47'd0, frame_in};
                    frames_out <= frames_out + {47'd0, frame_out};
                    frames_lost <= frames_lost + {47'd0, frame_lost};
                    pause_sent <= pause_sent + {47'd0, pause_leaves};
                    if (asked && asker == port[PORT_W-1:0])
                        pause_asked <= pause_asked + {40'd0, pausing};
                    pause_received <= pause_received + {47'd0, pause_obeyed};
                    paused_clocks <= paused_clocks + {47'd0, held};
                    sent_frames <= sent_frames + {47'd0, sent};
                    overruns <= overruns + {47'd0, overrun[port]};
                    pause_superseded <= pause_superseded + {47'd0, superseded};
                    samples <= samples + {47'd0, sampled};
                    messages <= messages + {47'd0, notified};
                end
            wire unused = |{port_enable, cp_snapshot, port_snapshot};
        end
    endgenerate

    // --- PAUSE: one queue's word per clock -------------------------------------------------------------
    reg [PORT_W-1:0] first_stop, first_message;
    integer          look;
    always @* begin
        first_stop = {PORT_W{1'b0}};
        first_message = {PORT_W{1'b0}};
        for (look = PORTS - 1; look >= 0; look = look - 1) begin
            if (stop_valid[look])
                first_stop = look[PORT_W-1:0];
            if (message_valid[look])
                first_message = look[PORT_W-1:0];
        end
    end
    assign stop_ready = {{(PORTS - 1){1'b0}}, |stop_valid && !asked} << first_stop;
    always @(posedge clk) begin
        asked <= !rst && |stop_valid && !asked;
        asker <= first_stop;
        asked_quanta <= stop_quanta[16*first_stop +: 16];
    end

    // --- messages: one generator for all congestion points ----------------------------------------------
    reg          notifying;
    reg  [671:0] notification_header;
    reg  [15:0]  notification_length;
    reg  [5:0]   notification_feedback;
    reg  signed [32:0] notification_offset, notification_delta;
    reg  [23:0]  notifier;
    wire         generator_ready, g_tuser;
    assign message_ready = {{(PORTS - 1){1'b0}}, |message_valid && !notifying} << first_message;
    always @(posedge clk) begin
        if (!notifying && |message_valid) begin
            notification_header <= message_header[672*first_message +: 672];
            notification_length <= message_length[16*first_message +: 16];
            notification_feedback <= message_feedback[6*first_message +: 6];
            notification_offset <= message_offset[33*first_message +: 33];
            notification_delta <= message_delta[33*first_message +: 33];
            notifier <= address[24*first_message +: 24];
        end
        notifying <= !rst && (notifying ? !generator_ready : |message_valid);
    end
    wire [47:0] notifier_mac = {MAC_PREFIX, notifier};
    cnm_generate #(.DATA_W(DATA_W), .USER_W(1)) generator (
        .clk(clk), .rst(rst), .source_mac(notifier_mac), .cpid({notifier_mac, 16'd0}), .user(1'b0),
        .request_valid(notifying), .request_ready(generator_ready), .header(notification_header),
        .length(notification_length), .feedback(notification_feedback), .offset(notification_offset),
        .delta(notification_delta),
        .m_tdata(i_tdata[PORTS*DATA_W +: DATA_W]), .m_tkeep(i_tkeep[PORTS*KEEP_W +: KEEP_W]),
        .m_tvalid(i_tvalid[PORTS]), .m_tready(i_tready[PORTS]), .m_tlast(i_tlast[PORTS]),
        .m_tuser(g_tuser)
    );

    wire unused = |{a_tuser, header_length, g_tuser, snapshot, route[7:PORT_W],
                    route_address[23:ROUTE_W], rresp};
endmodule

`default_nettype wire
