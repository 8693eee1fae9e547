// Which flow has an address: the flows' addresses are compared one per clock. `done` is high for one
// clock, at most FLOWS + 1 clocks after `start`; `found` and `flow` then stay until the next start.
`default_nettype none

module flow_finder #(
    parameter FLOWS = 8,
    parameter FLOW_W = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              set,
    input  wire [FLOW_W-1:0] set_flow,
    input  wire [23:0]       set_address,
    input  wire              start,           // ignored while busy
    input  wire [23:0]       address,
    output reg               busy,
    output reg               done,
    output reg               found,
    output reg  [FLOW_W-1:0] flow
);
    localparam [31:0] LAST_NUMBER = FLOWS - 1;
    localparam [FLOW_W-1:0] LAST = LAST_NUMBER[FLOW_W-1:0];
    reg [23:0]       addresses [0:FLOWS-1];
    reg [FLOWS-1:0]  known;
    reg [23:0]       wanted;
    reg [FLOW_W-1:0] at;
    wire             hit = known[at] && addresses[at] == wanted;

    always @(posedge clk) begin
        done <= 1'b0;
        if (set)
            addresses[set_flow] <= set_address;
        if (rst) begin
            known <= {FLOWS{1'b0}};
            busy <= 1'b0;
        end else begin
            if (set)
                known[set_flow] <= 1'b1;
            if (!busy) begin
                busy <= start;
                wanted <= address;
                at <= {FLOW_W{1'b0}};
            end else begin
                at <= at + 1'b1;
                if (hit || at == LAST) begin
                    busy <= 1'b0;
                    done <= 1'b1;
                    found <= hit;
                    flow <= at;
                end
            end
        end
    end
endmodule

`default_nettype wire
