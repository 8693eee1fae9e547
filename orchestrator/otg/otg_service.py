"""Calls of the OTG model on the generator, as dicts of its JSON form; transports stand on this."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator import __version__
from orchestrator.engine.records import NONE
from orchestrator.otg.generator import Generator
from orchestrator.otg.generator_state import PAUSED, STARTED, STOPPED
from orchestrator.otg.otg_config import read_config
from orchestrator.otg.otg_flow import OVERHEAD
from orchestrator.otg.otg_reader import OtgError, Reader
from orchestrator.otg.rocev2_metrics import PAIR_COLUMNS, PEER_COLUMNS, pair_metrics, peer_metrics
from orchestrator.testbed.agent import ethtool

Message = dict[str, Any]
STATES = {STOPPED: "stopped", STARTED: "started", PAUSED: "paused"}
CAPTURED = "a port of the config's `captures` is expected"
SENT, SENT_OCTETS, RECEIVED, RECEIVED_OCTETS = range(4)


class OtgService:
    """The calls; one at a time. Each raises OtgError for a request that cannot be served."""

    def __init__(self, generator: Generator, api_version: str) -> None:
        self.generator = generator
        self.lock = threading.RLock()
        self._api_version = api_version
        self._message: Message = {}

    def set_config(self, message: Message) -> Message:
        """SetConfig: replace the configuration."""
        with self.lock:
            config = read_config(message, self.generator.interfaces)
            self.generator.configure(config)
            self._message = message
            return {"warnings": config.warnings}

    def get_config(self) -> Message:
        """GetConfig: the configuration as it was set."""
        return self._message

    def get_version(self) -> Message:
        """GetVersion: the version of the model, and tailback's."""
        version = self._api_version
        return {
            "api_spec_version": version,
            "sdk_version": version,
            "app_version": f"tailback {__version__}",
        }

    def unsupported(self, call: str) -> Callable[..., Message]:
        """A call that this server does not have."""

        def refuse(*_: object) -> Message:
            raise OtgError([f"{call} is not supported; set_config replaces the configuration"])

        return refuse

    def set_control_state(self, message: Message) -> Message:
        """SetControlState: start, stop, pause and resume flows; start and stop captures; bring
        RoCEv2 peers up and down."""
        problems: list[str] = []
        state = Reader(message, "", problems)
        with self.lock:
            chosen = state.choice(["traffic", "port", "protocol"], "traffic")
            served = {
                "traffic": self._traffic,
                "port": self._capture,
                "protocol": self._protocol,
            }
            action = served[chosen](state.child(chosen))
            state.close()
            if problems:
                raise OtgError(problems)
            action()
        return {"warnings": []}

    def _traffic(self, traffic: Reader) -> Callable[[], None]:
        traffic.choice(["flow_transmit"], "flow_transmit")
        transmit = traffic.child("flow_transmit")
        config = self.generator.config
        names = [flow.name for flow in config.flows] + [flow.name for flow in config.roce.flows]
        rows = _rows(transmit, "flow_names", names)
        word = transmit.text("state")
        actions = {
            "start": self.generator.start,
            "stop": self.generator.stop,
            "pause": self.generator.pause,
            "resume": self.generator.resume,
        }
        if word not in actions:
            transmit.refuse("state", word, f"one of {', '.join(actions)} is expected")
        transmit.close()
        traffic.close()
        return lambda: actions[word](rows)

    def _protocol(self, protocol: Reader) -> Callable[[], None]:
        """Control of RoCEv2 peers, of all protocols or by their names."""
        names = list(self.generator.config.roce.peers)
        chosen = protocol.choice(["all", "rocev2"], "all")
        body, words = protocol.child(chosen), ("start", "stop")
        if chosen == "rocev2":
            body.choice(["peers"], "peers")
            body, outer, words = body.child("peers"), body, ("up", "down")
            outer.close()
        rows = _rows(body, "peer_names", names)
        word = body.text("state")
        if word not in words:
            body.refuse("state", word, f"{words[0]} or {words[1]} is expected")
        body.close()
        protocol.close()
        return lambda: self.generator.set_peers([names[row] for row in rows], word == words[0])

    def _capture(self, port: Reader) -> Callable[[], None]:
        port.choice(["capture"], "capture")
        capture = port.child("capture")
        names = [each.name for each in self.generator.config.ports]
        given = capture.has("port_names")
        rows = _rows(capture, "port_names", names)
        able = [row for row in rows if self.generator.has_capture(row)]
        if given and (lacking := [names[row] for row in rows if row not in able]):
            capture.refuse("port_names", lacking[0], CAPTURED)
        word = capture.text("state")
        if word not in ("start", "stop"):
            capture.refuse("state", word, "start or stop is expected")
        capture.close()
        port.close()
        return lambda: self.generator.capture(able, word == "start")

    def get_capture(self, message: Message) -> bytes:
        """GetCapture: the capture file of a port."""
        problems: list[str] = []
        request = Reader(message, "", problems)
        name = request.text("port_name")
        request.close()
        with self.lock:
            ports = self.generator.config.ports
            row = next((row for row, port in enumerate(ports) if port.name == name), NONE)
            if row == NONE or not self.generator.has_capture(row):
                request.refuse("port_name", name, CAPTURED)
            if problems:
                raise OtgError(problems)
            return self.generator.captured(row)

    def get_metrics(self, message: Message) -> Message:
        """GetMetrics: of ports, flows, RoCEv2 peers or flows of queue pairs."""
        problems: list[str] = []
        request = Reader(message, "", problems)
        options = ["port", "flow", "rocev2_ipv4", "rocev2_flow"]
        chosen = request.choice(options, "port")
        body = request.child(chosen)
        if chosen.startswith("rocev2"):
            return self._rocev2_metrics(chosen, body, request)
        with self.lock:
            generator = self.generator
            entities: Sequence[Any] = (
                generator.config.ports if chosen == "port" else generator.config.flows
            )
            rows = _rows(body, f"{chosen}_names", [each.name for each in entities])
            columns = body.items("column_names" if chosen == "port" else "metric_names")
            body.close()
            request.close()
            if problems:
                raise OtgError(problems)
            flow_rates, port_rates = generator.rates()
            if chosen == "port":
                found = [self._port_metrics(row, port_rates[row].tolist()) for row in rows]
            else:
                found = [
                    self._flow_metrics(row, flow_rates[row].tolist())
                    for row in rows
                    if generator.config.flows[row].metrics
                ]
        if columns:
            found = [{k: v for k, v in one.items() if k in ("name", *columns)} for one in found]
        return {"choice": f"{chosen}_metrics", f"{chosen}_metrics": found}

    def _rocev2_metrics(self, chosen: str, outer: Reader, request: Reader) -> Message:
        of_peers = chosen == "rocev2_ipv4"
        entity, columns = ("peer", PEER_COLUMNS) if of_peers else ("qp", PAIR_COLUMNS)
        outer.choice([f"per_{entity}"], f"per_{entity}")
        body = outer.child(f"per_{entity}")
        wanted = body.items("column_names")
        for name in wanted:
            if name not in columns:
                body.refuse("column_names", name, f"{', '.join(columns)} are supported")
        with self.lock:
            generator = self.generator
            names = list(generator.config.roce.peers)
            rows = _rows(body, "peer_names", names) if of_peers else []
            for reader in (body, outer, request):
                reader.close()
            if request.problems:
                raise OtgError(request.problems)
            found = (
                peer_metrics(generator, [names[row] for row in rows])
                if of_peers
                else pair_metrics(generator)
            )
        keys = ("name", "flow_name", *(wanted or columns))
        key = f"{chosen}_per_{entity}_metrics"
        return {"choice": key, key: [{k: v for k, v in m.items() if k in keys} for m in found]}

    def _port_metrics(self, row: int, rates: list[float]) -> Message:
        port, counts = self.generator.config.ports[row], self.generator.state.ports[row].copy()
        flows = *self.generator.state.flows, *self.generator.state.roce.pairs
        running = any(int(flow["state"]) == STARTED and int(flow["port"]) == row for flow in flows)
        carrier = ethtool.flags(port.interface.name) & ethtool.RUNNING
        return {
            "name": port.name,
            "location": port.location,
            "link": "up" if carrier else "down",
            "capture": "started" if counts["capturing"] else "stopped",
            "frames_tx": int(counts["sent"]),
            "frames_rx": int(counts["received"]),
            "bytes_tx": int(counts["sent_octets"]),
            "bytes_rx": int(counts["received_octets"]),
            "frames_tx_rate": rates[SENT],
            "frames_rx_rate": rates[RECEIVED],
            "bytes_tx_rate": rates[SENT_OCTETS],
            "bytes_rx_rate": rates[RECEIVED_OCTETS],
            "transmit": "started" if running else "stopped",
            "speed": port.speed_bps,
        }

    def _flow_metrics(self, row: int, rates: list[float]) -> Message:
        generator = self.generator
        flow, counts = generator.config.flows[row], generator.state.flows[row].copy()
        sent, received = int(counts["sent"]), int(counts["received"])
        ports = generator.config.ports
        found: Message = {
            "name": flow.name,
            "port_tx": ports[flow.sender].name,
            "port_rx": ", ".join(ports[each].name for each in flow.receivers),
            "transmit": STATES[int(counts["state"])],
            "frames_tx": sent,
            "frames_rx": received,
            "bytes_tx": int(counts["sent_octets"]),
            "bytes_rx": int(counts["received_octets"]),
            "frames_tx_rate": rates[SENT],
            "frames_rx_rate": rates[RECEIVED],
        }
        for end, frames, octets in (("tx", SENT, SENT_OCTETS), ("rx", RECEIVED, RECEIVED_OCTETS)):
            bits = rates[octets] * 8
            found[f"{end}_l1_rate_bps"] = bits + rates[frames] * OVERHEAD * 8
            found[f"{end}_rate_bytes"] = rates[octets]
            found |= {
                f"{end}_rate_{unit}bps": bits / size
                for unit, size in (("", 1), ("k", 1e3), ("m", 1e6))
            }
        if flow.loss:
            found["loss"] = max(sent - received, 0) * 100.0 / sent if sent else 0.0
        if flow.latency and (count := int(counts["latency_count"])):
            found["latency"] = {
                "minimum_ns": float(counts["latency_min_ns"]),
                "maximum_ns": float(counts["latency_max_ns"]),
                "average_ns": float(counts["latency_sum_ns"]) / count,
            }
        if flow.timestamps and received:
            found["timestamps"] = {
                "first_timestamp_ns": float(counts["first_ns"]),
                "last_timestamp_ns": float(counts["last_ns"]),
            }
        return found


def _rows(reader: Reader, key: str, names: Sequence[str]) -> list[int]:
    """Rows of entities that a field names; all where it names none."""
    given = reader.items(key)
    for name in given:
        if name not in names:
            reader.refuse(key, name, f"one of {', '.join(names) or 'none, as none is set'} is")
    return [row for row, name in enumerate(names) if not given or name in given]
