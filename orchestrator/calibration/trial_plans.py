"""Small plans of the measurements. Names of algorithms are those that tailback ships."""

from __future__ import annotations

from typing import Any

from orchestrator.plan import Plan

US, MS, S = 10**6, 10**9, 10**12
GIGABIT = 10**9
FAST = 10 * GIGABIT
"""Of links that are not to be what holds frames back."""
FRAME = 1500
FEW_OCTETS, MANY_OCTETS = 6_000, 4_000_000
WITHOUT_END = 100 * S
"""Of a plan that is stopped by the clock of the machine."""


def _plan(duration: int, nodes: dict[str, Any], links: dict[str, Any], **more: Any) -> Plan:
    return Plan(
        name="calibrate",
        seed=1,
        duration=duration,
        sample_interval=max(duration, MS),
        nodes=nodes,
        links=links,
        **more,
    )


def _source(rate: int, frame: int, to: str = "sink") -> dict[str, Any]:
    return {"gen": {"plugin": "cbr", "from": "nic", "to": to, "frame": frame, "rate": rate}}


def through_switch(
    rate: int, frame: int, duration: int, captured: int = 0, line: int = FAST
) -> Plan:
    """A NIC, a switch, a sink; `captured` frames are kept where they come into the switch."""
    capture = {"ports": ["switch.nic"], "snap": 128, "frames": captured} if captured else {}
    return _plan(
        duration,
        {
            "nic": {"kind": "nic", "host_queue": MANY_OCTETS},
            "switch": {"kind": "switch", "buffer": MANY_OCTETS},
            "sink": {"kind": "sink"},
        },
        {
            "up": {"ends": ["nic", "switch"], "rate": line, "buffer": MANY_OCTETS},
            "down": {"ends": ["switch", "sink"], "rate": line, "buffer": MANY_OCTETS},
        },
        traffic=_source(rate, frame),
        **({"capture": capture} if capture else {}),
    )


def limited(rate: int, frame: int, duration: int) -> Plan:
    """A NIC whose limiter has a rate from the start, and always something to send."""
    return _plan(
        duration,
        {
            "nic": {
                "kind": "nic",
                "host_queue": FEW_OCTETS,
                "reaction_point": {
                    "plugin": "fecn-rp",
                    "initial_rate": rate,
                    "interval": 10 * S,
                    "random_start": False,
                },
            },
            "sink": {"kind": "sink"},
        },
        {"up": {"ends": ["nic", "sink"], "rate": GIGABIT}},
        traffic=_source(GIGABIT, frame),
    )


def delayed(delay: int, rate: int, line: int, frame: int, duration: int) -> Plan:
    """A NIC that sends at a rate over a link with a delay."""
    room = 2 * max(line * delay // (8 * S), 10**6)
    return _plan(
        duration,
        {"nic": {"kind": "nic", "host_queue": FEW_OCTETS}, "sink": {"kind": "sink"}},
        {"up": {"ends": ["nic", "sink"], "rate": line, "delay": delay, "buffer": room}},
        traffic=_source(rate, frame),
    )


def answered(kind: str, every: int, rate: int, duration: int, quanta: int = 0) -> Plan:
    """A switch that answers a data frame every so often: by `cnm` or by `pause`."""
    if kind == "cnm":
        point = {"congestion_point": {"plugin": "scripted-cnm", "interval": every, "count": 10**6}}
    else:
        pause = {"plugin": "scripted-pause", "interval": every, "count": 10**6, "quanta": quanta}
        point = {"pause": pause}
    return _plan(
        duration,
        {
            "nic": {"kind": "nic", "host_queue": 64_000},
            "switch": {"kind": "switch", **point},
            "sink": {"kind": "sink"},
        },
        {
            "up": {"ends": ["nic", "switch"], "rate": GIGABIT},
            "down": {"ends": ["switch", "sink"], "rate": GIGABIT},
        },
        traffic=_source(rate, FRAME),
    )
