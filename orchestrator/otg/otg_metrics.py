"""Exporter of an Open Traffic Generator server for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.engine.histogram import BINS, percentile_ps
from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.run_readings import Reading
from orchestrator.otg.otg_service import STATES, OtgService

PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


class OtgExporter:
    """Exporter of one server; `readings` is called by the endpoint's thread."""

    def __init__(self, service: OtgService) -> None:
        self._service = service

    def readings(self) -> Iterator[Reading]:
        """Current readings of ports, flows and the loop."""
        with self._service.lock:
            yield from list(self._readings())

    def _readings(self) -> Iterator[Reading]:
        generator = self._service.generator
        config, state = generator.config, generator.state
        for port, counts in zip(config.ports, state.ports.copy(), strict=True):
            labels = port.name, port.interface.name
            for direction in ("sent", "received"):
                named = (*labels, direction)
                yield process.OTG_PORT_FRAMES, named, float(counts[direction])
                yield process.OTG_PORT_BYTES, named, float(counts[f"{direction}_octets"])
            yield process.OTG_PORT_REFUSED, labels, float(counts["unsent"])
        for flow, counts in zip(config.flows, state.flows.copy(), strict=True):
            labels = flow.name, config.ports[flow.sender].name
            current = STATES[int(counts["state"])]
            for word in STATES.values():
                yield process.OTG_FLOW_STATE, (*labels, word), float(word == current)
            for direction in ("sent", "received"):
                yield process.OTG_FLOW_FRAMES, (*labels, direction), float(counts[direction])
            yield process.OTG_FLOW_LOST, labels, float(counts["lost"])
            yield process.OTG_FLOW_REORDERED, labels, float(counts["reordered"])
            yield process.OTG_FLOW_MISDIRECTED, labels, float(counts["misdirected"])
            yield process.OTG_FLOW_SKIPPED, labels, float(counts["skipped"])
            if count := int(counts["latency_count"]):
                for word, total in (
                    ("min", counts["latency_min_ns"]),
                    ("mean", counts["latency_sum_ns"] / count),
                    ("max", counts["latency_max_ns"]),
                ):
                    yield process.OTG_FLOW_LATENCY, (*labels, word), float(total) / 1e9
        lateness = state.lateness.copy()
        if lateness[:BINS].any():
            for word, share in PERCENTILES.items():
                yield process.OTG_LATENESS, (word,), percentile_ps(lateness, share) / 1e12
            yield process.OTG_LATENESS, ("max",), float(lateness[BINS]) / 1e12
