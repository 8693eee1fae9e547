// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// Congestion point compiled from its Python kernels, behind an arrival gate: the register window. See docs/registers.md.
`default_nettype none

module kernel_point_registers #(
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
    output reg  [15:0] word_index,
    output reg  [63:0] word,
    output reg  word_written,
    input  wire [63:0] state_word,
    output reg  arrivals_on,
    output reg  departures_on,
    output reg  [39:0] line_rate,
    output reg  [39:0] service_rate,
    output reg  [39:0] patience,
    output reg  gated,
    output reg  [39:0] allowance,
    input  wire [47:0] messages,
    input  wire [47:0] marked,
    input  wire [47:0] dropped,
    input  wire [47:0] dropped_leaving,
    input  wire [47:0] events,
    input  wire [47:0] late_events,
    input  wire [47:0] lost_events,
    input  wire [47:0] longest_wait,
    input  wire [47:0] longest_hold
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

    reg  [31:0] word_low;
    reg  [31:0] line_rate_low;
    reg  [31:0] service_rate_low;
    reg  [31:0] patience_low;
    reg  [31:0] allowance_low;
    reg  [47:0] messages_held;
    reg  [47:0] marked_held;
    reg  [47:0] dropped_held;
    reg  [47:0] dropped_leaving_held;
    reg  [47:0] events_held;
    reg  [47:0] late_events_held;
    reg  [47:0] lost_events_held;
    reg  [47:0] longest_wait_held;
    reg  [47:0] longest_hold_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        word_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            word_index <= 16'd0;
            word <= 64'd0;
            arrivals_on <= 1'd0;
            departures_on <= 1'd0;
            line_rate <= 40'd1000000000;
            service_rate <= 40'd1000000000;
            patience <= 40'd1000000000;
            gated <= 1'd0;
            allowance <= 40'd1000000000;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                word_index <= write_data[15:0];
            end
            10'h009: word_low <= write_data;
            10'h00a: begin
                word <= {write_data[31:0], word_low};
                word_written <= 1'b1;
            end
            10'h00d: begin
                arrivals_on <= write_data[0:0];
            end
            10'h00e: begin
                departures_on <= write_data[0:0];
            end
            10'h00f: line_rate_low <= write_data;
            10'h010: begin
                line_rate <= {write_data[7:0], line_rate_low};
            end
            10'h011: service_rate_low <= write_data;
            10'h012: begin
                service_rate <= {write_data[7:0], service_rate_low};
            end
            10'h013: patience_low <= write_data;
            10'h014: begin
                patience <= {write_data[7:0], patience_low};
            end
            10'h015: begin
                gated <= write_data[0:0];
            end
            10'h016: allowance_low <= write_data;
            10'h017: begin
                allowance <= {write_data[7:0], allowance_low};
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            messages_held <= messages;
            marked_held <= marked;
            dropped_held <= dropped;
            dropped_leaving_held <= dropped_leaving;
            events_held <= events;
            late_events_held <= late_events;
            lost_events_held <= lost_events;
            longest_wait_held <= longest_wait;
            longest_hold_held <= longest_hold;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279876;
            10'h001: read_data = 32'd2;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = {16'd0, word_index};
            10'h009: read_data = word[31:0];
            10'h00a: read_data = word[63:32];
            10'h00b: read_data = state_word[31:0];
            10'h00c: read_data = state_word[63:32];
            10'h00d: read_data = {31'd0, arrivals_on};
            10'h00e: read_data = {31'd0, departures_on};
            10'h00f: read_data = line_rate[31:0];
            10'h010: read_data = {24'd0, line_rate[39:32]};
            10'h011: read_data = service_rate[31:0];
            10'h012: read_data = {24'd0, service_rate[39:32]};
            10'h013: read_data = patience[31:0];
            10'h014: read_data = {24'd0, patience[39:32]};
            10'h015: read_data = {31'd0, gated};
            10'h016: read_data = allowance[31:0];
            10'h017: read_data = {24'd0, allowance[39:32]};
            10'h040: read_data = messages_held[31:0];
            10'h041: read_data = {16'd0, messages_held[47:32]};
            10'h042: read_data = marked_held[31:0];
            10'h043: read_data = {16'd0, marked_held[47:32]};
            10'h044: read_data = dropped_held[31:0];
            10'h045: read_data = {16'd0, dropped_held[47:32]};
            10'h046: read_data = dropped_leaving_held[31:0];
            10'h047: read_data = {16'd0, dropped_leaving_held[47:32]};
            10'h048: read_data = events_held[31:0];
            10'h049: read_data = {16'd0, events_held[47:32]};
            10'h04a: read_data = late_events_held[31:0];
            10'h04b: read_data = {16'd0, late_events_held[47:32]};
            10'h04c: read_data = lost_events_held[31:0];
            10'h04d: read_data = {16'd0, lost_events_held[47:32]};
            10'h04e: read_data = longest_wait_held[31:0];
            10'h04f: read_data = {16'd0, longest_wait_held[47:32]};
            10'h050: read_data = longest_hold_held[31:0];
            10'h051: read_data = {16'd0, longest_hold_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
