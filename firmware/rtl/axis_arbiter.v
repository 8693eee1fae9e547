// Several AXI-Streams into one, frame by frame in turn; `m_source` tells with each word which input
// it is from. An input must go on with a frame that it has begun without a pause where the reader
// relies on frames in one piece. Between two frames of the same input one clock is idle.
`default_nettype none

module axis_arbiter #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter INPUTS = 4,
    parameter KEEP_W = DATA_W / 8,
    parameter SOURCE_W = INPUTS > 1 ? $clog2(INPUTS) : 1
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [INPUTS*DATA_W-1:0] s_tdata,
    input  wire [INPUTS*KEEP_W-1:0] s_tkeep,
    input  wire [INPUTS-1:0]        s_tvalid,
    output reg  [INPUTS-1:0]        s_tready,
    input  wire [INPUTS-1:0]        s_tlast,
    input  wire [INPUTS*USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0]        m_tdata,
    output wire [KEEP_W-1:0]        m_tkeep,
    output wire                     m_tvalid,
    input  wire                     m_tready,
    output wire                     m_tlast,
    output wire [USER_W-1:0]        m_tuser,
    output wire [SOURCE_W-1:0]      m_source
);
    localparam [31:0] LAST_NUMBER = INPUTS - 1;
    localparam [SOURCE_W-1:0] LAST = LAST_NUMBER[SOURCE_W-1:0];

    reg                 busy;                // `turn` has the output
    reg  [SOURCE_W-1:0] turn;
    wire                ready;               // of the slice: a register
    wire                valid = busy && s_tvalid[turn];
    wire                ends = valid && ready && s_tlast[turn];

    // Whose turn is next: the first one after `turn` that has a word. The one at hand shows its
    // last word while it ends, so it is not asked.
    reg                 found;
    reg  [SOURCE_W-1:0] next, candidate;
    integer             step;
    always @* begin
        found = 1'b0;
        next = turn;
        candidate = turn;
        for (step = 0; step < INPUTS; step = step + 1) begin
            candidate = candidate == LAST ? {SOURCE_W{1'b0}} : candidate + 1'b1;
            if (!found && s_tvalid[candidate] && !(busy && candidate == turn)) begin
                found = 1'b1;
                next = candidate;
            end
        end
    end

    always @* begin
        s_tready = {INPUTS{1'b0}};
        s_tready[turn] = busy && ready;
    end

    always @(posedge clk)
        if (rst) begin
            busy <= 1'b0;
            turn <= {SOURCE_W{1'b0}};
        end else if (!busy || ends) begin
            busy <= found;
            turn <= next;
        end

    axis_slice #(.DATA_W(DATA_W), .USER_W(USER_W + SOURCE_W)) out (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata[turn*DATA_W +: DATA_W]), .s_tkeep(s_tkeep[turn*KEEP_W +: KEEP_W]),
        .s_tvalid(valid), .s_tready(ready), .s_tlast(s_tlast[turn]),
        .s_tuser({turn, s_tuser[turn*USER_W +: USER_W]}),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser({m_source, m_tuser})
    );
endmodule

`default_nettype wire
