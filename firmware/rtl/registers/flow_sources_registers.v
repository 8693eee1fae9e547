// Made from firmware/registers/register_maps.py by `python -m firmware.registers`; not to be edited.
// Packet generators of a NIC: constant bit rate, a host queue each: the register window. See docs/registers.md.
`default_nettype none

module flow_sources_registers #(
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
    output reg  [15:0] index,
    output reg  [61:0] whole,
    output reg  [39:0] rest,
    output reg  [39:0] rate,
    output reg  [61:0] start,
    output reg  [15:0] length,
    output reg  [15:0] room,
    output reg  [23:0] source,
    output reg  [23:0] destination,
    output reg  [2:0] priority_code,
    output reg  [31:0] flow,
    output reg  [1:0] commit,
    output reg  commit_written,
    input  wire [63:0] flow_frames,
    input  wire [63:0] flow_octets,
    input  wire [15:0] flow_waiting,
    output reg  [7:0] tos
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

    reg  [31:0] whole_low;
    reg  [31:0] rest_low;
    reg  [31:0] rate_low;
    reg  [31:0] start_low;

    always @(posedge clk) begin
        clear <= 1'b0;
        snapshot <= 1'b0;
        commit_written <= 1'b0;
        if (rst) begin
            enable <= 1'b0;
            index <= 16'd0;
            whole <= 62'd12000000;
            rest <= 40'd0;
            rate <= 40'd1000000000;
            start <= 62'd0;
            length <= 16'd1500;
            room <= 16'd1;
            source <= 24'd0;
            destination <= 24'd0;
            priority_code <= 3'd0;
            flow <= 32'd0;
            commit <= 2'd0;
            tos <= 8'd0;
        end else if (write) case (write_word)
            10'h002: begin
                enable <= write_data[0];
                clear <= write_data[1];
                snapshot <= write_data[2];
            end
            10'h008: begin
                index <= write_data[15:0];
            end
            10'h009: whole_low <= write_data;
            10'h00a: begin
                whole <= {write_data[29:0], whole_low};
            end
            10'h00b: rest_low <= write_data;
            10'h00c: begin
                rest <= {write_data[7:0], rest_low};
            end
            10'h00d: rate_low <= write_data;
            10'h00e: begin
                rate <= {write_data[7:0], rate_low};
            end
            10'h00f: start_low <= write_data;
            10'h010: begin
                start <= {write_data[29:0], start_low};
            end
            10'h011: begin
                length <= write_data[15:0];
            end
            10'h012: begin
                room <= write_data[15:0];
            end
            10'h013: begin
                source <= write_data[23:0];
            end
            10'h014: begin
                destination <= write_data[23:0];
            end
            10'h015: begin
                priority_code <= write_data[2:0];
            end
            10'h016: begin
                flow <= write_data[31:0];
            end
            10'h017: begin
                commit <= write_data[1:0];
                commit_written <= 1'b1;
            end
            10'h01d: begin
                tos <= write_data[7:0];
            end
            default: ;
        endcase
    end

    always @(posedge clk) begin
        if (snapshot) begin
        end
    end

    always @*
        case (read_word)
            10'h000: read_data = 32'd1363279905;
            10'h001: read_data = 32'd1;
            10'h002: read_data = {31'd0, enable};
            10'h003: read_data = {31'd0, is_idle};
            10'h004: read_data = NEXT;
            10'h005: read_data = CAPS;
            10'h006: read_data = CLK_HZ;
            10'h008: read_data = {16'd0, index};
            10'h009: read_data = whole[31:0];
            10'h00a: read_data = {2'd0, whole[61:32]};
            10'h00b: read_data = rest[31:0];
            10'h00c: read_data = {24'd0, rest[39:32]};
            10'h00d: read_data = rate[31:0];
            10'h00e: read_data = {24'd0, rate[39:32]};
            10'h00f: read_data = start[31:0];
            10'h010: read_data = {2'd0, start[61:32]};
            10'h011: read_data = {16'd0, length};
            10'h012: read_data = {16'd0, room};
            10'h013: read_data = {8'd0, source};
            10'h014: read_data = {8'd0, destination};
            10'h015: read_data = {29'd0, priority_code};
            10'h016: read_data = flow;
            10'h017: read_data = {30'd0, commit};
            10'h018: read_data = flow_frames[31:0];
            10'h019: read_data = flow_frames[63:32];
            10'h01a: read_data = flow_octets[31:0];
            10'h01b: read_data = flow_octets[63:32];
            10'h01c: read_data = {16'd0, flow_waiting};
            10'h01d: read_data = {24'd0, tos};
            default: read_data = 32'd0;
        endcase

    wire unused = |write_data;
endmodule

`default_nettype wire
