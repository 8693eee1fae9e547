"""Configuration of the generator, from OTG's `Config`: ports, captures and raw flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.otg.otg_flow import OtgFlow, check_recognition, read_flow
from orchestrator.otg.otg_ports import (
    Interface,
    OtgPort,
    read_capture,
    read_layer1,
    read_port,
)
from orchestrator.otg.otg_reader import OtgError, Reader
from orchestrator.otg.rocev2_config import Rocev2Config, read_rocev2

MOST_FLOWS = 1024


@dataclass
class OtgConfig:
    """All that a configuration asks for; `warnings` are those of the answer."""

    ports: list[OtgPort] = field(default_factory=list)
    flows: list[OtgFlow] = field(default_factory=list)
    roce: Rocev2Config = field(default_factory=Rocev2Config)
    warnings: list[str] = field(default_factory=list)


def read_config(message: object, interfaces: Mapping[str, Interface]) -> OtgConfig:
    """Configuration of a `Config` message; `interfaces` are the locations of this server.

    Raises OtgError, which names every field that is wrong or not supported.
    """
    problems: list[str] = []
    reader = Reader(message, "", problems)
    config = OtgConfig()
    for port in reader.children("ports"):
        read_port(port, interfaces, config.ports)
    rows = {port.name: row for row, port in enumerate(config.ports)}
    for layer in reader.children("layer1"):
        read_layer1(layer, rows, config.ports, config.warnings)
    for capture in reader.children("captures"):
        read_capture(capture, rows, config.ports)
    for flow in reader.children("flows"):
        config.flows.append(read_flow(flow, rows, config.ports))
    if len(config.flows) > MOST_FLOWS:
        reader.refuse("flows", f"{len(config.flows)} flows", f"at most {MOST_FLOWS} are expected")
    for row, one in enumerate(config.flows):
        if any(one.name == other.name for other in config.flows[:row]):
            problems.append(f"flows[{row}].name: {one.name!r} is used twice; names must differ")
    config.roce = read_rocev2(reader, rows, config.ports, {flow.name for flow in config.flows})
    if not problems:
        check_recognition(config.flows, problems)
    reader.close()
    if problems:
        raise OtgError(problems)
    return config
