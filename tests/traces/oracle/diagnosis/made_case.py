"""Deviations that are made up: a host or a switch whose frames are lists, without a capture."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from orchestrator.engine.records import DATA, FRAME
from orchestrator.plan import Nic, Switch
from traces.oracle.diagnosis.diagnosis_case import Case
from traces.oracle.node_check import Deviation, Expected, SeenFrame

US = 1000
"""ns."""
LATE_NS = 200
ADDRESSES = {"s": 70, "s.d": 71, "s.h": 72}
LIMITERS = (0, -1, 1)
"""Row of each flow's limiter; -1: it has none."""


def record(**fields: int) -> np.ndarray:
    """A descriptor of a data frame of flow 0 with these fields."""
    frame = np.zeros(1, FRAME)
    for name, value in ({"kind": DATA, "length": 1500, "source": 1} | fields).items():
        frame[name] = value
    return frame[0]


def wanted(at_us: float, **fields: int) -> Expected:
    """A predicted frame at a time; its number is that of its microsecond."""
    return Expected(record(**({"sequence": int(at_us)} | fields)), round(at_us * 1_000_000))


def got(at_us: float, octet: int = 0, **fields: int) -> SeenFrame:
    """A captured frame at a time."""
    octets = np.full(64, octet, np.uint8)
    return SeenFrame(
        record(**({"sequence": int(at_us)} | fields)), round(at_us * US), octets, int(at_us)
    )


def case(
    what: str,
    expected: Sequence[Expected],
    seen: Sequence[SeenFrame],
    node: str = "s",
    before: Sequence[SeenFrame] = (),
    points: Sequence[str] = ("s.d",),
    late_ns: int = LATE_NS,
    **changes: Any,
) -> Case:
    """A case at the port `NODE.d`: of the lists the first frames are those that differ."""
    departure = Deviation(
        node=node,
        port=f"{node}.d",
        seen_at=f"{node}.d",
        path="file",
        expected=expected[0] if expected else None,
        seen=seen[0] if seen else None,
        what=what,
        before=list(before),
        expected_next=list(expected[1:]),
        seen_next=list(seen[1:]),
        **changes,
    )
    ports = [SimpleNamespace(entity=f"{n}.{p}", node=n) for n, p in ("sd", "sh", "hd")]
    resolved: Any = SimpleNamespace(
        plan=SimpleNamespace(
            nodes={"s": Switch(kind="switch"), "h": Nic(kind="nic")}, ports=lambda: ports
        ),
        uses={"congestion_point": dict.fromkeys(points)},
    )
    assembly = SimpleNamespace(
        indices=SimpleNamespace(
            port_address=ADDRESSES.__getitem__, node_address=ADDRESSES.__getitem__
        ),
        world=SimpleNamespace(flows=[SimpleNamespace(limiter=row) for row in LIMITERS]),
    )
    state: Any = SimpleNamespace(assembly=assembly)
    return Case(resolved, departure, 0.0, late_ns, lambda *_: None, lambda *_: state)
