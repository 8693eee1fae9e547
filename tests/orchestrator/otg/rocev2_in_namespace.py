"""A process in namespaces of its own that runs `tailback otg` at both ends of a relay, which loses
and marks frames, and drives it with an unmodified `snappi` client through RoCEv2 scenarios; tshark
counts on both interfaces. It is started with the name of a scenario, and prints JSON."""

from __future__ import annotations

import json
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from tests.orchestrator.otg.in_namespace import Server, Tshark, failed, main, ports, transmit

PORTS = ("--port", "p1=veth1@1Gb/s", "--port", "p2=veth4@1Gb/s")
FIELDS = (
    *("frame.len", "frame.time_epoch", "eth.src", "eth.dst", "ip.src", "ip.dst", "ip.dsfield.dscp"),
    *("ip.dsfield.ecn", "ip.checksum.status", "udp.srcport", "udp.dstport", "udp.length"),
    *("infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"),
    *("infiniband.bth.a", "infiniband.bth.padcnt", "infiniband.aeth.syndrome"),
    *("infiniband.aeth.msn", "infiniband.reth.va", "infiniband.reth.r_key"),
    *("infiniband.reth.dmalen", "infiniband.invariant.crc"),
)
BTH = 42
DATA = 0x0A
"""Opcodes of data are up to this one."""


class Relay(threading.Thread):
    """Cable from veth2 to veth3 that loses every `lose`-th data frame of `sender` to a queue pair
    and each seventh answer (0: none), and marks the data frames that `mark` numbers."""

    def __init__(self, sender: str, lose: int, mark: range) -> None:
        super().__init__(daemon=True)
        self.sender, self.lose, self.mark = socket.inet_aton(sender), lose, mark
        self.counts = Counter[bytes]()
        self.lost = self.marked = self.answers = 0
        self.sockets = []
        for name in ("veth2", "veth3"):
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            raw.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            raw.bind((name, 3))
            self.sockets.append(raw)
        self.start()

    def run(self) -> None:
        """Relay for as long as the process lasts."""
        while True:
            for raw in select.select(self.sockets, [], [])[0]:
                other = self.sockets[1 - self.sockets.index(raw)]
                if frame := self.relayed(bytearray(raw.recv(10_000))):
                    other.send(frame)

    def relayed(self, frame: bytearray) -> bytearray:
        """The frame, marked or not; nothing where it is lost."""
        if frame[BTH] > DATA:
            self.answers += 1
            return bytearray() if self.lose and self.answers % 7 == 0 else frame
        if frame[26:30] != self.sender:
            return frame
        pair = bytes(frame[BTH + 5 : BTH + 8])
        self.counts[pair] += 1
        if self.lose and self.counts[pair] % self.lose == 0:
            self.lost += 1
            return bytearray()
        if self.counts[pair] in self.mark:
            self.marked += 1
            frame[15] |= 3
            frame[24:26] = bytes(2)
            total = sum(struct.unpack("!10H", frame[14:34]))
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            frame[24:26] = struct.pack("!H", ~total & 0xFFFF)
        return frame


def devices(api: Any, pairs: int = 1) -> Any:
    """A device behind each port with queue pairs to the other one: 10+n left, 20+n right."""
    config = api.config()
    config.ports.port(name="left", location="p1").port(name="right", location="p2")
    for port, mac, mine, other, first in (
        ("left", "02:00:00:00:00:01", "192.0.2.1", "192.0.2.2", 10),
        ("right", "02:00:00:00:00:02", "192.0.2.2", "192.0.2.1", 20),
    ):
        device = config.devices.device(name=port + " device")[-1]
        ethernet = device.ethernets.ethernet(name=port + " ethernet", mac=mac)[-1]
        ethernet.connection.port_name = port
        ethernet.ipv4_addresses.ipv4(name=port + " ip", address=mine, gateway=other)
        interface = device.rocev2.ipv4_interfaces.add()
        interface.ipv4_name = port + " ip"
        peer = interface.peers.add(name=port + " peer", destination_ip_address=other)
        for number in range(pairs):
            of = peer.qps.add(qp_name=f"{port} {number}").connection_type.reliable_connection
            of.source_qp_number, of.udp_source_port = first + number, 50_000 + first + number
    return config


