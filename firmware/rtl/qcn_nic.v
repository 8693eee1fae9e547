// A QCN NIC with one port (orchestrator/engine/node/nic_transmit.py): packet generators and the host's own stream,
// LIMITERS reaction points that slow the flows down which messages name, PAUSE obeyed.
//
// What the host sends waits in a queue of its own; its flow is found by the source address, which is
// compared with those of the flow sources, so that it is limited like theirs. Generators and host take
// turns. What comes in is watched for messages and PAUSE and passed on to the host as it is. While
// not enabled the NIC passes the host's frames both ways and does nothing else. `tuser` goes with a
// frame: from the host to the wire (zeros with what is made here), from the wire to the host, where
// bit 0 on the last word tells of a damaged frame: it is passed on, but not obeyed.
//
// With the macro KERNEL_LIMITER the reaction points are kernel_limiter, which the compiler makes of an
// algorithm's kernels (firmware/compiler/limiter_shell.py); CNPs are messages as well then.
//
// Windows on AXI-Lite, 4 KiB each: qcn_nic, qcn_rp, token_bucket, flow_sources; the first is at BASE
// of the chain that they are part of, NEXT is what follows the last.
`default_nettype none

module qcn_nic #(
    parameter DATA_W = 64,
    parameter LIMITERS = 4,
    parameter FLOWS = 8,
    parameter ROOM = 64,                      // frames of a flow's host queue at most
    parameter HOST_WORDS = 4096,
    parameter [31:0] CLK_HZ = 32'd125_000_000,
    parameter ADDR_W = 20,
    parameter [31:0] BASE = 32'd0,
    parameter [31:0] NEXT = 32'd0,
    parameter TX_USER_W = 1,
    parameter RX_USER_W = 1,
`ifdef KERNEL_LIMITER
    parameter LIMITER_DIGEST = 32'd0,         // of the kernel_limiter that it is built with
