// Gate behind the queue of an output port: a frame that has left the queue waits here until its
// congestion point has answered, then goes to the transmitter, with another TOS octet where it is
// marked, or is dropped (orchestrator/engine/node/port_scheduler.py `send_from_queue`).
//
// `go`: a frame starts to leave the queue; a clock later `left_valid`, with its length and what stays,
// and its event (`at`, `event_octets`, `event_frames`). `verdict_valid` is the answer, one clock;
// with `clear` the frame that waits goes on as it is. `release_frame`: it goes to the transmitter.
//
// A frame behind a dropped one leaves in the same instant: its event has the time of the dropped
// one, and what stayed then without it, whatever has arrived since. While `chained` the port has to
// let that frame go before all others, and its service rate keeps what it has earned (`keeps`).
`default_nettype none

module departure_gate #(
    parameter DATA_W = 64
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              clear,
    input  wire              on,              // frames wait for an answer
    input  wire [61:0]       now,             // ps
    input  wire              go,
    input  wire              left_valid,
    input  wire [15:0]       left_length,     // octets
    input  wire [31:0]       left_octets,     // in the queue without it
    input  wire [15:0]       left_frames,

    output wire [61:0]       at,              // ps
    output wire [31:0]       event_octets,
    output wire [15:0]       event_frames,
    output reg               asks,            // the frame has no answer yet
    input  wire              verdict_valid,
    input  wire              verdict_drop,
    input  wire              verdict_marks,
    input  wire [7:0]        verdict_mark,    // TOS octet
    input  wire [671:0]      header,          // of the frame, with its answer
    output wire              release_frame,
    output reg  [15:0]       length,          // of the frame at hand
    output wire              drops,           // one clock each
    output wire              marks,
    output wire [61:0]       waited,          // ps, of the frame at hand
    output reg               chained,
    output wire              keeps,
    output wire              ended,           // a dropped frame's last word

    input  wire [DATA_W-1:0] s_tdata,
    input  wire              s_tvalid,
    output wire              s_tready,
    input  wire              s_tlast,
    output wire [DATA_W-1:0] m_tdata,
    output wire              m_tvalid,
    input  wire              m_tready
);
    reg         draining;
    reg  [61:0] left_at;                      // of the last frame's event
    reg  [31:0] octets;
    reg  [15:0] frames;
    assign at = chained ? left_at : now;
    assign event_octets = chained ? octets - {16'd0, left_length} : left_octets;
    assign event_frames = chained ? frames - 16'd1 : left_frames;

    wire answered = asks && verdict_valid && !clear;
    assign drops = answered && verdict_drop;
    assign release_frame = asks && (clear || (verdict_valid && !verdict_drop));
    assign marks = answered && !verdict_drop && verdict_marks;
    assign waited = now - left_at;
    assign keeps = asks || draining || chained;
    assign ended = draining && s_tvalid && s_tlast;
    assign m_tvalid = s_tvalid && !asks && !draining;
    assign s_tready = draining || (m_tready && !asks);
    tos_mark #(.DATA_W(DATA_W)) marker (
        .clk(clk), .rst(rst), .take(go || answered), .marks(marks), .mark(verdict_mark),
        .header(header), .tdata(s_tdata), .passes(s_tvalid && s_tready), .tlast(s_tlast),
        .marked(m_tdata)
    );

    always @(posedge clk) begin
        if (left_valid) begin
            left_at <= at;
            length <= left_length;
            octets <= event_octets;
            frames <= event_frames;
        end
        if (rst) begin
            asks <= 1'b0;
            draining <= 1'b0;
            chained <= 1'b0;
        end else begin
            if (go)
                asks <= on;
            else if (release_frame || drops)
                asks <= 1'b0;
            if (drops)
                draining <= 1'b1;
            else if (ended)
                draining <= 1'b0;
            if (drops)
                chained <= frames != 16'd0;
            else if (release_frame || (go && !on))
                chained <= 1'b0;
        end
    end
endmodule

`default_nettype wire
