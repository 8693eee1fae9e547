// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// QCN reaction point: N limiters on one calculator: the register window. See docs/registers.md.
`default_nettype none

module qcn_rp_registers #(
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
    output reg  [39:0] link_rate,
    output reg  [44:0] time_reset,
    output reg  [39:0] byte_reset,
    output reg  [15:0] threshold,
    output reg  [39:0] ai_rate,
    output reg  [39:0] hai_rate,
    output reg  [15:0] gd_num,
    output reg  [15:0] gd_den,
    output reg  [15:0] factor_num,
    output reg  [15:0] factor_den,
    output reg  [39:0] min_rate,
    output reg  cap_target,
    output reg  jitter_on,
    output reg  [15:0] seed_index,
    output reg  [31:0] seed,
    output reg  seed_written,
    output reg  extra_fast_recovery,
    input  wire [47:0] feedback_received,
    input  wire [47:0] feedback_unassigned
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

    reg  [31:0] link_rate_low;
    reg  [31:0] time_reset_low;
    reg  [31:0] byte_reset_low;
    reg  [31:0] ai_rate_low;
    reg  [31:0] hai_rate_low;
    reg  [31:0] min_rate_low;
    reg  [47:0] feedback_received_held;
    reg  [47:0] feedback_unassigned_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        seed_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            link_rate <= 40'd10000000000;
            time_reset <= 45'd15000000000;
            byte_reset <= 40'd150000;
            threshold <= 16'd5;
            ai_rate <= 40'd5000000;
            hai_rate <= 40'd50000000;
            gd_num <= 16'd1;
            gd_den <= 16'd128;
            factor_num <= 16'd1;
            factor_den <= 16'd2;
            min_rate <= 40'd5000000;
            cap_target <= 1'd1;
            jitter_on <= 1'd1;
            seed_index <= 16'd0;
            seed <= 32'd1;
            extra_fast_recovery <= 1'd1;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: link_rate_low <= write_data;
            10'h009: begin
                link_rate <= {write_data[7:0], link_rate_low};
            end
            10'h00a: time_reset_low <= write_data;
            10'h00b: begin
                time_reset <= {write_data[12:0], time_reset_low};
            end
            10'h00c: byte_reset_low <= write_data;
            10'h00d: begin
                byte_reset <= {write_data[7:0], byte_reset_low};
            end
            10'h00e: begin
                threshold <= write_data[15:0];
            end
            10'h00f: ai_rate_low <= write_data;
            10'h010: begin
                ai_rate <= {write_data[7:0], ai_rate_low};
            end
            10'h011: hai_rate_low <= write_data;
            10'h012: begin
                hai_rate <= {write_data[7:0], hai_rate_low};
            end
            10'h013: begin
                gd_num <= write_data[15:0];
            end
            10'h014: begin
                gd_den <= write_data[15:0];
            end
            10'h015: begin
                factor_num <= write_data[15:0];
            end
            10'h016: begin
                factor_den <= write_data[15:0];
            end
            10'h017: min_rate_low <= write_data;
            10'h018: begin
                min_rate <= {write_data[7:0], min_rate_low};
            end
            10'h019: begin
                cap_target <= write_data[0:0];
            end
            10'h01a: begin
                jitter_on <= write_data[0:0];
            end
            10'h01b: begin
                seed_index <= write_data[15:0];
            end
            10'h01c: begin
                seed <= write_data[31:0];
                seed_written <= 1'b1;
            end
            10'h01d: begin
                extra_fast_recovery <= write_data[0:0];
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            feedback_received_held <= feedback_received;
            feedback_unassigned_held <= feedback_unassigned;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279874;
            10'h001: read_data = 32'd2;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = link_rate[31:0];
            10'h009: read_data = {24'd0, link_rate[39:32]};
            10'h00a: read_data = time_reset[31:0];
            10'h00b: read_data = {19'd0, time_reset[44:32]};
            10'h00c: read_data = byte_reset[31:0];
            10'h00d: read_data = {24'd0, byte_reset[39:32]};
            10'h00e: read_data = {16'd0, threshold};
            10'h00f: read_data = ai_rate[31:0];
            10'h010: read_data = {24'd0, ai_rate[39:32]};
            10'h011: read_data = hai_rate[31:0];
            10'h012: read_data = {24'd0, hai_rate[39:32]};
            10'h013: read_data = {16'd0, gd_num};
            10'h014: read_data = {16'd0, gd_den};
            10'h015: read_data = {16'd0, factor_num};
            10'h016: read_data = {16'd0, factor_den};
            10'h017: read_data = min_rate[31:0];
            10'h018: read_data = {24'd0, min_rate[39:32]};
            10'h019: read_data = {31'd0, cap_target};
            10'h01a: read_data = {31'd0, jitter_on};
            10'h01b: read_data = {16'd0, seed_index};
            10'h01c: read_data = seed;
            10'h01d: read_data = {31'd0, extra_fast_recovery};
            10'h040: read_data = feedback_received_held[31:0];
            10'h041: read_data = {16'd0, feedback_received_held[47:32]};
            10'h042: read_data = feedback_unassigned_held[31:0];
            10'h043: read_data = {16'd0, feedback_unassigned_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
