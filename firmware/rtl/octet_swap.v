// The octets of a field in the other order: the wire's (first octet in the top bits, as a field is
// written) to a stream's (first octet in bits 7:0), or back. Wires only: without `wanted` the
// output is unused, which costs no gate and saves work in simulation.
`default_nettype none

module octet_swap #(
    parameter OCTETS = 6
) (
    input  wire                wanted,
    input  wire [8*OCTETS-1:0] in,
    output reg  [8*OCTETS-1:0] out
);
    integer octet;
    always @* begin
        octet = 0;
        if (wanted)
            for (octet = 0; octet < OCTETS; octet = octet + 1)
                out[8*octet +: 8] = in[8*(OCTETS-1-octet) +: 8];
        else
            out = {(8 * OCTETS){1'bx}};
    end
endmodule

`default_nettype wire
