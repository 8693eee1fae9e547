// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// QCN NIC: its port, and what its flows and limiters are at: the register window. See docs/registers.md.
`default_nettype none

module qcn_nic_registers #(
    parameter [31:0] NEXT = 32'd0,
    parameter [31:0] CAPS = 32'd0,
    parameter [31:0] CLK_HZ = 32'd125_000_000
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output wire        s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output wire        s_axil_rvalid,
    input  wire        s_axil_rready,

    output reg         enable,
    output reg         clear,
    output reg         snapshot,
    input  wire        is_idle,
    output reg  [31:0] quantum,
    output reg  hold_port,
    output reg  hold_port_written,
    output reg  [15:0] limiter_index,
    input  wire limiter_active,
    input  wire [39:0] limiter_rate,
    input  wire [60:0] limiter_target,
    input  wire [23:0] limiter_byte_stage,
    input  wire [23:0] limiter_timer_stage,
    input  wire [47:0] limiter_feedback,
    input  wire [16:0] limiter_flow,
    input  wire [47:0] feedback_ignored,
    input  wire [47:0] feedback_lost,
    input  wire [47:0] pause_received,
    input  wire [47:0] paused_clocks,
    input  wire [63:0] sent_octets,
    input  wire [47:0] sent_frames,
    input  wire [47:0] host_lost
);
    wire        write;
    wire [9:0]  write_word;
    wire [31:0] write_data;
    wire [9:0]  read_word;
    reg  [31:0] read_data;

    axil_window window (
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
        .write(write), .write_word(write_word), .write_data(write_data),
        .read_word(read_word), .read_data(read_data)
    );

    reg  [47:0] feedback_ignored_held;
    reg  [47:0] feedback_lost_held;
    reg  [47:0] pause_received_held;
    reg  [47:0] paused_clocks_held;
    reg  [63:0] sent_octets_held;
    reg  [47:0] sent_frames_held;
    reg  [47:0] host_lost_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        hold_port_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            quantum <= 32'd51200;
            hold_port <= 1'd0;
            limiter_index <= 16'd0;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                quantum <= write_data[31:0];
            end
            10'h009: begin
                hold_port <= write_data[0:0];
                hold_port_written <= 1'b1;
            end
            10'h00a: begin
                limiter_index <= write_data[15:0];
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            feedback_ignored_held <= feedback_ignored;
            feedback_lost_held <= feedback_lost;
            pause_received_held <= pause_received;
            paused_clocks_held <= paused_clocks;
            sent_octets_held <= sent_octets;
            sent_frames_held <= sent_frames;
            host_lost_held <= host_lost;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279904;
            10'h001: read_data = 32'd2;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = quantum;
            10'h009: read_data = {31'd0, hold_port};
            10'h00a: read_data = {16'd0, limiter_index};
            10'h00b: read_data = {31'd0, limiter_active};
            10'h00c: read_data = limiter_rate[31:0];
            10'h00d: read_data = {24'd0, limiter_rate[39:32]};
            10'h00e: read_data = limiter_target[31:0];
            10'h00f: read_data = {3'd0, limiter_target[60:32]};
            10'h010: read_data = {8'd0, limiter_byte_stage};
            10'h011: read_data = {8'd0, limiter_timer_stage};
            10'h012: read_data = limiter_feedback[31:0];
            10'h013: read_data = {16'd0, limiter_feedback[47:32]};
            10'h014: read_data = {15'd0, limiter_flow};
            10'h040: read_data = feedback_ignored_held[31:0];
            10'h041: read_data = {16'd0, feedback_ignored_held[47:32]};
            10'h042: read_data = feedback_lost_held[31:0];
            10'h043: read_data = {16'd0, feedback_lost_held[47:32]};
            10'h044: read_data = pause_received_held[31:0];
            10'h045: read_data = {16'd0, pause_received_held[47:32]};
            10'h046: read_data = paused_clocks_held[31:0];
            10'h047: read_data = {16'd0, paused_clocks_held[47:32]};
            10'h048: read_data = sent_octets_held[31:0];
            10'h049: read_data = sent_octets_held[63:32];
            10'h04a: read_data = sent_frames_held[31:0];
            10'h04b: read_data = {16'd0, sent_frames_held[47:32]};
            10'h04c: read_data = host_lost_held[31:0];
            10'h04d: read_data = {16'd0, host_lost_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
