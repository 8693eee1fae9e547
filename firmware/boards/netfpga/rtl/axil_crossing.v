// AXI-Lite from one clock to another, one access of each kind at a time. A request is held stable
// and signalled by a toggle, which the other side samples two of its clocks later; so is the
// response. Both sides are to be reset together. The held words need a bound on their delay, see
// crossing.xdc.
`default_nettype none

module axil_crossing #(
    parameter ADDR_W = 16
) (
    input  wire              s_clk,
    input  wire              s_rst,
    input  wire [ADDR_W-1:0] s_axil_awaddr,
    input  wire              s_axil_awvalid,
    output wire              s_axil_awready,
    input  wire [31:0]       s_axil_wdata,
    input  wire [3:0]        s_axil_wstrb,
    input  wire              s_axil_wvalid,
    output wire              s_axil_wready,
    output wire [1:0]        s_axil_bresp,
    output reg               s_axil_bvalid,
    input  wire              s_axil_bready,
    input  wire [ADDR_W-1:0] s_axil_araddr,
    input  wire              s_axil_arvalid,
    output wire              s_axil_arready,
    output wire [31:0]       s_axil_rdata,
    output wire [1:0]        s_axil_rresp,
    output reg               s_axil_rvalid,
    input  wire              s_axil_rready,

    input  wire              m_clk,
    input  wire              m_rst,
    output wire [ADDR_W-1:0] m_axil_awaddr,
    output reg               m_axil_awvalid,
    input  wire              m_axil_awready,
    output wire [31:0]       m_axil_wdata,
    output wire [3:0]        m_axil_wstrb,
    output reg               m_axil_wvalid,
    input  wire              m_axil_wready,
    input  wire [1:0]        m_axil_bresp,
    input  wire              m_axil_bvalid,
    output wire              m_axil_bready,
    output wire [ADDR_W-1:0] m_axil_araddr,
    output reg               m_axil_arvalid,
    input  wire              m_axil_arready,
    input  wire [31:0]       m_axil_rdata,
    input  wire [1:0]        m_axil_rresp,
    input  wire              m_axil_rvalid,
    output wire              m_axil_rready
);
    // --- writes ----------------------------------------------------------------------------------
    reg [ADDR_W+35:0] held_write;
    reg [1:0]         held_bresp;
    reg               write_asked, write_answered, writing;
    (* ASYNC_REG = "TRUE" *) reg [1:0] write_asked_there, write_answered_here;
    reg               write_seen, write_over;
    assign {m_axil_awaddr, m_axil_wdata, m_axil_wstrb} = held_write;
    assign s_axil_bresp = held_bresp;

    wire takes_write = !writing && s_axil_awvalid && s_axil_wvalid;
    assign s_axil_awready = takes_write;
    assign s_axil_wready = takes_write;
    always @(posedge s_clk) begin
        write_answered_here <= {write_answered_here[0], write_answered};
        write_over <= write_answered_here[1];
        if (takes_write)
            held_write <= {s_axil_awaddr, s_axil_wdata, s_axil_wstrb};
        if (s_rst) begin
            write_asked <= 1'b0;
            write_answered_here <= 2'b00;
            write_over <= 1'b0;
            writing <= 1'b0;
            s_axil_bvalid <= 1'b0;
        end else begin
            if (takes_write) begin
                write_asked <= !write_asked;
                writing <= 1'b1;
            end
            if (write_over != write_answered_here[1])
                s_axil_bvalid <= 1'b1;
            else if (s_axil_bvalid && s_axil_bready) begin
                s_axil_bvalid <= 1'b0;
                writing <= 1'b0;
            end
        end
    end

    reg wants_answer;
    assign m_axil_bready = wants_answer;
    always @(posedge m_clk) begin
        write_asked_there <= {write_asked_there[0], write_asked};
        write_seen <= write_asked_there[1];
        if (m_axil_bvalid && wants_answer)
            held_bresp <= m_axil_bresp;
        if (m_rst) begin
            write_asked_there <= 2'b00;
            write_seen <= 1'b0;
            write_answered <= 1'b0;
            wants_answer <= 1'b0;
            m_axil_awvalid <= 1'b0;
            m_axil_wvalid <= 1'b0;
        end else if (write_seen != write_asked_there[1]) begin
            m_axil_awvalid <= 1'b1;
            m_axil_wvalid <= 1'b1;
            wants_answer <= 1'b1;
        end else begin
            if (m_axil_awready)
                m_axil_awvalid <= 1'b0;
            if (m_axil_wready)
                m_axil_wvalid <= 1'b0;
            if (m_axil_bvalid && wants_answer) begin
                wants_answer <= 1'b0;
                write_answered <= !write_answered;
            end
        end
    end

    // --- reads -----------------------------------------------------------------------------------
    reg [ADDR_W-1:0] held_read;
    reg [33:0]       held_data;
    reg              read_asked, read_answered, reading;
    (* ASYNC_REG = "TRUE" *) reg [1:0] read_asked_there, read_answered_here;
    reg              read_seen, read_over;
    assign m_axil_araddr = held_read;
    assign {s_axil_rresp, s_axil_rdata} = held_data;

    assign s_axil_arready = !reading;
    always @(posedge s_clk) begin
        read_answered_here <= {read_answered_here[0], read_answered};
        read_over <= read_answered_here[1];
        if (s_axil_arvalid && !reading)
            held_read <= s_axil_araddr;
        if (s_rst) begin
            read_asked <= 1'b0;
            read_answered_here <= 2'b00;
            read_over <= 1'b0;
            reading <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end else begin
            if (s_axil_arvalid && !reading) begin
                read_asked <= !read_asked;
                reading <= 1'b1;
            end
            if (read_over != read_answered_here[1])
                s_axil_rvalid <= 1'b1;
            else if (s_axil_rvalid && s_axil_rready) begin
                s_axil_rvalid <= 1'b0;
                reading <= 1'b0;
            end
        end
    end

    reg wants_data;
    assign m_axil_rready = wants_data;
    always @(posedge m_clk) begin
        read_asked_there <= {read_asked_there[0], read_asked};
        read_seen <= read_asked_there[1];
        if (m_axil_rvalid && wants_data)
            held_data <= {m_axil_rresp, m_axil_rdata};
        if (m_rst) begin
            read_asked_there <= 2'b00;
            read_seen <= 1'b0;
            read_answered <= 1'b0;
            wants_data <= 1'b0;
            m_axil_arvalid <= 1'b0;
        end else if (read_seen != read_asked_there[1]) begin
            m_axil_arvalid <= 1'b1;
            wants_data <= 1'b1;
        end else begin
            if (m_axil_arready)
                m_axil_arvalid <= 1'b0;
            if (m_axil_rvalid && wants_data) begin
                wants_data <= 1'b0;
                read_answered <= !read_answered;
            end
        end
    end
endmodule

`default_nettype wire
