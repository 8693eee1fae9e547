"""A device profile made up for tests: round numbers, every section filled."""

from __future__ import annotations

from typing import Any

from orchestrator import __version__
from orchestrator.profile.provenance import EVIDENCE
from orchestrator.profile.quantiles import SHARES


def times(p50: int, worst: int) -> dict[str, int]:
    """A spread that ends in so much."""
    return {
        "count": 1000,
        "p50_ns": p50,
        "p90_ns": p50,
        "p99_ns": worst // 2,
        "p999_ns": worst,
        "max_ns": worst,
    }


def made(**changes: Any) -> dict[str, Any]:
    """The data of a profile; `changes` stand in for whole sections."""
    data: dict[str, Any] = {
        "tailback_profile": 1,
        "date": "2026-11-23T12:00:00+00:00",
        "tailback": __version__,
        "took_s": 30.0,
        "machine": {
            "name": "bench",
            "processor": "a processor",
            "cores": 2,
            "memory_octets": 8_000_000_000,
            "kernel": "6.1.0",
            "hypervisor": None,
            "clock_source": "tsc",
        },
        "path": {"kind": "veth", "datapath": "packet", "ports": [], "drivers": []},
        "forwarding": [forwarding(70, 400_000), forwarding(1500, 200_000)],
        "departures": [departures(0.1, 3_000), departures(0.7, 9_000)],
        "stalls": {
            "watched_s": 5.0,
            "floor_ns": 50_000,
            "count": 0,
            "per_core_per_s": 0.0,
            "share": 0.0,
            "longest_ns": 0,
            "length_quantiles_ns": [],
            "at_once_count": 0,
            "at_once_length_quantiles_ns": [],
            "waited_share": 0.0,
            "stolen_share": 0.0,
            "unexplained_share": 0.0,
        },
        "limiter": [],
        "delay": [],
        "turnaround": {"cnm": times(9_000, 20_000), "pause_sent": None, "pause_obeyed": None},
        "timestamps": {"error": None, "clock_step_ns": 20, "clocks_apart_ns": 50},
        "evidence": dict(EVIDENCE),
    }
    return data | changes


def forwarding(frame: int, rate: float) -> dict[str, Any]:
    """What a core forwards."""
    return {
        "frame_octets": frame,
        "frames_per_s": float(rate),
        "least_frames_per_s": rate * 0.9,
        "most_frames_per_s": rate * 1.1,
        "trials": 3,
    }


def departures(load: float, extra_ns: int, spread_ns: int = 0) -> dict[str, Any]:
    """Links that take so much beyond their delays, up to `spread_ns` more."""
    table = [extra_ns + round(spread_ns * share) for share in SHARES]
    return {
        "load": load,
        "frame_octets": 1500,
        "frames_per_s": 200_000 * load,
        "lateness": times(1_000, 5_000),
        "link": times(extra_ns, extra_ns + max(spread_ns, 1)),
        "link_quantiles_ns": table,
        "lost_frames": 0,
    }


def stalls(
    per_s: float, length_ns: int, at_once: int = 0, watched_s: float = 5.0
) -> dict[str, Any]:
    """So many stalls a second on each of two cores, all of one length."""
    count = round(per_s * 2 * watched_s)
    table = [length_ns] * len(SHARES)
    return {
        **made()["stalls"],
        "watched_s": watched_s,
        "count": count,
        "per_core_per_s": per_s,
        "share": per_s * length_ns / 1e9,
        "longest_ns": length_ns,
        "length_quantiles_ns": table if count else [],
        "at_once_count": at_once,
        "at_once_length_quantiles_ns": table if at_once else [],
        "unexplained_share": per_s * length_ns / 1e9,
    }
