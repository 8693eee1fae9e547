// Delays frames: each leaves `delay` after its last word came, in order, whatever the delay is
// changed to meanwhile. A frame that finds the line full is dropped whole and counted.
`default_nettype none

module delay_line #(
    parameter DATA_W = 64,
    parameter USER_W = 1,
    parameter WORDS = 4096,
    parameter FRAMES = 256,
    parameter KEEP_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [61:0]       now,             // ps
    input  wire [39:0]       delay,           // ps, up to 1.09 s
    input  wire [DATA_W-1:0] s_tdata,
    input  wire [KEEP_W-1:0] s_tkeep,
    input  wire              s_tvalid,
    output wire              s_tready,
    input  wire              s_tlast,
    input  wire [USER_W-1:0] s_tuser,
    output wire [DATA_W-1:0] m_tdata,
    output wire [KEEP_W-1:0] m_tkeep,
    output wire              m_tvalid,
    input  wire              m_tready,
    output wire              m_tlast,
    output wire [USER_W-1:0] m_tuser,
    output reg  [47:0]       dropped,         // frames
    output wire [31:0]       octets           // in the line
);
    // A frame's due time is set as it enters; behind an earlier one with a later due it waits.
    reg  [61:0] due;
    wire        frame_valid, frame_kept, head_valid;
    wire [61:0] head_due;
    wire        open = head_due <= now;

    always @(posedge clk) begin
        due <= now + {22'd0, delay};
        if (rst)
            dropped <= 48'd0;
        else if (frame_valid && !frame_kept)
            dropped <= dropped + 48'd1;
    end

    wire [15:0] frame_length, head_length, leave_length;
    wire [31:0] frame_queue, leave_queue;
    wire [15:0] look_length;
    wire [61:0] look_due;
    wire        leave_valid;
    frame_fifo #(
        .DATA_W(DATA_W), .USER_W(USER_W), .WORDS(WORDS), .FRAMES(FRAMES), .STAMP_W(62)
    ) line (
        .clk(clk), .rst(rst), .capacity(32'hFFFF_FFFF), .stamp(due),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser(s_tuser),
        .frame_valid(frame_valid), .frame_kept(frame_kept), .frame_length(frame_length),
        .frame_queue(frame_queue),
        .head_valid(head_valid), .head_length(head_length), .head_stamp(head_due), .open(open),
        .look_at({$clog2(FRAMES){1'b0}}), .look_length(look_length), .look_stamp(look_due),
        .leave_valid(leave_valid), .leave_length(leave_length), .leave_queue(leave_queue),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .m_tuser(m_tuser), .octets(octets)
    );

    wire unused = |{frame_length, frame_queue, head_valid, head_length, leave_valid, leave_length,
                    leave_queue, look_length, look_due};
endmodule

`default_nettype wire
