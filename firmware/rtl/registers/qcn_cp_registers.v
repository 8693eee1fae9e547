// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// QCN congestion point: quantiser, sampler, random source: the register window. See docs/registers.md.
`default_nettype none

module qcn_cp_registers #(
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
    output reg  [29:0] set_point,
    output reg  [6:0] weight,
    output reg  [29:0] interval_0,
    output reg  [29:0] interval_1,
    output reg  [29:0] interval_2,
    output reg  [29:0] interval_3,
    output reg  [29:0] interval_4,
    output reg  [29:0] interval_5,
    output reg  [29:0] interval_6,
    output reg  [29:0] interval_7,
    output reg  [1:0] sampling,
    output reg  counts_arriving,
    output reg  jitter_on,
    output reg  [31:0] seed,
    input  wire [31:0] random,
    output reg  [19:0] searches,
    output reg  [23:0] units,
    output reg  [31:0] units_seed,
    input  wire [31:0] units_random,
    input  wire [47:0] samples,
    input  wire [47:0] messages
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

    reg  [47:0] samples_held;
    reg  [47:0] messages_held;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            set_point <= 30'd26000;
            weight <= 7'd2;
            interval_0 <= 30'd150000;
            interval_1 <= 30'd75000;
            interval_2 <= 30'd50000;
            interval_3 <= 30'd37500;
            interval_4 <= 30'd30000;
            interval_5 <= 30'd25000;
            interval_6 <= 30'd21500;
            interval_7 <= 30'd18500;
            sampling <= 2'd0;
            counts_arriving <= 1'd0;
            jitter_on <= 1'd1;
            seed <= 32'd1;
            searches <= 20'd0;
            units <= 24'd1;
            units_seed <= 32'd1;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                set_point <= write_data[29:0];
            end
            10'h009: begin
                weight <= write_data[6:0];
            end
            10'h00a: begin
                interval_0 <= write_data[29:0];
            end
            10'h00b: begin
                interval_1 <= write_data[29:0];
            end
            10'h00c: begin
                interval_2 <= write_data[29:0];
            end
            10'h00d: begin
                interval_3 <= write_data[29:0];
            end
            10'h00e: begin
                interval_4 <= write_data[29:0];
            end
            10'h00f: begin
                interval_5 <= write_data[29:0];
            end
            10'h010: begin
                interval_6 <= write_data[29:0];
            end
            10'h011: begin
                interval_7 <= write_data[29:0];
            end
            10'h012: begin
                sampling <= write_data[1:0];
            end
            10'h013: begin
                counts_arriving <= write_data[0:0];
            end
            10'h014: begin
                jitter_on <= write_data[0:0];
            end
            10'h015: begin
                seed <= write_data[31:0];
            end
            10'h017: begin
                searches <= write_data[19:0];
            end
            10'h018: begin
                units <= write_data[23:0];
            end
            10'h019: begin
                units_seed <= write_data[31:0];
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
            samples_held <= samples;
            messages_held <= messages;
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279873;
            10'h001: read_data = 32'd2;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = {2'd0, set_point};
            10'h009: read_data = {25'd0, weight};
            10'h00a: read_data = {2'd0, interval_0};
            10'h00b: read_data = {2'd0, interval_1};
            10'h00c: read_data = {2'd0, interval_2};
            10'h00d: read_data = {2'd0, interval_3};
            10'h00e: read_data = {2'd0, interval_4};
            10'h00f: read_data = {2'd0, interval_5};
            10'h010: read_data = {2'd0, interval_6};
            10'h011: read_data = {2'd0, interval_7};
            10'h012: read_data = {30'd0, sampling};
            10'h013: read_data = {31'd0, counts_arriving};
            10'h014: read_data = {31'd0, jitter_on};
            10'h015: read_data = seed;
            10'h016: read_data = random;
            10'h017: read_data = {12'd0, searches};
            10'h018: read_data = {8'd0, units};
            10'h019: read_data = units_seed;
            10'h01a: read_data = units_random;
            10'h040: read_data = samples_held[31:0];
            10'h041: read_data = {16'd0, samples_held[47:32]};
            10'h042: read_data = messages_held[31:0];
            10'h043: read_data = {16'd0, messages_held[47:32]};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