def settings(config: Any, port: str) -> Any:
    """RoCEv2 settings of a port."""
    one = config.options.per_port_options.add(port_name=port)
    return one.protocols.add().rocev2


def add_flows(config: Any, port: str, percentage: int, *flows: tuple[str, str, str]) -> list[Any]:
    """Stateful flows (name, QP, QP) of a port."""
    group = config.stateful_flows.rocev2.add()
    target = group.tx_ports.add(port_name=port).transmit_type.target_line_rate
    target.value = percentage
    return [target.flows.add(name=n, tx_endpoint=t, rx_endpoint=r) for n, t, r in flows]


def metrics(api: Any, *columns: str) -> dict[str, dict[str, Any]]:
    request = api.metrics_request()
    request.rocev2_flow.per_qp.column_names = list(columns)
    found = api.get_metrics(request).rocev2_flow_per_qp_metrics
    return {m.flow_name: m.serialize("dict") for m in found}


def peers(api: Any, *names: str) -> dict[str, dict[str, Any]]:
    request = api.metrics_request()
    request.rocev2_ipv4.per_peer.peer_names = list(names)
    found = api.get_metrics(request).rocev2_ipv4_per_peer_metrics
    return {m.name: m.serialize("dict") for m in found}


def protocols(api: Any, state: str) -> None:
    control = api.control_state()
    control.protocol.all.state = state
    api.set_control_state(control)


def set_peers(server: Server, state: str, *names: str) -> None:
    """Control of some peers, which this client cannot send: its `choice` of protocols lacks it."""
    body = {"protocol": {"rocev2": {"peers": {"state": state, "peer_names": names}}}}
    url = f"{server.address()}/control/state"
    with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=60) as answer:
        assert answer.status == 200


def counts(api: Any) -> list[list[int]]:
    return [[int(m["frames_tx"]), int(m["frames_rx"])] for m in ports(api).values()]


def run_for(api: Any, seconds: float) -> None:
    transmit(api, "start")
    time.sleep(seconds)
    transmit(api, "stop")
    before, now = None, counts(api)
    while before != now:  # frames under way, and those that wait in the relay
        time.sleep(1.0)
        before, now = now, counts(api)


def counted() -> dict[str, Any]:
    """Two flows to the right, one lossy and marked as the other is, and one to the left."""
    import snappi

    server = Server(*PORTS)
    api = snappi.api(location=server.address())
    config = devices(api, 3)
    pair = config.devices[0].rocev2.ipv4_interfaces[0].peers[0].qps[0]
    of = pair.connection_type.reliable_connection
    of.dscp, of.ecn, of.initial_psn = 26, "ect_0", (1 << 24) - 100
    there = config.devices[1].rocev2.ipv4_interfaces[0].peers[0].qps[0]
    of = there.connection_type.reliable_connection
    of.virtual_address, of.remote_key = "F00000000000BEEF", "CAFE0001"
    for port in ("left", "right"):
        ports_own = settings(config, port)
        ports_own.dcqcn_settings.enable_dcqcn = False
        ports_own.cnp.ip_dscp.value, ports_own.cnp.ecn_value = 46, "non_ect"
        ports_own.cnp.cnp_delay_timer = 250
        answers = ports_own.connection_type.reliable_connection
        answers.ack.ip_dscp.value, answers.nak.ip_dscp.value = 10, 12
        answers.retransmission_timeout_value = 100
    ends = [(f"there {n}", f"left {n}", f"right {n}") for n in (0, 1)]
    write, send = add_flows(config, "left", 1, *ends)
    write.message_size, write.message_size_unit = 10, "kb"
    send.message_size, send.message_size_unit = 1, "bytes"
    send.rocev2_verb.choice = "send"
    (back,) = add_flows(config, "right", 1, ("back", "right 2", "left 2"))
    back.message_size, back.message_size_unit = 2049, "bytes"
    api.set_config(config)
    relay = Relay("192.0.2.1", lose=97, mark=range(50, 400))
    with tempfile.TemporaryDirectory() as folder:
        left, right = Tshark("veth1", folder), Tshark("veth4", folder)
        run_for(api, 1.0)
        found = {"flows": metrics(api), "ports": ports(api), "peers": peers(api)}
        found["left"], found["right"] = left.frames(FIELDS), right.frames(FIELDS)
    found["relay"] = [relay.lost, relay.marked]
    found["columns"] = metrics(api, "cnp_rx", "data_frames_tx")
    found["code"] = server.end()
    return found


