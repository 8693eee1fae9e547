"""A process in namespaces of its own that runs `tailback otg` on a veth pair and drives it with
an unmodified `snappi` client; tshark counts on both interfaces. It is started with the name of a
scenario, and prints JSON."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator import python_command
from orchestrator.targets.software.isolation import isolate

PORTS = ("--port", "p1=veth1@10Gb/s", "--port", "p2=veth2@10Gb/s")
TOKEN = "0123456789abcdef-token"
FIELDS = (
    *("frame.len", "frame.time_epoch", "eth.type", "vlan.id", "ip.src", "ipv6.dst"),
    *("udp.dstport", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.checksum.status"),
    *("udp.checksum.status", "macc.opcode", "macc.cbfc.pause_time.c3", "macc.pause_time"),
)


STARTED: list[subprocess.Popen[str]] = []
"""Processes that end with this one."""


class Server:
    """`tailback otg`, until it is ended."""

    def __init__(self, *words: str) -> None:
        line = python_command.module("orchestrator.cli.__main__", "otg", "--listen", "0", *words)
        self.process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        STARTED.append(self.process)
        self.lines: list[str] = []

    def address(self, words: str = "OTG at ") -> str:
        """The address that stderr has behind these words."""
        assert self.process.stderr is not None
        while not (found := [line for line in self.lines if words in line]):
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(self.lines)
            self.lines.append(line)
        return found[0].split(words)[1].strip()

    def end(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode


class Tshark:
    """tshark on an interface, until it is read."""

    def __init__(self, interface: str, folder: str) -> None:
        self.path = Path(folder) / f"{interface}.pcapng"
        line = ["tshark", "-i", interface, "-q", "-w", str(self.path)]
        self.process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        STARTED.append(self.process)
        assert self.process.stderr is not None
        while "Capturing on" not in (line_ := self.process.stderr.readline()):
            assert line_, "tshark did not begin"
        until = time.monotonic() + 20
        while not self.path.exists() or self.path.stat().st_size < 100:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.3)

    def frames(self, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
        """End it; the fields of all frames that the interface received or sent."""
        time.sleep(0.5)
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return dissected(self.path, fields)


def dissected(path: Path, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
    """Fields of all frames of a capture file, by tshark."""
    line = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|"]
    line += ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    known = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True).stdout
    names = [name for name in fields if f"\t{name}\t" in known]
    for name in names:
        line += ["-e", name]
    out = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return [dict(zip(names, row.split("|"), strict=True)) for row in out.splitlines()]


def two_ports(api: Any) -> Any:
    config = api.config()
    config.ports.port(name="left", location="p1").port(name="right", location="p2")
    return config


def add_flow(config: Any, name: str, ends: tuple[str, str], frames: int, pps: int) -> Any:
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name = ends[0]
    flow.tx_rx.port.rx_names = [ends[1]]
    flow.rate.pps = pps
    flow.duration.fixed_packets.packets = frames
    flow.metrics.enable = True
    flow.metrics.loss = True
    return flow


def transmit(api: Any, state: str, names: list[str] | None = None) -> None:
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    control.traffic.flow_transmit.flow_names = names or []
    api.set_control_state(control)


def capture(api: Any, state: str) -> None:
    control = api.control_state()
    control.port.capture.state = state
    api.set_control_state(control)


def flows(api: Any) -> dict[str, Any]:
    request = api.metrics_request()
    request.flow.flow_names = []
    return {m.name: m.serialize("dict") for m in api.get_metrics(request).flow_metrics}


def ports(api: Any) -> dict[str, Any]:
    request = api.metrics_request()
    request.port.port_names = []
    return {m.name: m.serialize("dict") for m in api.get_metrics(request).port_metrics}


def finish(api: Any, but: tuple[str, ...] = ()) -> None:
    """Wait until all flows have stopped, and their frames have come."""
    until = time.monotonic() + 30
    while any(m["transmit"] != "stopped" for n, m in flows(api).items() if n not in but):
        assert time.monotonic() < until, flows(api)
        time.sleep(0.05)
    time.sleep(0.2)


def failed(function: Any, *arguments: Any) -> list[Any]:
    """Code and sentences of a call that fails."""
    try:
        function(*arguments)
    except Exception as error:
        return [error.args[0].code, list(error.args[0].errors or [])]
    return [0, []]


def usual() -> dict[str, Any]:
    """A flow each way, one over IPv6, a PFC storm; captures; errors of the server."""
    import snappi

    server = Server(*PORTS, "--metrics", "0")
    api = snappi.api(location=server.address(), verify=False)
    config = two_ports(api)
    there = add_flow(config, "there", ("left", "right"), 400, 1000)
    eth, vlan, ip, udp = there.packet.ethernet().vlan().ipv4().udp()
    eth.src.value, eth.dst.value, vlan.id.value = "00:11:22:33:44:55", "00:11:22:33:44:66", 7
    ip.src.increment.start, ip.src.increment.count = "10.0.0.1", 5
    ip.priority.dscp.phb.value, ip.priority.dscp.ecn.value = 26, 1
    udp.dst_port.values = [4791, 4792]
    there.size.fixed = 128
    there.metrics.latency.enable = True
    back = add_flow(config, "back", ("right", "left"), 300, 800)
    _, ip6, udp6 = back.packet.ethernet().ipv6().udp()
    ip6.dst.value, udp6.dst_port.value = "2001:db8::7", 9
    back.size.random.min, back.size.random.max = 90, 1500
    back.metrics.latency.enable = True
    storm = add_flow(config, "storm", ("left", "right"), 1, 500)
    pause = storm.packet.pfcpause()[-1]
    pause.class_enable_vector.value, pause.pause_class_3.value = 8, 0xFFFF
    storm.duration.continuous.delay.microseconds = 1.0
    taken = config.captures.capture(name="taken")[-1]
    taken.port_names, taken.format = ["right"], "pcapng"
    with tempfile.TemporaryDirectory() as folder:
        left, right = Tshark("veth1", folder), Tshark("veth2", folder)
        api.set_config(config)
        capture(api, "start")
        transmit(api, "start")
        finish(api, ("storm",))
        storming = flows(api)["storm"]
        transmit(api, "stop", ["storm"])
        finish(api)
        capture(api, "stop")
        request = api.capture_request()
        request.port_name = "right"
        file = Path(folder) / "got.pcapng"
        file.write_bytes(api.get_capture(request).read())
        found = {"flows": flows(api), "ports": ports(api), "storming": storming["transmit"]}
        found["back config"] = [flow.name for flow in api.get_config().flows]
        found["tshark"] = {"left": left.frames(), "right": right.frames(), "got": dissected(file)}
        found["again"] = replayed(api, file)
    found["metrics"] = scraped(server)
    config.flows[0].packet.tcp()
    config.flows[1].rate.pps = 10
    config.flows[1].payload.choice = "increment_byte"
    found["unsupported"] = failed(api.set_config, config)
    found["after"] = list(flows(api))
    found["code"] = server.end()
    return found


def replayed(api: Any, file: Path) -> Any:
    """Send an old frame of `there` once more, from outside of the generator."""
    import dpkt

    frames = [octets for _, octets in dpkt.pcapng.Reader(file.open("rb"))]
    (frame, *_) = [octets for octets in frames if octets[12:14] == b"\x81\0"]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
        raw.bind(("veth1", 0))
        raw.send(frame)
    time.sleep(0.2)
    return flows(api)["there"]["frames_rx"]


def scraped(server: Server) -> str:
    with urllib.request.urlopen(server.address("metrics at "), timeout=60) as answer:
        return str(answer.read().decode())


def matrix() -> dict[str, Any]:
    """PFC at rates × quanta; bursts; PAUSE; pause and resume."""
    import snappi

    server = Server(*PORTS, "--grpc", "0")
    api = snappi.api(location=server.address("gRPC at "), transport="grpc")
    cells = {}
    with tempfile.TemporaryDirectory() as folder:
        right = Tshark("veth2", folder)
        for pps in (250, 1000):
            for quanta in (100, 65_535):
                config = two_ports(api)
                flow = add_flow(config, "pfc", ("left", "right"), 50, pps)
                pause = flow.packet.pfcpause()[-1]
                pause.class_enable_vector.value, pause.pause_class_3.value = 8, quanta
                api.set_config(config)
                transmit(api, "start")
                finish(api)
                cells[f"{pps} {quanta}"] = flows(api)["pfc"]
        config = two_ports(api)
        bursts = add_flow(config, "bursts", ("left", "right"), 1, 2000)
        bursts.packet.ethernet().ipv4().udp()[2].dst_port.value = 77
        bursts.duration.burst.bursts, bursts.duration.burst.packets = 4, 10
        bursts.duration.burst.inter_burst_gap.microseconds = 100_000
        bursts.size.increment.start, bursts.size.increment.end = 100, 140
        bursts.size.increment.step = 20
        plain = add_flow(config, "plain", ("left", "right"), 30, 100)
        plain.packet.ethernetpause()[-1].time.value = 0xABC
        timed = add_flow(config, "timed", ("right", "left"), 1, 1)
        timed.packet.ethernet()[-1].ether_type.value = 0x88B5
        timed.rate.percentage, timed.size.fixed = 0.01, 1230  # 100 frames/s of 10 Gb/s
        timed.duration.fixed_seconds.seconds = 0.5
        api.set_config(config)
        transmit(api, "start")
        transmit(api, "pause", ["plain"])
        held = [flows(api)["plain"]]
        time.sleep(0.4)
        held.append(flows(api)["plain"])
        transmit(api, "resume", ["plain"])
        finish(api)
        found = {"cells": cells, "flows": flows(api), "held": held, "frames": right.frames()}
    config.layer1.layer1(name="l", port_names=["left"], speed="speed_100_gbps")
    warned = api.set_config(config)
    found["warnings"] = list(warned.warnings)
    config.layer1[0].auto_negotiate = False
    config.layer1[0].flow_control.directed_address = "01:80:C2:00:00:01"
    found["unsupported"] = failed(api.set_config, config)
    found["update"] = failed(api.update_config, api.config_update())
    found["code"] = server.end()
    return found


def walk() -> dict[str, Any]:
    """The script of the page, as it stands there."""
    text = Path("docs/otg.md").read_text("utf-8")
    script = text.split("```python\n")[1].split("```")[0]
    server = Server(*PORTS, "--listen", "127.0.0.1:8443")
    server.address()
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-c", script]
        done = subprocess.run(line, capture_output=True, text=True, timeout=200, cwd=folder)
        found = {"out": done.stdout, "err": done.stderr}
        found["frames"] = dissected(Path(folder) / "right.pcapng")
    server.end()
    return found


def guarded() -> dict[str, Any]:
    """TLS and a token; addresses and options that are refused."""
    import snappi

    with tempfile.TemporaryDirectory() as folder:
        cert, key, token = (str(Path(folder) / name) for name in ("cert.pem", "key.pem", "token"))
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        make += ["-nodes", "-subj", "/CN=localhost", "-days", "1", "-keyout", key, "-out", cert]
        subprocess.run(make, check=True, capture_output=True)
        Path(token).write_text(TOKEN + "\n")
        tls = ("--tls-cert", cert, "--tls-key", key)
        server = Server(*PORTS, "--token-file", token, *tls)
        address = server.address()
        found: dict[str, Any] = {"scheme": address.split("://")[0]}
        for name, user in (("none", ""), ("wrong", "otg:x@"), ("right", f"otg:{TOKEN}@")):
            api = snappi.api(location=address.replace("://", f"://{user}"), verify=False)
            found[name] = failed(api.set_config, two_ports(api))
        api.set_config(two_ports(api))
        found["version"] = api.get_version().serialize("dict")
        found["second"] = denied("p1=veth1@10Gb/s")
        found["code"] = server.end()
    found["unknown"] = refused("--port", "p1=nothere@1Gb/s")
    found["speed"] = denied("p1=veth1")
    found["loopback"] = denied("p1=lo@1Gb/s", in_use=True)
    return found


def refused(*words: str) -> list[Any]:
    """Exit code and stderr of a command that does not serve."""
    line = python_command.module("orchestrator.cli.__main__", "otg", "--listen", "0", *words)
    done = subprocess.run(line, capture_output=True, text=True, timeout=100)
    return [done.returncode, done.stderr]


def denied(text: str, *, in_use: bool = False) -> list[Any]:
    """Exit code and sentence of a port that cannot be opened."""
    from orchestrator.errors import TailbackError
    from orchestrator.otg.port_interfaces import opened_ports, parse_ports

    try:
        with opened_ports(parse_ports([text]), in_use=in_use):
            return [0, ""]
    except TailbackError as error:
        return [error.exit_code, str(error)]


def main(scenario: Callable[[], dict[str, Any]], pairs: tuple[tuple[str, str], ...]) -> None:
    """Make the namespaces and veth pairs; run the scenario."""
    isolate()
    from pyroute2 import IPRoute

    for name in ("all", "default"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    with IPRoute() as netlink:
        for name, other in pairs:
            netlink.link("add", kind="veth", ifname=name, peer={"ifname": other})
        for name in ("lo", *(name for pair in pairs for name in pair)):
            netlink.link("set", index=socket.if_nametoindex(name), state="up")
    try:
        print(json.dumps(scenario()))
        sys.stdout.flush()
    finally:
        for process in STARTED:
            process.kill()
    os._exit(0)


if __name__ == "__main__":
    scenarios = {"usual": usual, "matrix": matrix, "guarded": guarded, "walk": walk}
    main(scenarios[sys.argv[1]], (("veth1", "veth2"),))