`endif
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [61:0]       now,             // ps

    input  wire [ADDR_W-1:0] s_axil_awaddr,
    input  wire              s_axil_awvalid,
    output wire              s_axil_awready,
    input  wire [31:0]       s_axil_wdata,
    input  wire [3:0]        s_axil_wstrb,
    input  wire              s_axil_wvalid,
    output wire              s_axil_wready,
    output wire [1:0]        s_axil_bresp,
    output wire              s_axil_bvalid,
    input  wire              s_axil_bready,
    input  wire [ADDR_W-1:0] s_axil_araddr,
    input  wire              s_axil_arvalid,
    output wire              s_axil_arready,
    output wire [31:0]       s_axil_rdata,
    output wire [1:0]        s_axil_rresp,
    output wire              s_axil_rvalid,
    input  wire              s_axil_rready,

    // the wire
    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    output wire              s_tready,
    input  wire              s_tlast,
    input  wire [RX_USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [TX_USER_W-1:0] m_tuser,

    // the host
    input  wire [DATA_W-1:0] s_host_tdata,
    input  wire [KEEP_W-1:0] s_host_tkeep,
    input  wire              s_host_tvalid,
    output wire              s_host_tready,
    input  wire              s_host_tlast,
    input  wire [TX_USER_W-1:0] s_host_tuser,
    output wire [DATA_W-1:0] m_host_tdata,
    output wire [KEEP_W-1:0] m_host_tkeep,
    output wire              m_host_tvalid,
    input  wire              m_host_tready,
    output wire              m_host_tlast,
    output wire [RX_USER_W-1:0] m_host_tuser
);
    localparam PAGES = 4;
    localparam INDEX_W = LIMITERS > 1 ? $clog2(LIMITERS) : 1;
    localparam FLOW_W = FLOWS > 1 ? $clog2(FLOWS) : 1;
    localparam [31:0] LAST_NUMBER = FLOWS - 1;
    localparam [FLOW_W-1:0] LAST_FLOW = LAST_NUMBER[FLOW_W-1:0];
    localparam [23:0] MAC_PREFIX = 24'h02_54_42;
    localparam [31:0] LIMITERS_NUMBER = LIMITERS, FLOWS_NUMBER = FLOWS, OCTETS_NUMBER = KEEP_W;
    localparam [31:0] ROOM_NUMBER = ROOM;
    localparam [31:0] CAPS = {OCTETS_NUMBER[15:0], FLOWS_NUMBER[7:0], LIMITERS_NUMBER[7:0]};

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

    wire        enable, clear, snapshot;
    wire [31:0] quantum;
    wire [15:0] limiter_index;
    wire        limiter_active;
    wire [39:0] limiter_rate;
    wire [60:0] limiter_target;
    wire [23:0] limiter_byte_stage, limiter_timer_stage;
    wire [47:0] limiter_feedback;
    wire [16:0] limiter_flow;
    wire        hold_port, hold_port_written;
    reg  [47:0] feedback_ignored, feedback_lost, pause_received, paused_clocks, sent_frames, host_lost;
    reg  [63:0] sent_octets;
    qcn_nic_registers #(.NEXT(BASE + 32'h1000), .CAPS(CAPS), .CLK_HZ(CLK_HZ)) registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[0]),
        .s_axil_awready(awready[0]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[0]), .s_axil_wready(wready[0]), .s_axil_bresp(bresp[1:0]),
        .s_axil_bvalid(bvalid[0]), .s_axil_bready(bready[0]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[0]), .s_axil_arready(arready[0]), .s_axil_rdata(rdata[31:0]),
        .s_axil_rresp(rresp[1:0]), .s_axil_rvalid(rvalid[0]), .s_axil_rready(rready[0]),
        .enable(enable), .clear(clear), .snapshot(snapshot), .is_idle(leaving == NOTHING),
        .quantum(quantum), .hold_port(hold_port), .hold_port_written(hold_port_written),
        .limiter_index(limiter_index), .limiter_active(limiter_active),
        .limiter_rate(limiter_rate), .limiter_target(limiter_target),
        .limiter_byte_stage(limiter_byte_stage), .limiter_timer_stage(limiter_timer_stage),
        .limiter_feedback(limiter_feedback), .limiter_flow(limiter_flow),
        .feedback_ignored(feedback_ignored), .feedback_lost(feedback_lost),
        .pause_received(pause_received), .paused_clocks(paused_clocks),
        .sent_octets(sent_octets), .sent_frames(sent_frames), .host_lost(host_lost)
    );

    wire        rp_on, rp_clear, rp_snapshot, rp_idle, cap_target, jitter_on, seed_written;
    wire        extra_fast_recovery;
    wire [39:0] link_rate, byte_reset, ai_rate, hai_rate, min_rate;
    wire [44:0] time_reset;
    wire [15:0] threshold, gd_num, gd_den, factor_num, factor_den, seed_index;
    wire [31:0] seed;
    reg  [47:0] feedback_received, feedback_unassigned;
`ifdef KERNEL_LIMITER
    wire        word_written, event_started, late;
    wire [15:0] word_limiter, word_index;
    wire [63:0] word, state_word;
    wire [39:0] patience;
    wire [47:0] longest_wait;
    reg  [47:0] rp_events, late_events;
    assign {byte_reset, ai_rate, hai_rate, min_rate, time_reset} = 205'd0;
    assign {threshold, gd_num, gd_den, factor_num, factor_den, seed_index, seed} = 128'd0;
    assign {cap_target, jitter_on, extra_fast_recovery, seed_written} = 4'd0;
    kernel_limiter_registers #(
        .NEXT(BASE + 32'h2000), .CAPS(LIMITER_DIGEST), .CLK_HZ(CLK_HZ)
    ) rp_registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[1]),
        .s_axil_awready(awready[1]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[1]), .s_axil_wready(wready[1]), .s_axil_bresp(bresp[3:2]),
        .s_axil_bvalid(bvalid[1]), .s_axil_bready(bready[1]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[1]), .s_axil_arready(arready[1]), .s_axil_rdata(rdata[63:32]),
        .s_axil_rresp(rresp[3:2]), .s_axil_rvalid(rvalid[1]), .s_axil_rready(rready[1]),
        .enable(rp_on), .clear(rp_clear), .snapshot(rp_snapshot), .is_idle(rp_idle),
        .limiter(word_limiter), .word_index(word_index), .word(word),
        .word_written(word_written), .state_word(state_word), .link_rate(link_rate),
        .patience(patience), .feedback_received(feedback_received),
        .feedback_unassigned(feedback_unassigned), .events(rp_events),
        .late_events(late_events), .longest_wait(longest_wait)
    );
    always @(posedge clk) begin
        rp_events <= rst || rp_clear ? 48'd0 : rp_events + {47'd0, event_started};
        late_events <= rst || rp_clear ? 48'd0 : late_events + {47'd0, late};
    end
    wire unused_word = |word_limiter;
