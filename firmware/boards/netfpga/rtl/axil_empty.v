// A register window on AXI-Lite with nothing in it: every access is answered, reads give 0.
`default_nettype none

module axil_empty (
    input  wire        clk,
    input  wire        rst,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready
);
    wire taken = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_awready = taken;
    assign s_axil_wready = taken;
    assign s_axil_bresp = 2'b00;
    assign s_axil_arready = !s_axil_rvalid;
    assign s_axil_rdata = 32'd0;
    assign s_axil_rresp = 2'b00;
    always @(posedge clk)
        if (rst) begin
            s_axil_bvalid <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end else begin
            s_axil_bvalid <= taken || (s_axil_bvalid && !s_axil_bready);
            s_axil_rvalid <= s_axil_rvalid ? !s_axil_rready : s_axil_arvalid;
        end
endmodule

`default_nettype wire
