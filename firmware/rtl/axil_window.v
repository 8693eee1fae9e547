// A window of 4 KiB on AXI-Lite, 32-bit words: one access at a time of each kind, every access is
// answered. A write that does not set all four strobes changes nothing and is answered SLVERR.
`default_nettype none

module axil_window (
    input  wire        clk,
    input  wire        rst,
    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output reg  [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    output wire        write,         // one clock per word written
    output reg  [9:0]  write_word,
    output reg  [31:0] write_data,
    output reg  [9:0]  read_word,
    input  wire [31:0] read_data      // of read_word, in the same clock
);
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

    reg       have_address, have_data, reading;
    reg [3:0] strobes;

    assign s_axil_awready = !have_address;
    assign s_axil_wready = !have_data;
    wire   complete = have_address && have_data && !s_axil_bvalid;
    assign write = complete && &strobes;

    assign s_axil_arready = !reading && !s_axil_rvalid;
    assign s_axil_rresp = OKAY;

    always @(posedge clk)
        if (rst) begin
            have_address <= 1'b0;
            have_data <= 1'b0;
            s_axil_bvalid <= 1'b0;
        end else begin
            if (s_axil_awvalid && s_axil_awready) begin
                have_address <= 1'b1;
                write_word <= s_axil_awaddr[11:2];
            end
            if (s_axil_wvalid && s_axil_wready) begin
                have_data <= 1'b1;
                write_data <= s_axil_wdata;
                strobes <= s_axil_wstrb;
            end
            if (complete) begin
                have_address <= 1'b0;
                have_data <= 1'b0;
                s_axil_bvalid <= 1'b1;
                s_axil_bresp <= &strobes ? OKAY : SLVERR;
            end else if (s_axil_bready)
                s_axil_bvalid <= 1'b0;
        end

    always @(posedge clk)
        if (rst) begin
            reading <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end else if (reading) begin
            reading <= 1'b0;
            s_axil_rvalid <= 1'b1;
            s_axil_rdata <= read_data;
        end else if (s_axil_rvalid) begin
            if (s_axil_rready)
                s_axil_rvalid <= 1'b0;
        end else if (s_axil_arvalid) begin
            reading <= 1'b1;
            read_word <= s_axil_araddr[11:2];
        end

    wire unused = |{s_axil_awaddr[1:0], s_axil_araddr[1:0]};
endmodule

`default_nettype wire
