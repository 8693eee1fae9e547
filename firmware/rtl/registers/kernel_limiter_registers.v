// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// Reaction point compiled from its Python kernels: N limiters on one module: the register window. See docs/registers.md.
`default_nettype none

module kernel_limiter_registers #(
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
    output reg  [15:0] limiter,
    output reg  [15:0] word_index,
    output reg  [63:0] word,
    output reg  word_written,
    input  wire [63:0] state_word,
    output reg  [39:0] link_rate,
    output reg  [39:0] patience,
    input  wire [47:0] feedback_received,
    input  wire [47:0] feedback_unassigned,
    input  wire [47:0] events,
    input  wire [47:0] late_events,
    input  wire [47:0] longest_wait
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
    reg  [31:0] link_rate_low;
    reg  [31:0] patience_low;
    reg  [47:0] feedback_received_held;
    reg  [47:0] feedback_unassigned_held;
    reg  [47:0] events_held;
    reg  [47:0] late_events_held;
    reg  [47:0] longest_wait_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        word_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            limiter <= 16'd0;
            word_index <= 16'd0;
            word <= 64'd0;
            link_rate <= 40'd10000000000;
            patience <= 40'd1000000000;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                limiter <= write_data[15:0];
            end
            10'h009: begin
                word_index <= write_data[15:0];
            end
            10'h00a: word_low <= write_data;
            10'h00b: begin
                word <= {write_data[31:0], word_low};
                word_written <= 1'b1;
            end
            10'h00e: link_rate_low <= write_data;
            10'h00f: begin
                link_rate <= {write_data[7:0], link_rate_low};
            end
            10'h010: patience_low <= write_data;
            10'h011: begin
                patience <= {write_data[7:0], patience_low};
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            feedback_received_held <= feedback_received;
            feedback_unassigned_held <= feedback_unassigned;
            events_held <= events;
            late_events_held <= late_events;
            longest_wait_held <= longest_wait;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279877;
            10'h001: read_data = 32'd1;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = {16'd0, limiter};
            10'h009: read_data = {16'd0, word_index};
            10'h00a: read_data = word[31:0];
            10'h00b: read_data = word[63:32];
            10'h00c: read_data = state_word[31:0];
            10'h00d: read_data = state_word[63:32];
            10'h00e: read_data = link_rate[31:0];
            10'h00f: read_data = {24'd0, link_rate[39:32]};
            10'h010: read_data = patience[31:0];
            10'h011: read_data = {24'd0, patience[39:32]};
            10'h040: read_data = feedback_received_held[31:0];
            10'h041: read_data = {16'd0, feedback_received_held[47:32]};
            10'h042: read_data = feedback_unassigned_held[31:0];
            10'h043: read_data = {16'd0, feedback_unassigned_held[47:32]};
            10'h044: read_data = events_held[31:0];
            10'h045: read_data = {16'd0, events_held[47:32]};
            10'h046: read_data = late_events_held[31:0];
            10'h047: read_data = {16'd0, late_events_held[47:32]};
            10'h048: read_data = longest_wait_held[31:0];
            10'h049: read_data = {16'd0, longest_wait_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