`else
    qcn_rp_registers #(.NEXT(BASE + 32'h2000), .CAPS(LIMITERS_NUMBER), .CLK_HZ(CLK_HZ)) rp_registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[1]),
        .s_axil_awready(awready[1]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[1]), .s_axil_wready(wready[1]), .s_axil_bresp(bresp[3:2]),
        .s_axil_bvalid(bvalid[1]), .s_axil_bready(bready[1]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[1]), .s_axil_arready(arready[1]), .s_axil_rdata(rdata[63:32]),
        .s_axil_rresp(rresp[3:2]), .s_axil_rvalid(rvalid[1]), .s_axil_rready(rready[1]),
        .enable(rp_on), .clear(rp_clear), .snapshot(rp_snapshot), .is_idle(rp_idle),
        .link_rate(link_rate), .time_reset(time_reset), .byte_reset(byte_reset),
        .threshold(threshold), .ai_rate(ai_rate), .hai_rate(hai_rate), .gd_num(gd_num),
        .gd_den(gd_den), .factor_num(factor_num), .factor_den(factor_den), .min_rate(min_rate),
        .cap_target(cap_target), .extra_fast_recovery(extra_fast_recovery),
        .jitter_on(jitter_on), .seed_index(seed_index), .seed(seed),
        .seed_written(seed_written), .feedback_received(feedback_received),
        .feedback_unassigned(feedback_unassigned)
    );
`endif

    wire        bucket_on, bucket_clear, bucket_snapshot, bucket_idle, phase_written;
    wire [62:0] depth;
    wire [33:0] period;
    wire [39:0] granularity;
    wire [15:0] phase_index;
    wire [61:0] phase;
    reg  [63:0] charged_octets;
    token_bucket_registers #(
        .NEXT(BASE + 32'h3000), .CAPS(LIMITERS_NUMBER), .CLK_HZ(CLK_HZ)
    ) bucket_registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[2]),
        .s_axil_awready(awready[2]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[2]), .s_axil_wready(wready[2]), .s_axil_bresp(bresp[5:4]),
        .s_axil_bvalid(bvalid[2]), .s_axil_bready(bready[2]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[2]), .s_axil_arready(arready[2]), .s_axil_rdata(rdata[95:64]),
        .s_axil_rresp(rresp[5:4]), .s_axil_rvalid(rvalid[2]), .s_axil_rready(rready[2]),
        .enable(bucket_on), .clear(bucket_clear), .snapshot(bucket_snapshot),
        .is_idle(bucket_idle), .depth(depth), .period(period), .granularity(granularity),
        .phase_index(phase_index), .phase(phase), .phase_written(phase_written),
        .charged_octets(charged_octets)
    );

    wire        sources_on, sources_clear, sources_snapshot, commit_written;
    wire [15:0] commit_index, commit_length, commit_room, flow_waiting;
    wire [61:0] commit_whole, commit_due;
    wire [39:0] commit_rest, commit_rate;
    wire [23:0] commit_source, commit_destination;
    wire [2:0]  commit_priority;
    wire [31:0] commit_flow;
    wire [7:0]  commit_tos;
    wire [1:0]  commit;
    wire [63:0] flow_frames, flow_octets;
    flow_sources_registers #(
        .NEXT(NEXT), .CAPS({ROOM_NUMBER[15:0], FLOWS_NUMBER[15:0]}), .CLK_HZ(CLK_HZ)
    ) source_registers (
        .clk(clk), .rst(rst), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid[3]),
        .s_axil_awready(awready[3]), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid[3]), .s_axil_wready(wready[3]), .s_axil_bresp(bresp[7:6]),
        .s_axil_bvalid(bvalid[3]), .s_axil_bready(bready[3]), .s_axil_araddr(araddr),
        .s_axil_arvalid(arvalid[3]), .s_axil_arready(arready[3]), .s_axil_rdata(rdata[127:96]),
        .s_axil_rresp(rresp[7:6]), .s_axil_rvalid(rvalid[3]), .s_axil_rready(rready[3]),
        .enable(sources_on), .clear(sources_clear), .snapshot(sources_snapshot),
        .is_idle(waiting == {FLOWS{1'b0}}), .index(commit_index), .whole(commit_whole),
        .rest(commit_rest), .rate(commit_rate), .start(commit_due), .length(commit_length),
        .room(commit_room), .source(commit_source), .destination(commit_destination),
        .priority_code(commit_priority), .flow(commit_flow), .commit(commit),
        .commit_written(commit_written), .flow_frames(flow_frames), .flow_octets(flow_octets),
        .flow_waiting(flow_waiting), .tos(commit_tos)
    );

    // --- the flows --------------------------------------------------------------------------------------
    wire [FLOWS-1:0]  waiting, may_send;
    wire              take_ready, taken, taken_empty;
    wire [FLOW_W-1:0] taken_index;
    wire [61:0]       taken_created;
    wire [63:0]       taken_sequence;
    wire [15:0]       taken_length;
    wire [23:0]       taken_source, taken_destination;
    wire [2:0]        taken_priority;
    wire [31:0]       taken_flow;
    wire [7:0]        taken_tos;
    flow_sources #(.FLOWS(FLOWS), .ROOM(ROOM)) sources (
        .clk(clk), .rst(rst), .clear(sources_clear), .now(now),
        .commit(commit_written), .commit_index(commit_index[FLOW_W-1:0]), .commit_on(commit[0]),
        .commit_start(commit[1]), .commit_due(commit_due), .commit_whole(commit_whole),
        .commit_rest(commit_rest), .commit_rate(commit_rate), .commit_length(commit_length),
        .commit_room(commit_room), .commit_source(commit_source),
        .commit_destination(commit_destination), .commit_priority(commit_priority),
        .commit_flow(commit_flow), .commit_tos(commit_tos), .waiting(waiting), .take_valid(leaving == TAKE && !taken),
        .take_ready(take_ready), .take_index(next_flow), .taken(taken),
        .taken_index(taken_index), .taken_empty(taken_empty), .taken_created(taken_created),
        .taken_sequence(taken_sequence), .taken_length(taken_length),
        .taken_source(taken_source), .taken_destination(taken_destination),
        .taken_priority(taken_priority), .taken_flow(taken_flow),
        .taken_tos(taken_tos), .show_index(commit_index[FLOW_W-1:0]), .show_frames(flow_frames),
        .show_octets(flow_octets), .show_waiting(flow_waiting)
    );

    // --- messages received: they wait for their flow to be found ---------------------------------------
    wire         came = s_tvalid && s_tready && enable;
    reg  [2:0]   damaged;                     // when a parser is through with the frame
    always @(posedge clk) damaged <= {damaged[1:0], s_tuser[0]};
    wire         cnm_received, cnm_tagged;
    wire         cnm = cnm_received && !damaged[2];
    wire [47:0]  cnm_destination, cnm_source, cnm_inner;
    wire [15:0]  cnm_flow, cnm_msdu;
    wire [5:0]   cnm_feedback;
    wire [63:0]  cnm_cpid;
    wire signed [15:0] cnm_offset, cnm_delta;
    wire [2:0]   cnm_priority;
    cnm_parse #(.DATA_W(DATA_W)) listener (
        .clk(clk), .rst(rst), .tdata(s_tdata), .tkeep(s_tkeep), .tvalid(came), .tlast(s_tlast),
        .message_valid(cnm_received), .destination(cnm_destination), .source(cnm_source),
        .has_flow(cnm_tagged), .flow(cnm_flow), .feedback(cnm_feedback), .cpid(cnm_cpid),
        .offset(cnm_offset), .delta(cnm_delta), .priority_code(cnm_priority),
        .inner(cnm_inner), .msdu_length(cnm_msdu)
    );