def controlled() -> dict[str, Any]:
    """DCQCN over gRPC: the rate with the first CNP, and the least rate; peers that are down."""
    import snappi

    server = Server(*PORTS, "--grpc", "0")
    api = snappi.api(location=server.address("gRPC at "), transport="grpc")
    relay = Relay("192.0.2.1", 0, range(1000, 1 << 40))
    found: dict[str, Any] = {"rates": {}}
    for name, first, least, cut in (("first", 1.5, 0.1, 0), ("least", 0.0, 3.0, 100)):
        config = devices(api)
        own = settings(config, "left")
        own.connection_type.reliable_connection.retransmission_timeout_value = 2000
        dcqcn = own.dcqcn_settings
        dcqcn.initial_rate_after_first_cnp, dcqcn.minimum_rate_limmit = first, least
        dcqcn.maximum_rate_decrement_at_time, dcqcn.rate_increment_time = cut, 10**7
        dcqcn.additive_increment_rate = dcqcn.hyper_increment_rate = 0.0
        dcqcn.clamp_target_rate = True
        add_flows(config, "left", 5, ("flow", "left 0", "right 0"))
        config.options.protocol_options.auto_start_all = False
        api.set_config(config)
        found["down"] = [peers(api, "left peer"), failed(transmit, api, "start")]
        protocols(api, "start")
        relay.counts.clear()
        with tempfile.TemporaryDirectory() as folder:
            right = Tshark("veth4", folder)
            run_for(api, 1.5)
            frames = right.frames(("frame.len", "frame.time_epoch", "ip.src", "ip.dsfield.ecn"))
        found["rates"][name] = [metrics(api)["flow"], frames]
    protocols(api, "stop")
    found["stopped"] = peers(api)
    protocols(api, "start")
    set_peers(server, "down", "right peer")
    found["up"] = peers(api)
    found["code"] = server.end()
    return found


def unanswered() -> dict[str, Any]:
    """A relay that loses every data frame: retries, and a connection that fails; pause, resume."""
    import snappi

    server = Server(*PORTS)
    api = snappi.api(location=server.address())
    config = devices(api)
    of = settings(config, "left").connection_type.reliable_connection
    of.retransmission_timeout_value, of.retransmission_retry_count = 20, 2
    (flow,) = add_flows(config, "left", 1, ("flow", "left 0", "right 0"))
    flow.message_size, flow.message_size_unit = 1, "kb"
    api.set_config(config)
    relay = Relay("192.0.2.1", 1, range(0))
    run_for(api, 0.6)
    found: dict[str, Any] = {"failed": metrics(api)["flow"], "peers": peers(api)}
    relay.lose = 0
    transmit(api, "start", ["flow"])
    time.sleep(0.3)
    transmit(api, "pause")
    time.sleep(0.2)
    found["paused"] = [metrics(api)["flow"]]
    time.sleep(0.3)
    found["paused"].append(metrics(api)["flow"])
    transmit(api, "resume")
    time.sleep(0.3)
    transmit(api, "stop")
    time.sleep(0.1)
    found["resumed"] = metrics(api)["flow"]
    flow.rocev2_verb.choice = "read"
    of.retransmission_retry_count = 9
    found["unsupported"] = failed(api.set_config, config)
    request = api.metrics_request()
    request.rocev2_ipv4.per_peer.column_names = ["connect_request_tx"]
    found["columns"] = failed(api.get_metrics, request)
    found["code"] = server.end()
    return found


def page() -> dict[str, Any]:
    """The script of the page, as it stands there, over a cable alone."""
    script = Path("docs/otg.md").read_text("utf-8").split("```python\n")[2].split("```")[0]
    script = script.replace("print(metric)", "print(metric.serialize())")
    ends = ("--port", "p1=veth1@1Gb/s", "--port", "p2=veth2@1Gb/s")
    server = Server(*ends, "--listen", "127.0.0.1:8443")
    server.address()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return {"out": done.stdout, "err": done.stderr, "code": server.end()}


if __name__ == "__main__":
    scenarios = {f.__name__: f for f in (counted, controlled, unanswered, page)}
    main(scenarios[sys.argv[1]], (("veth1", "veth2"), ("veth3", "veth4")))
