"""Generator of a Verilog bench that reads sequences from a file: built once, run often.

The bench prints the outputs at the end of every event (`e`) and, for a module with a valid port, in
each clock with an answer (`v`). Both simulators accept it.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.rtl_module import Rtl

TOP = "tailback_bench"
WIDEST = 512
"""Most bits of a port."""
STUCK, UNSOLICITED = "stuck", "unasked"


@dataclass(frozen=True)
class Ports:
    """Ports of a module by their role, in the order in which a bench reads and prints them."""

    held: tuple[str, ...]
    driven: tuple[str, ...]
    """Inputs of events."""
    answered: tuple[str, ...]
    """Outputs that are compared in the clock of the answer."""
    ended: tuple[str, ...]
    """Outputs that are compared at the end of an event."""

    @classmethod
    def of(cls, rtl: Rtl) -> Ports:
        """Ports of an algorithm's module, sorted, each once."""
        driven = {port for ports in rtl.events.values() for port in ports}
        said = {port for port, name in rtl.outputs.items() if _is_result_port(name)}
        answered = said if rtl.valid else set()
        ended = set(rtl.outputs) - answered
        return cls(*(tuple(sorted(one)) for one in (rtl.inputs, driven, answered, ended)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """All ports that a sequence has numbers for."""
        return self.held + self.driven


def _is_result_port(name: str) -> bool:
    return name == "result" or name.startswith("message.")


def testbench_verilog(rtl: Rtl) -> str:
    """The bench of a module."""
    ports = Ports.of(rtl)
    into = [*ports.inputs, *rtl.reset]
    looked = [*ports.answered, *ports.ended, *filter(None, (rtl.ready, rtl.valid))]
    wires = ", ".join([f".{rtl.clock}(clock)", *(f".{one}(in_{one})" for one in into)])
    port_reports = "\n".join(
        f'      $display("port {one} %b %0d", dut.{one}, (1 ? -1 : dut.{one}) < 0);'
        for one in dict.fromkeys([*into, *looked])
    )
    return BENCH.format(
        top=TOP,
        module=rtl.top,
        registers="\n".join(
            [f"  reg [{WIDEST - 1}:0] in_{one} = 0;" for one in into]
            + [f"  reg [{WIDEST - 1}:0] next_{one} = 0;" for one in ports.driven]
        ),
        wires=wires,
        port_reports=port_reports,
        read_held=_read([f"in_{one}" for one in ports.held]),
        read_event=_read([f"next_{one}" for one in ports.driven]),
        reset=_set((f"in_{one}", f"{value}") for one, value in rtl.reset.items()),
        unreset=_set((f"in_{one}", f"{1 - value}") for one, value in rtl.reset.items()),
        drive=_set((f"in_{one}", f"next_{one}") for one in ports.driven),
        rest=_set((f"in_{one}", "0") for one in ports.driven),
        is_ready=f"dut.{rtl.ready} === 1'b1" if rtl.ready else "1'b1",
        is_valid=f"dut.{rtl.valid} === 1'b1" if rtl.valid else "1'b0",
        unasked=UNSOLICITED,
        stuck=STUCK,
        answer=_display("v", ports.answered),
        end=_display("e", ports.ended),
        after=rtl.after,
        most=rtl.most_clocks,
    )


def _read(names: list[str]) -> str:
    places = ", ".join(names)
    return f'got = $fscanf(file, "{" %h" * len(names)}", {places});' if names else ""


def _set(pairs: object) -> str:
    return " ".join(f"{name} = {value};" for name, value in pairs)  # type: ignore[attr-defined]


def _display(mark: str, ports: tuple[str, ...]) -> str:
    places = "".join(f", dut.{one}" for one in ports)
    return f'$display("{mark}{" %b" * len(ports)}"{places});'


BENCH = """`timescale 1ns/1ps
module {top};
  reg clock = 0;
{registers}
  reg [8*1024-1:0] path;
  integer file, got, idle, waited;
  reg over;
  {module} dut ({wires});

  task tick;
    begin #1 clock = 1; #1 clock = 0; #1 ; end
  endtask

  task rest;  // idle clocks
    begin tick; if ({is_valid}) $display("{unasked}"); end
  endtask

  initial begin
    if ($test$plusargs("ports") != 0) begin
      #1 ;
{port_reports}
      $finish;
    end else begin
      got = $value$plusargs("stimulus=%s", path);
      file = $fopen(path, "r");
      if ($test$plusargs("vcd") != 0) begin $dumpfile("bench.vcd"); $dumpvars(0, dut); end
      {read_held}
      {reset}
      tick; tick;
      {unreset}
      #1 ;
      while ($fscanf(file, " %d", idle) == 1) begin
        {read_event}
        repeat (idle) rest;
        {drive}
        #1 ;
        waited = 0;
        while (!({is_ready}) && waited < {most}) begin rest; waited = waited + 1; end
        if (waited == {most}) begin $display("{stuck}"); $finish; end
        if ({after} == 0) begin
          if ({is_valid}) {answer}
          {end}
          tick;
          {rest}
          #1 ;
        end else begin
          tick;
          {rest}
          #1 ;
          waited = 1; over = 0;
          while (!over) begin
            if ({is_valid}) {answer}
            over = waited >= {after} && ({is_ready});
            if (!over && waited == {most}) begin $display("{stuck}"); $finish; end
            if (!over) begin tick; waited = waited + 1; end
          end
          {end}
        end
      end
      $finish;
    end
  end
endmodule
"""
