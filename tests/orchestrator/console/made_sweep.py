"""Sweeps made up for the screens: the lines of a journal with fixed numbers."""

from __future__ import annotations

import math
import os
from typing import Any

from orchestrator.console.sweep_data import SweepData, new_sweep, take_in

SD = "queue_bytes.sd of switch.sink in high"
USED = "utilization of switch.sink in high"
WEIGHT = {"key": "weight", "spacing": "list", "unit": "", "words": False}
DELAY = {"key": "links.up.delay", "spacing": "log", "unit": "s", "words": False}
SCHEME = {"key": "scheme", "spacing": "list", "unit": "", "words": True}
DELAYS = [1e-5, 3.162e-5, 1e-4, 3.162e-4, 1e-3]


def head(
    axes: list[dict[str, Any]], design: str = "grid", edge: float | None = 15e3, places: int = 20
) -> Any:
    """The first line."""
    return {
        "tailback": 1,
        "process": os.getpid(),
        "started": 1.0,
        "plan": "demo",
        "title": "Two sources, one slow port",
        "axes": axes,
        "design": design,
        "seeds": 3,
        "places": places,
        "edge": None if edge is None else [SD, edge],
    }


def columns() -> dict[str, Any]:
    return {"columns": [[SD, "B"], [USED, "ratio"]]}


def point(at: int, of: list[Any], seed: int, sd: float, verdict: str = "met") -> dict[str, Any]:
    """A point; its utilisation falls as its queue swings."""
    used = 1 - sd / 100e3
    return {"at": at, "of": of, "seed": seed, "verdict": verdict, "n": [sd, used]}


def over_two(done: float = 0.7) -> SweepData:
    """A map of weight and delay, of which a share is done, with a place that makes no plan."""
    weights = [0.0, 1.0, 2.0, 4.0]
    axes = [
        WEIGHT | {"values": weights, "ends": None},
        DELAY | {"values": DELAYS, "ends": None},
    ]
    data = new_sweep(head(axes))
    take_in(data, columns())
    places = [(w, d) for w in weights for d in DELAYS]
    order = sorted(range(len(places)), key=lambda at: at * 7 % 20)
    for at in order[: int(done * len(places))]:
        weight, delay = places[at]
        if (weight, delay) == (4.0, 1e-3):
            why = "quickstart:\n  links.up.delay: '1ms' is not accepted; less than 1 ms"
            take_in(data, {"at": at, "of": [weight, delay], "why": why})
            continue
        for seed in (1, 2, 3):
            sd = 2e3 + 26e3 * (math.log10(delay) + 5) / 2 / (1 + weight / 2) + 900 * seed
            verdict = "missed" if sd > 25e3 else "met"
            take_in(data, point(at, [weight, delay], seed, sd, verdict))
    text = f"{int(done * 60)} of 57 points, 6 from before, about 2.3 min left"
    take_in(data, {"stage": "running points", "done": done, "text": text})
    take_in(data, {"said": "a worker ended by signal 9; demo on simulated, seed 2 is run again"})
    return data


def over_one() -> SweepData:
    """A curve along the delay."""
    data = new_sweep(head([DELAY | {"values": [], "ends": [1e-5, 1e-3]}], "adaptive"))
    take_in(data, columns())
    for at in range(12):
        delay = 10 ** (-5 + 2 * at / 11)
        for seed in (1, 2, 3):
            sd = 1e3 + 30e3 / (1 + math.exp(6 - at)) + 1500 * (seed - 2)
            take_in(data, point(at, [delay], seed, sd))
    take_in(data, {"stage": "running points", "done": 0.3, "text": "36 of 120 points"})
    return data


def over_three() -> SweepData:
    """A grid of three parameters, one of words, all done."""
    schemes, weights = ["qcn", "bcn"], [0.0, 2.0]
    axes = [
        WEIGHT | {"values": weights, "ends": None},
        DELAY | {"values": DELAYS, "ends": None},
        SCHEME | {"values": schemes, "ends": None},
    ]
    data = new_sweep(head(axes, edge=None))
    take_in(data, columns())
    places = [(w, d, s) for w in weights for d in DELAYS for s in schemes]
    for at, (weight, delay, scheme) in enumerate(places):
        sd = 1e3 * (1 + at) + (10e3 if scheme == "bcn" else 0.0)
        take_in(data, point(at, [weight, delay, scheme], 1, sd))
    take_in(data, {"stage": "running points", "done": 1.0, "text": "20 of 20 points"})
    take_in(data, {"ended": "done", "text": "", "folder": "runs/demo/20260101T120000Z-aa-sweep"})
    return data


def sampled() -> SweepData:
    """A Latin hypercube of 40 places, of which nothing failed."""
    axes = [
        {"key": "weight", "spacing": "linear", "unit": "", "words": False}
        | {"values": [], "ends": [0.0, 4.0]},
        DELAY | {"values": [], "ends": [1e-5, 1e-3]},
    ]
    data = new_sweep(head(axes, "lhs", None, 40))
    take_in(data, columns())
    for at in range(40):
        weight, delay = 4 * (at + 0.5) / 40, 10 ** (-5 + 2 * ((at * 17) % 40 + 0.5) / 40)
        take_in(data, point(at, [weight, delay], 1, 1e3 * (1 + at)))
    take_in(data, {"stage": "running points", "done": 0.9, "text": "36 of 40 points"})
    return data


class MadeSweep:
    """A source of which nothing new comes."""

    def __init__(self, data: SweepData) -> None:
        self.data = data
        self.closed = False

    def poll(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