`ifdef KERNEL_LIMITER
    wire         cnp_received;
    wire [47:0]  cnp_destination;
    cnp_parse #(.DATA_W(DATA_W)) cnp_listener (
        .clk(clk), .rst(rst), .tdata(s_tdata), .tkeep(s_tkeep), .tvalid(came), .tlast(s_tlast),
        .message_valid(cnp_received), .destination(cnp_destination)
    );
    wire         cnp = cnp_received && !damaged[2];
`else
    wire         cnp = 1'b0;
    wire [47:0]  cnp_destination = 48'd0;
`endif
    wire         notified = cnm || cnp;
    wire [47:0]  notified_address = cnp ? cnp_destination : cnm_destination;
    reg  [30:0]       messages [0:63];        // own flag, address, feedback
    reg  [6:0]        message_in, message_out;
    wire              message_room = message_in - message_out != 7'd64;
    wire              message_ours;
    wire [23:0]       message_address;
    wire [5:0]        message_feedback;
    wire              finding, found_done, found;
    wire [FLOW_W-1:0] found_flow;
    reg               asked;                  // the finder works on the first message
    wire              message_waits = message_in != message_out;
    assign {message_ours, message_address, message_feedback} = messages[message_out[5:0]];
    wire              message_over = message_waits && (!message_ours || answered) && !sent
                                     && limiters_room;
    reg               answered;               // the finder has found, or not
    always @(posedge clk) begin
        if (notified && message_room)
            messages[message_in[5:0]] <= {notified_address[47:24] == MAC_PREFIX,
                                          notified_address[23:0], cnp ? 6'd0 : cnm_feedback};
        if (rst) begin
            message_in <= 7'd0;
            message_out <= 7'd0;
            asked <= 1'b0;
            answered <= 1'b0;
        end else begin
            if (notified && message_room)
                message_in <= message_in + 7'd1;
            if (message_over)
                message_out <= message_out + 7'd1;
            asked <= message_waits && message_ours && !message_over;
            answered <= (answered || found_done) && !message_over;
        end
    end
    flow_finder #(.FLOWS(FLOWS)) for_messages (
        .clk(clk), .rst(rst), .set(commit_written), .set_flow(commit_index[FLOW_W-1:0]),
        .set_address(commit_source), .start(message_waits && message_ours && !asked),
        .address(message_address), .busy(finding), .done(found_done), .found(found),
        .flow(found_flow)
    );

    wire              limiters_ready, limiters_room, settled, message_taken, message_unassigned, charged;
    wire [15:0]       charged_length;
    wire              received = message_over && message_ours && found && rp_on;
    reg               sent, sent_empty;       // a frame starts
    reg               sent_has_flow;
    reg  [FLOW_W-1:0] sent_flow;
    reg  [15:0]       sent_length;
    reg  [FLOWS-1:0]  backlog;                // of a flow's source, or the host's first frame
    nic_limiters #(.N(LIMITERS), .FLOWS(FLOWS)) limiters (
        .clk(clk), .rst(rst), .clear(rp_clear || bucket_clear), .now(now), .rp_on(rp_on),
`ifdef KERNEL_LIMITER
        .word_written(word_written), .word_limiter(word_limiter[INDEX_W-1:0]),
        .word_index(word_index), .word(word), .state_word(state_word), .patience(patience),
        .event_started(event_started), .late(late), .longest_wait(longest_wait),
