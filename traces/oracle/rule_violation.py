"""Finding: the first frame of a node that violates a rule, with the expected frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.address_index import mac_text
from orchestrator.engine.frames.type_registry import registered_types
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from traces.oracle.conformance_rules import RULES
from traces.oracle.diagnosis import Diagnosis
from traces.oracle.node_check import FIELDS, Deviation, Expected, SeenFrame

KINDS = {DATA: "data", CNM: "message", PAUSE: "PAUSE", PFC: "PFC"}


@dataclass
class Finding:
    """A deviation, the rule that it violates, and the reference's states before it."""

    departure: Deviation
    diagnosis: Diagnosis
    trace: tuple[str, np.ndarray] | None

    @property
    def time_ns(self) -> int:
        """Time since the run began."""
        return self.departure.time_ns

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self.diagnosis.rule

    def frames(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Expected and captured frame, field by field."""
        expected, seen = self.departure.expected, self.departure.seen
        return (
            None if expected is None else described(expected.frame, expected.due_ps / 1000),
            None if seen is None else described(seen.frame, seen.time_ns) | {"number": seen.number},
        )

    def values(self) -> tuple[str, str]:
        """Expected and seen, in the one thing that differs."""
        expected, seen = self.frames()
        what = self.departure.what
        if expected is not None and seen is not None and what in expected:
            unit = " B" if what in ("offset", "delta", "length") else ""
            return f"{expected[what]}{unit}", f"{seen[what]}{unit}"
        if what == "time" and expected is not None and seen is not None:
            return f"{expected['time_s']:.9f} s", f"{seen['time_s']:.9f} s"
        return in_words(self.departure.expected), in_words(self.departure.seen)

    def as_json(self) -> dict[str, Any]:
        """The finding as plain data, for --json."""
        expected, seen = self.frames()
        rule = RULES[self.rule]
        return {
            "rule": rule.name,
            "says": rule.says,
            "source": rule.source,
            "why": self.diagnosis.why,
            "also_possible": self.diagnosis.others,
            "node": self.departure.node,
            "port": self.departure.port,
            "seen_at": self.departure.seen_at,
            "file": self.departure.path,
            "differs": self.departure.what,
            "time_s": self.time_ns / 1e9,
            "expected": expected,
            "seen": seen,
        }


def described(frame: np.ndarray, time_ns: float) -> dict[str, Any]:
    """A frame as names and numbers."""
    kind = int(frame["kind"])
    found: dict[str, Any] = {"kind": KINDS.get(kind, "unknown"), "time_s": time_ns / 1e9}
    for name in FIELDS.get(kind, ("length",)):
        value = int(frame[name])
        if kind == CNM and name in ("offset", "delta"):
            value = value // frame_layout.CNM_UNIT * frame_layout.CNM_UNIT
        address = name in ("source", "destination") or (kind == CNM and name == "inner")
        found[name] = mac_text(value) if address and value >= 0 else value
    if kind == DATA:
        found["created_s"] = int(frame["created"]) / 1e12
    return found


def in_words(one: Expected | SeenFrame | None) -> str:
    """A frame in a few words."""
    if one is None:
        return "no frame"
    time_ns = one.due_ps / 1000 if isinstance(one, Expected) else one.time_ns
    frame, at = one.frame, f"at {time_ns / 1e9:.9f} s"
    kind = int(frame["kind"])
    if kind == DATA:
        return f"data, flow {frame['flow']} sequence {frame['sequence']}, {at}"
    if kind == CNM:
        offset, delta = (
            int(frame[n]) // frame_layout.CNM_UNIT * frame_layout.CNM_UNIT
            for n in ("offset", "delta")
        )
        return (
            f"message about flow {frame['flow']} sequence {frame['sequence']}, feedback "
            f"{frame['feedback']}, offset {offset} B, delta {delta} B, {at}"
        )
    if kind == PAUSE:
        return f"PAUSE, {frame['feedback']} quanta, {at}"
    if kind == PFC:
        return f"PFC, priorities {int(frame['mark']):#04x}, {at}"
    name = next((t.name for t in registered_types() if t.kind == kind), None)
    if name is not None:
        return f"{name}, flow {frame['flow']} sequence {frame['sequence']}, {at}"
    return f"an unknown frame of {frame['length']} octets, {at}"
