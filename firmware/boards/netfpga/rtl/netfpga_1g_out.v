// From AXI-Stream to NetFPGA 1G's output queues: a header word (ctrl 0xFF: destination, one bit each,
// words, source, octets; 16 bits each), then the frame, octet 0 in the top bits, ctrl of its last
// word with the bit of its last octet. One clock for the header and one idle between frames.
`default_nettype none

module netfpga_1g_out (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] s_tdata,
    input  wire [7:0]  s_tkeep,
    input  wire        s_tvalid,
    output wire        s_tready,
    input  wire        s_tlast,
    input  wire [15:0] length,               // of the frame, valid with every word
    input  wire [15:0] source,
    input  wire [15:0] destination,
    output reg  [63:0] out_data,
    output reg  [7:0]  out_ctrl,
    output reg         out_wr,
    input  wire        out_rdy
);
    reg         in_frame;                       // the header is written
    wire [63:0] data;
    octet_swap #(.OCTETS(8)) swap (.wanted(s_tvalid), .in(s_tdata), .out(data));
    wire [15:0] rounded = length + 16'd7;
    wire [15:0] words = {3'd0, rounded[15:3]};

    reg  [7:0]  ctrl;                         // tkeep 0...01 is one octet: the top bit
    integer     octet;
    always @* begin
        ctrl = 8'd0;
        for (octet = 0; octet < 8; octet = octet + 1)
            if (s_tkeep[octet])
                ctrl = 8'h80 >> octet;
    end

    assign s_tready = in_frame && out_rdy;
    always @(posedge clk) begin
        out_wr <= !rst && s_tvalid && out_rdy;
        out_data <= in_frame ? data : {destination, words, source, length};
        out_ctrl <= !in_frame ? 8'hFF : s_tlast ? ctrl : 8'd0;
        if (rst)
            in_frame <= 1'b0;
        else if (s_tvalid && out_rdy)
            in_frame <= !(in_frame && s_tlast);
    end

    wire unused = |rounded[2:0];
endmodule

`default_nettype wire