`endif
        .link_rate(link_rate), .time_reset(time_reset), .byte_reset(byte_reset),
        .threshold(threshold), .ai_rate(ai_rate), .hai_rate(hai_rate), .gd_num(gd_num),
        .gd_den(gd_den), .factor_num(factor_num), .factor_den(factor_den), .min_rate(min_rate),
        .cap_target(cap_target), .extra_fast_recovery(extra_fast_recovery),
        .jitter_on(jitter_on), .seed_valid(seed_written),
        .seed_index(seed_index[INDEX_W-1:0]), .seed(seed), .depth(depth), .period(period),
        .granularity(granularity), .phase_valid(phase_written),
        .phase_index(phase_index[INDEX_W-1:0]), .phase(phase), .rp_idle(rp_idle),
        .bucket_idle(bucket_idle), .may_send(may_send), .sent(sent && sent_has_flow),
        .ready(limiters_ready), .sent_flow(sent_flow), .sent_length(sent_length),
        .sent_empty(sent_empty), .backlog(backlog), .settled(settled), .room(limiters_room),
        .received(received), .received_flow(found_flow),
        .received_feedback(message_feedback), .taken(message_taken),
        .unassigned(message_unassigned), .charged(charged), .charged_length(charged_length),
        .show_index(limiter_index[INDEX_W-1:0]), .show_active(limiter_active),
        .show_rate(limiter_rate), .show_target(limiter_target),
        .show_byte_stage(limiter_byte_stage), .show_timer_stage(limiter_timer_stage),
        .show_feedback(limiter_feedback), .show_flow(limiter_flow)
    );

    // --- PAUSE ------------------------------------------------------------------------------------------
    wire         pause, pause_pfc, held;
    wire [47:0]  pause_source;
    wire [7:0]   pause_classes;
    wire [127:0] pause_quanta;
    wire [61:0]  held_until;
    pause_parse #(.DATA_W(DATA_W)) ears (
        .clk(clk), .rst(rst), .tdata(s_tdata), .tkeep(s_tkeep), .tvalid(came), .tlast(s_tlast),
        .pause_valid(pause), .pfc(pause_pfc), .source(pause_source), .classes(pause_classes),
        .quanta(pause_quanta)
    );
    wire pause_obeyed = pause && !pause_pfc && !damaged[2];
    pause_timer #(.CLASSES(1)) timer (
        .clk(clk), .rst(rst), .now(now), .quantum(quantum), .pause_valid(pause_obeyed),
        .classes(1'b1), .quanta(pause_quanta[15:0]), .hold_valid(hold_port_written),
        .hold(hold_port), .paused(held), .until_ps(held_until)
    );

    // --- the host's own frames ----------------------------------------------------------------------------
    wire              host_accepted = s_host_tvalid && s_host_tready;
    wire              host_header_done, host_in, host_kept, host_valid, host_out;
    wire [TX_USER_W-1:0] host_tuser;
    wire [95:0]       host_header;
    wire [15:0]       host_header_length, host_in_length, host_length, host_out_length;
    wire [31:0]       host_in_queue, host_out_queue, host_octets;
    wire [15:0]       host_look_length;
    wire [24:0]       host_look_stamp;
    wire [24:0]       host_stamp;             // own flag, address index
    wire [DATA_W-1:0] h_tdata;
    wire [KEEP_W-1:0] h_tkeep;
    wire              h_tvalid, h_tlast, host_found, host_finding, host_done;
    wire [FLOW_W-1:0] host_flow;
    frame_header #(.DATA_W(DATA_W), .HEADER(12)) host_watch (
        .clk(clk), .rst(rst), .tdata(s_host_tdata), .tkeep(s_host_tkeep), .tvalid(host_accepted),
        .tlast(s_host_tlast), .frame_done(host_header_done), .header(host_header),
        .length(host_header_length)
    );
    wire [47:0] host_mac;                     // octet 6 in the top bits
    octet_swap #(.OCTETS(6)) host_swap (
        .wanted(host_header_done), .in(host_header[95:48]), .out(host_mac)
    );
    frame_fifo #(
        .DATA_W(DATA_W), .USER_W(TX_USER_W), .WORDS(HOST_WORDS), .FRAMES(HOST_WORDS / 4),
        .STAMP_W(25), .STALL(1)
    ) host_queue (
        .clk(clk), .rst(rst), .capacity(32'hFFFF_FFFF),
        .stamp({host_mac[47:24] == MAC_PREFIX, host_mac[23:0]}),
        .s_tdata(s_host_tdata), .s_tkeep(s_host_tkeep), .s_tvalid(s_host_tvalid),
        .s_tready(s_host_tready), .s_tlast(s_host_tlast), .s_tuser(s_host_tuser),
        .frame_valid(host_in), .frame_kept(host_kept), .frame_length(host_in_length),
        .frame_queue(host_in_queue), .head_valid(host_valid), .head_length(host_length),
        .head_stamp(host_stamp), .open(host_go), .look_at({$clog2(HOST_WORDS / 4){1'b0}}),
        .look_length(host_look_length), .look_stamp(host_look_stamp), .leave_valid(host_out),
        .leave_length(host_out_length), .leave_queue(host_out_queue),
        .m_tdata(h_tdata), .m_tkeep(h_tkeep), .m_tvalid(h_tvalid),
        .m_tready(leaving == HOST && m_tready), .m_tlast(h_tlast), .m_tuser(host_tuser),
        .octets(host_octets)
    );
    reg  host_asked, host_known;              // the finder was asked, has answered
    always @(posedge clk) begin
        host_asked <= !rst && host_valid && !host_go;
        host_known <= !rst && (host_known || host_done || (host_valid && !host_stamp[24]))
                      && host_valid && !host_go;
    end
    flow_finder #(.FLOWS(FLOWS)) for_host (
        .clk(clk), .rst(rst), .set(commit_written), .set_flow(commit_index[FLOW_W-1:0]),
        .set_address(commit_source), .start(host_valid && !host_asked && host_stamp[24]),
        .address(host_stamp[23:0]), .busy(host_finding), .done(host_done), .found(host_found),
        .flow(host_flow)
    );
    wire host_has_flow = host_stamp[24] && host_found;
    always @(posedge clk) begin
        backlog <= waiting;
        if (host_known && host_valid && host_has_flow)
            backlog[host_flow] <= 1'b1;
    end

    // --- flows line up as they become ready (`line_up`) ---------------------------------------------------
    reg  [FLOW_W-1:0] ready_flows [0:(1<<FLOW_W)-1];
    reg  [FLOW_W:0]   ready_in, ready_out;
    reg  [FLOWS-1:0]  in_line;
    reg  [FLOW_W-1:0] look;
    wire              lines_up = waiting[look] && !in_line[look] && may_send[look];
    wire              any_ready = ready_in != ready_out;
    wire [FLOW_W-1:0] next_flow = ready_flows[ready_out[FLOW_W-1:0]];
    reg               stepping_back;          // a frame of `sent_flow` is charged

    // --- what leaves next ---------------------------------------------------------------------------------
    localparam [1:0] NOTHING = 2'd0, TAKE = 2'd1, GENERATED = 2'd2, HOST = 2'd3;
    reg  [1:0] leaving;
    reg        host_turn;
    wire       frame_ready, g_tvalid, g_tlast;
    wire [DATA_W-1:0] g_tdata;
    wire [KEEP_W-1:0] g_tkeep;
    wire       free = leaving == NOTHING && !(held && enable) && m_tready && frame_ready
                      && limiters_ready && !sent && !stepping_back;
    wire       host_may = host_known && host_valid
                          && (!enable || !host_has_flow || may_send[host_flow]);
    wire       host_go = free && host_may && (host_turn || !any_ready || !enable);
    wire       flow_go = free && enable && any_ready && !host_go;
    data_frame #(.DATA_W(DATA_W)) frame (
        .clk(clk), .rst(rst), .request_valid(taken), .request_ready(frame_ready),
        .length(taken_length), .source(taken_source), .destination(taken_destination),
        .priority_code(taken_priority), .tos(taken_tos), .flow(taken_flow),
        .sequence_number(taken_sequence),
        .created(taken_created), .m_tdata(g_tdata), .m_tkeep(g_tkeep), .m_tvalid(g_tvalid),
        .m_tready(leaving == GENERATED && m_tready), .m_tlast(g_tlast)
    );
    assign m_tdata = leaving == HOST ? h_tdata : g_tdata;
    assign m_tkeep = leaving == HOST ? h_tkeep : g_tkeep;
    assign m_tlast = leaving == HOST ? h_tlast : g_tlast;
    assign m_tuser = leaving == HOST ? host_tuser : {TX_USER_W{1'b0}};
    assign m_tvalid = leaving == HOST ? h_tvalid : leaving == GENERATED && g_tvalid;

    always @(posedge clk) begin
        sent <= !rst && (taken || host_go);
        if (taken || host_go) begin
            sent_has_flow <= taken || host_has_flow;
            sent_flow <= taken ? taken_index : host_flow;
            sent_length <= taken ? taken_length : host_length;
            sent_empty <= taken ? taken_empty : host_octets == {16'd0, host_length};
        end
        if (lines_up)
            ready_flows[ready_in[FLOW_W-1:0]] <= look;
        if (rst || sources_clear) begin
            leaving <= NOTHING;
            host_turn <= 1'b0;
            ready_in <= {(FLOW_W + 1){1'b0}};
            ready_out <= {(FLOW_W + 1){1'b0}};
            in_line <= {FLOWS{1'b0}};
            look <= {FLOW_W{1'b0}};
            stepping_back <= 1'b0;
        end else begin
            case (leaving)
                NOTHING: if (host_go) begin
                    leaving <= HOST;
                    host_turn <= 1'b0;
                end else if (flow_go) begin
                    leaving <= TAKE;
                    host_turn <= 1'b1;
                end
                TAKE: if (taken)
                    leaving <= GENERATED;
                default: if (m_tvalid && m_tready && m_tlast)
                    leaving <= NOTHING;
            endcase
            look <= look == LAST_FLOW ? {FLOW_W{1'b0}} : look + 1'b1;
            if (lines_up) begin
                ready_in <= ready_in + 1'b1;
                in_line[look] <= 1'b1;
            end
            if (taken) begin
                ready_out <= ready_out + 1'b1;
                stepping_back <= 1'b1;
            end else if (stepping_back && !sent && settled) begin
                stepping_back <= 1'b0;
                in_line[sent_flow] <= 1'b0;
            end
        end
    end

    // --- what comes in goes on to the host ------------------------------------------------------------------
    axis_slice #(.DATA_W(DATA_W), .USER_W(RX_USER_W)) to_host (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid),
        .s_tready(s_tready), .s_tlast(s_tlast), .s_tuser(s_tuser),
        .m_tdata(m_host_tdata), .m_tkeep(m_host_tkeep), .m_tvalid(m_host_tvalid),
        .m_tready(m_host_tready), .m_tlast(m_host_tlast), .m_tuser(m_host_tuser)
    );

    always @(posedge clk)
        if (rst || clear) begin
            feedback_ignored <= 48'd0;
            feedback_lost <= 48'd0;
            feedback_received <= 48'd0;
            feedback_unassigned <= 48'd0;
            pause_received <= 48'd0;
            paused_clocks <= 48'd0;
            sent_octets <= 64'd0;
            sent_frames <= 48'd0;
            host_lost <= 48'd0;
            charged_octets <= 64'd0;
        end else begin
            if (message_over && !received)
                feedback_ignored <= feedback_ignored + 48'd1;
            feedback_lost <= feedback_lost + {47'd0, notified && !message_room};
            feedback_received <= feedback_received + {47'd0, message_taken};
            feedback_unassigned <= feedback_unassigned + {47'd0, message_unassigned};
            pause_received <= pause_received + {47'd0, pause_obeyed};
            paused_clocks <= paused_clocks + {47'd0, held};
            if (sent) begin
                sent_octets <= sent_octets + {48'd0, sent_length};
                sent_frames <= sent_frames + 48'd1;
            end
            host_lost <= host_lost + {47'd0, host_in && !host_kept};
            if (charged)
                charged_octets <= charged_octets + {48'd0, charged_length};
        end

    wire unused = |{snapshot, rp_snapshot, bucket_on, bucket_snapshot, sources_on, sources_snapshot,
                    rresp, cnm_tagged, cnm_flow, cnm_source, cnm_inner, cnm_msdu, cnm_cpid,
                    cnm_offset, cnm_delta, cnm_priority, finding, pause_source, pause_classes,
                    pause_quanta[127:16], held_until, host_header_done, host_header[47:0],
                    host_header_length, host_in_length, host_in_queue, host_out, host_out_length,
                    host_out_queue, host_look_length, host_look_stamp, host_finding, take_ready,
                    limiter_index, commit_index, seed_index, phase_index};
endmodule

`default_nettype wire
