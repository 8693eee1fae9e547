// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// One port of a QCN switch: output queue, service rate, PAUSE: the register window. See docs/registers.md.
`default_nettype none

module switch_port_registers #(
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
    output reg  [23:0] address,
    output reg  [31:0] capacity,
    output reg  [55:0] gain,
    output reg  [31:0] quantum,
    output reg  pause_on,
    output reg  [29:0] pause_high,
    output reg  [29:0] pause_low,
    output reg  [15:0] pause_quanta,
    output reg  [31:0] pause_quantum,
    output reg  hold_port,
    output reg  hold_port_written,
    input  wire [31:0] queue_octets,
    input  wire [31:0] queue_most,
    input  wire [63:0] octets_out,
    input  wire [47:0] frames_in,
    input  wire [47:0] frames_out,
    input  wire [47:0] frames_lost,
    input  wire [5:0] feedback_value,
    input  wire [47:0] pause_sent,
    input  wire [47:0] pause_asked,
    input  wire [47:0] pause_received,
    input  wire [47:0] paused_clocks,
    input  wire [63:0] sent_octets,
    input  wire [47:0] sent_frames,
    input  wire [47:0] overrun,
    input  wire [47:0] pause_superseded
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

    reg  [31:0] gain_low;
    reg  [31:0] queue_octets_held;
    reg  [31:0] queue_most_held;
    reg  [63:0] octets_out_held;
    reg  [47:0] frames_in_held;
    reg  [47:0] frames_out_held;
    reg  [47:0] frames_lost_held;
    reg  [5:0] feedback_value_held;
    reg  [47:0] pause_sent_held;
    reg  [47:0] pause_asked_held;
    reg  [47:0] pause_received_held;
    reg  [47:0] paused_clocks_held;
    reg  [63:0] sent_octets_held;
    reg  [47:0] sent_frames_held;
    reg  [47:0] overrun_held;
    reg  [47:0] pause_superseded_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        hold_port_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            address <= 24'd0;
            capacity <= 32'd150000;
            gain <= 56'd80000000000000;
            quantum <= 32'd51200;
            pause_on <= 1'd0;
            pause_high <= 30'd110000;
            pause_low <= 30'd44000;
            pause_quanta <= 16'd65535;
            pause_quantum <= 32'd51200;
            hold_port <= 1'd0;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                address <= write_data[23:0];
            end
            10'h009: begin
                capacity <= write_data[31:0];
            end
            10'h00a: gain_low <= write_data;
            10'h00b: begin
                gain <= {write_data[23:0], gain_low};
            end
            10'h00c: begin
                quantum <= write_data[31:0];
            end
            10'h00d: begin
                pause_on <= write_data[0:0];
            end
            10'h00e: begin
                pause_high <= write_data[29:0];
            end
            10'h00f: begin
                pause_low <= write_data[29:0];
            end
            10'h010: begin
                pause_quanta <= write_data[15:0];
            end
            10'h011: begin
                pause_quantum <= write_data[31:0];
            end
            10'h012: begin
                hold_port <= write_data[0:0];
                hold_port_written <= 1'b1;
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            queue_octets_held <= queue_octets;
            queue_most_held <= queue_most;
            octets_out_held <= octets_out;
            frames_in_held <= frames_in;
            frames_out_held <= frames_out;
            frames_lost_held <= frames_lost;
            feedback_value_held <= feedback_value;
            pause_sent_held <= pause_sent;
            pause_asked_held <= pause_asked;
            pause_received_held <= pause_received;
            paused_clocks_held <= paused_clocks;
            sent_octets_held <= sent_octets;
            sent_frames_held <= sent_frames;
            overrun_held <= overrun;
            pause_superseded_held <= pause_superseded;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279889;
            10'h001: read_data = 32'd3;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = {8'd0, address};
            10'h009: read_data = capacity;
            10'h00a: read_data = gain[31:0];
            10'h00b: read_data = {8'd0, gain[55:32]};
            10'h00c: read_data = quantum;
            10'h00d: read_data = {31'd0, pause_on};
            10'h00e: read_data = {2'd0, pause_high};
            10'h00f: read_data = {2'd0, pause_low};
            10'h010: read_data = {16'd0, pause_quanta};
            10'h011: read_data = pause_quantum;
            10'h012: read_data = {31'd0, hold_port};
            10'h040: read_data = queue_octets_held;
            10'h041: read_data = 32'd0;
            10'h042: read_data = queue_most_held;
            10'h043: read_data = 32'd0;
            10'h044: read_data = octets_out_held[31:0];
            10'h045: read_data = octets_out_held[63:32];
            10'h046: read_data = frames_in_held[31:0];
            10'h047: read_data = {16'd0, frames_in_held[47:32]};
            10'h048: read_data = frames_out_held[31:0];
            10'h049: read_data = {16'd0, frames_out_held[47:32]};
            10'h04a: read_data = frames_lost_held[31:0];
            10'h04b: read_data = {16'd0, frames_lost_held[47:32]};
            10'h04c: read_data = {26'd0, feedback_value_held};
            10'h04d: read_data = 32'd0;
            10'h04e: read_data = pause_sent_held[31:0];
            10'h04f: read_data = {16'd0, pause_sent_held[47:32]};
            10'h050: read_data = pause_asked_held[31:0];
            10'h051: read_data = {16'd0, pause_asked_held[47:32]};
            10'h052: read_data = pause_received_held[31:0];
            10'h053: read_data = {16'd0, pause_received_held[47:32]};
            10'h054: read_data = paused_clocks_held[31:0];
            10'h055: read_data = {16'd0, paused_clocks_held[47:32]};
            10'h056: read_data = sent_octets_held[31:0];
            10'h057: read_data = sent_octets_held[63:32];
            10'h058: read_data = sent_frames_held[31:0];
            10'h059: read_data = {16'd0, sent_frames_held[47:32]};
            10'h05a: read_data = overrun_held[31:0];
            10'h05b: read_data = {16'd0, overrun_held[47:32]};
            10'h05c: read_data = pause_superseded_held[31:0];
            10'h05d: read_data = {16'd0, pause_superseded_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
