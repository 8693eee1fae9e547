"""Cables of external devices: the local interface that leads to each of their ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import BadInput, Problem, Refused
from orchestrator.plan import Plan
from orchestrator.plan.external_nodes import facing
from orchestrator.plan.input_problems import Clash, unknown
from orchestrator.targets.software.kernel_refusals import WHO

PAGE = "docs/dut.md"


@dataclass(frozen=True)
class Cable:
    """From an interface of this machine to a port of a device, both by name."""

    device: str
    port: str
    """As in results: sw.sink."""
    ours: str
    """Our port at this end: sink.sw."""
    interface: str

    def __str__(self) -> str:
        return f"{self.port} ({self.interface})"


def cables(plan: Plan, named: Mapping[str, Mapping[str, str]] | None) -> list[Cable]:
    """Every cable of a plan's devices; `named`: device -> what it calls a port -> interface.

    Raises Refused where a port has none, BadInput for what the plan does not have, or has twice.
    """
    wanted, said = facing(plan), named or {}
    problems: list[Problem] = []
    taken: dict[str, str] = {}
    for device, ports in said.items():
        if device not in wanted:
            problems.append(unknown(f"external.{device}", "external node", device, wanted))
            continue
        known = [port.partition(".")[2] for port in wanted[device]]
        for port, interface in ports.items():
            where = f"external.{device}.ports.{port}"
            if port not in known:
                problems.append(unknown(where, f"port of {device}", port, known))
            if interface in taken:
                text = f"{interface} leads to {taken[interface]} already; it has one end"
                problems.append(Clash(where, interface, text))
            taken.setdefault(interface, f"{device}.{port}")
            if ":" in interface:
                text = "it is on a machine with an agent; an interface of this one is expected here"
                problems.append(Clash(where, interface, f"{text}, or --controller"))
    if problems:
        raise BadInput("external", problems)
    found = []
    for device, ports in wanted.items():
        for port, ours in ports.items():
            name = port.partition(".")[2]
            mine = said.get(device, {})
            if name not in mine:
                raise _unnamed(device, [p.partition(".")[2] for p in ports], mine)
            found.append(Cable(device, port, ours, mine[name]))
    return found


def _unnamed(device: str, ports: list[str], said: Mapping[str, str]) -> Refused:
    lacking = [port for port in ports if port not in said]
    options = " ".join(f"--external {device}.{port}=INTERFACE" for port in lacking)
    return Refused(
        WHO,
        f"{device} is external, and no interface is named that leads to its "
        f"{'ports' if len(lacking) > 1 else 'port'} {', '.join(lacking)}",
        f"Remedy: {options}, or [external.{device}] in --testbed FILE ({PAGE}).",
    )
