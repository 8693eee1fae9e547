"""Ports, links and captures of an OTG configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.otg.otg_reader import Reader

LARGEST_SIZE = 9216
"""Of a frame with FCS (octets)."""
SPEEDS = {
    f"speed_{text}": bits
    for text, bits in {
        "10_fd_mbps": 10**7, "10_hd_mbps": 10**7, "100_fd_mbps": 10**8, "100_hd_mbps": 10**8,
        "1_gbps": 10**9, "10_gbps": 10**10, "25_gbps": 25 * 10**9, "40_gbps": 40 * 10**9,
        "50_gbps": 50 * 10**9, "100_gbps": 10**11, "200_gbps": 2 * 10**11, "400_gbps": 4 * 10**11,
        "800_gbps": 8 * 10**11,
    }.items()
}  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """Interface behind a location: its name, speed (bit/s) and MTU (octets)."""

    name: str
    speed_bps: int
    mtu: int


@dataclass
class OtgPort:
    """A port of the configuration; `speed_bps` is the nominal one."""

    name: str
    location: str
    interface: Interface
    speed_bps: int
    capture: Capture | None = None


@dataclass(frozen=True)
class Capture:
    """Capture at a port: `overwrite` drops the oldest frames of a full buffer, else the newest."""

    overwrite: bool
    packet_size: int
    pcapng: bool


def read_port(port: Reader, interfaces: Mapping[str, Interface], ports: list[OtgPort]) -> None:
    """Add the port of a message; `interfaces` are the locations of this server."""
    name = port.text("name")
    location = port.text("location", name)
    known = [each.location for each in ports]
    if not name or any(name == each.name for each in ports):
        port.refuse("name", name, "a name that no other port has is expected")
    if location not in interfaces:
        port.refuse("location", location, f"{', '.join(interfaces)} are served (--port)")
    elif location in known:
        port.refuse("location", location, "another port has it already")
    else:
        interface = interfaces[location]
        ports.append(OtgPort(name, location, interface, interface.speed_bps))
    port.close()


def port_rows(reader: Reader, key: str, rows: Mapping[str, int]) -> list[int]:
    """Rows of ports that a field names."""
    found = []
    for name in reader.items(key):
        if name not in rows:
            reader.refuse(key, name, f"a port of `ports` is expected: {', '.join(rows)}")
        else:
            found.append(rows[name])
    return found


def read_layer1(
    layer: Reader, rows: Mapping[str, int], ports: Sequence[OtgPort], warnings: list[str]
) -> None:
    """Set the nominal speed of ports; `warnings` has what an interface keeps."""
    named = [ports[row] for row in port_rows(layer, "port_names", rows)]
    speed = layer.text("speed")
    if speed and speed not in SPEEDS:
        layer.refuse("speed", speed, f"one of {', '.join(SPEEDS)} is expected")
    mtu = layer.number("mtu", 1500, 64, 14_000)
    for port in named:
        wanted = SPEEDS.get(speed, port.speed_bps)
        if wanted != port.interface.speed_bps:
            warnings.append(
                f"{layer.at('speed')}: {port.interface.name} stays as it is; {speed} is what "
                "percentages are of"
            )
        port.speed_bps = wanted
        if mtu > port.interface.mtu:
            warnings.append(
                f"{layer.at('mtu')}: {port.interface.name} keeps its MTU, {port.interface.mtu}"
            )
    layer.take("promiscuous")  # sockets of this server always are
    layer.text("name")
    layer.close()


def read_capture(capture: Reader, rows: Mapping[str, int], ports: Sequence[OtgPort]) -> None:
    """Set the capture of ports."""
    form = capture.text("format", "pcap")
    if form not in ("pcap", "pcapng"):
        capture.refuse("format", form, "pcap or pcapng is expected")
    overwrite = capture.take("overwrite", True) is True
    size = capture.number("packet_size", LARGEST_SIZE, 1, 65_535)
    for row in port_rows(capture, "port_names", rows):
        ports[row].capture = Capture(overwrite, min(size, LARGEST_SIZE), form == "pcapng")
    capture.text("name")
    capture.close()
