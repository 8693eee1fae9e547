// One AXI-Lite slave with a page of 2^SPAN_W octets, 4 KiB, for each of PAGES slaves behind it. One access of each kind
// at a time; every access is answered, also beyond the last page, where reads give 0.
`default_nettype none

module axil_pages #(
    parameter PAGES = 4,
    parameter PAGE_W = PAGES > 1 ? $clog2(PAGES) : 1,
    parameter ADDR_W = 24,
    parameter SPAN_W = 12
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [ADDR_W-1:0]   s_axil_awaddr,
    input  wire                s_axil_awvalid,
    output wire                s_axil_awready,
    input  wire [31:0]         s_axil_wdata,
    input  wire [3:0]          s_axil_wstrb,
    input  wire                s_axil_wvalid,
    output wire                s_axil_wready,
    output reg  [1:0]          s_axil_bresp,
    output reg                 s_axil_bvalid,
    input  wire                s_axil_bready,
    input  wire [ADDR_W-1:0]   s_axil_araddr,
    input  wire                s_axil_arvalid,
    output wire                s_axil_arready,
    output reg  [31:0]         s_axil_rdata,
    output wire [1:0]          s_axil_rresp,
    output reg                 s_axil_rvalid,
    input  wire                s_axil_rready,

    output reg  [SPAN_W-1:0]   m_axil_awaddr,     // of every page
    output reg  [PAGES-1:0]    m_axil_awvalid,
    input  wire [PAGES-1:0]    m_axil_awready,
    output reg  [31:0]         m_axil_wdata,
    output reg  [3:0]          m_axil_wstrb,
    output reg  [PAGES-1:0]    m_axil_wvalid,
    input  wire [PAGES-1:0]    m_axil_wready,
    input  wire [2*PAGES-1:0]  m_axil_bresp,
    input  wire [PAGES-1:0]    m_axil_bvalid,
    output wire [PAGES-1:0]    m_axil_bready,
    output reg  [SPAN_W-1:0]   m_axil_araddr,
    output reg  [PAGES-1:0]    m_axil_arvalid,
    input  wire [PAGES-1:0]    m_axil_arready,
    input  wire [32*PAGES-1:0] m_axil_rdata,
    input  wire [PAGES-1:0]    m_axil_rvalid,
    output wire [PAGES-1:0]    m_axil_rready
);
    localparam [31:0] PAGES_NUMBER = PAGES;
    localparam [ADDR_W-SPAN_W-1:0] END = PAGES_NUMBER[ADDR_W-SPAN_W-1:0];
    localparam [1:0] FREE = 2'd0, ASK = 2'd1, ANSWER = 2'd2;

    reg [1:0]        write_state, read_state;
    reg [PAGE_W-1:0] write_page, read_page;
    reg              write_beyond, read_beyond;

    // address and data are taken together
    wire write_taken = write_state == FREE && s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_awready = write_taken;
    assign s_axil_wready = write_taken;
    assign m_axil_bready = {PAGES{write_state == ANSWER}};

    always @(posedge clk)
        if (rst) begin
            write_state <= FREE;
            s_axil_bvalid <= 1'b0;
            m_axil_awvalid <= {PAGES{1'b0}};
            m_axil_wvalid <= {PAGES{1'b0}};
        end else begin
            if (s_axil_bready)
                s_axil_bvalid <= 1'b0;
            m_axil_awvalid <= m_axil_awvalid & ~m_axil_awready;
            m_axil_wvalid <= m_axil_wvalid & ~m_axil_wready;
            case (write_state)
                FREE: if (write_taken) begin
                    write_state <= ASK;
                    write_page <= s_axil_awaddr[SPAN_W +: PAGE_W];
                    write_beyond <= s_axil_awaddr[ADDR_W-1:SPAN_W] >= END;
                    m_axil_awaddr <= s_axil_awaddr[SPAN_W-1:0];
                    m_axil_wdata <= s_axil_wdata;
                    m_axil_wstrb <= s_axil_wstrb;
                end
                ASK: begin
                    if (!write_beyond) begin
                        m_axil_awvalid[write_page] <= 1'b1;
                        m_axil_wvalid[write_page] <= 1'b1;
                    end
                    write_state <= ANSWER;
                end
                default: if (write_beyond || m_axil_bvalid[write_page]) begin
                    write_state <= FREE;
                    s_axil_bvalid <= 1'b1;
                    s_axil_bresp <= write_beyond ? 2'b00 : m_axil_bresp[2*write_page +: 2];
                end
            endcase
        end

    assign s_axil_arready = read_state == FREE && !s_axil_rvalid;
    assign s_axil_rresp = 2'b00;
    assign m_axil_rready = {PAGES{read_state == ANSWER}};

    always @(posedge clk)
        if (rst) begin
            read_state <= FREE;
            s_axil_rvalid <= 1'b0;
            m_axil_arvalid <= {PAGES{1'b0}};
        end else begin
            if (s_axil_rready)
                s_axil_rvalid <= 1'b0;
            m_axil_arvalid <= m_axil_arvalid & ~m_axil_arready;
            case (read_state)
                FREE: if (s_axil_arvalid && s_axil_arready) begin
                    read_state <= ASK;
                    read_page <= s_axil_araddr[SPAN_W +: PAGE_W];
                    read_beyond <= s_axil_araddr[ADDR_W-1:SPAN_W] >= END;
                    m_axil_araddr <= s_axil_araddr[SPAN_W-1:0];
                end
                ASK: begin
                    if (!read_beyond)
                        m_axil_arvalid[read_page] <= 1'b1;
                    read_state <= ANSWER;
                end
                default: if (read_beyond || m_axil_rvalid[read_page]) begin
                    read_state <= FREE;
                    s_axil_rvalid <= 1'b1;
                    s_axil_rdata <= read_beyond ? 32'd0 : m_axil_rdata[32*read_page +: 32];
                end
            endcase
        end
endmodule

`default_nettype wire
