"""A small real catalog, and a plan that uses every table, for the tests of plans."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field, model_validator

from orchestrator.plan.algorithm_params import Duration, Params, Rate, Ratio, Size


class CpParams(Params):
    """A congestion point's."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"netfpga": {"set_point": "33KB"}, "ieee": {}}
    set_point: Size = Field(26_000, gt=0, description="queue length the CP aims at (Q_eq)")
    weight: int = Field(2, ge=0, le=64, description="weight of the queue's growth (w)")
    sampling: Literal["arrival", "head"] = "arrival"


class RpParams(Params):
    """A reaction point's."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"netfpga": {"time_reset": 25 * 10**9}}
    time_reset: Duration = Field(15 * 10**9, gt=0)
    gd: Ratio = Field(Fraction(1, 128), gt=0, lt=1)
    jitter: bool = True


class PauseParams(Params):
    """Two marks that have to keep their order."""

    high: Size = 130_000
    low: Size = 110_000
    quanta: int = Field(65535, ge=0, le=65535)

    @model_validator(mode="after")
    def _order(self) -> PauseParams:
        if self.low >= self.high:
            raise ValueError("'low' has to be below 'high'")
        return self


class DelayParams(Params):
    """None."""


class CbrParams(Params):
    """Required: a rate has no sensible default."""

    rate: Rate = Field(gt=0)


@dataclass(frozen=True)
class Algorithm:
    name: str
    params: type[Params]


class UnknownAlgorithm(LookupError):
    """As a registry would raise it."""

    def __init__(self, known: list[str]) -> None:
        super().__init__("unknown")
        self.known = known


class SmallCatalog:
    """One algorithm of each kind."""

    kinds: ClassVar[dict[str, dict[str, type[Params]]]] = {
        "congestion_point": {"qcn-cp": CpParams},
        "reaction_point": {"qcn-rp": RpParams},
        "pause": {"pause": PauseParams},
        "delay_line": {"fixed-delay": DelayParams},
        "traffic": {"cbr": CbrParams},
    }

    def find(self, kind: str, name: str) -> Algorithm:
        known = self.kinds[kind]
        if name not in known:
            raise UnknownAlgorithm(list(known))
        return Algorithm(name, known[name])


FULL = """\
name = "netfpga-fig11"
title = "QCN, 8 sources, 100 us RTT"
paper = "NetFPGA-QCN, figure 11"
seed = 1
duration = "12s"
target = "simulated"
sample_interval = "1ms"

[nodes.nic1]
kind = "nic"
reaction_points = 4
host_queue = "64KB"
reaction_point = { plugin = "qcn-rp", preset = "netfpga" }
limiter = { depth = "3KB", period = "16us", granularity = "0.5Mb/s" }

[nodes.nic2]
kind = "nic"
reaction_point = { plugin = "qcn-rp", gd = "1/64" }

[nodes.switch]
kind = "switch"
service_rate = "0.95Gb/s"
buffer = "150KB"
congestion_point = { plugin = "qcn-cp", preset = "netfpga", weight = 3 }
pause = { plugin = "pause", high = "130KB", low = "110KB" }
[nodes.switch.ports.sink]
service_rate = "0.9Gb/s"
[nodes.switch.ports.nic2]
congestion_point = { plugin = "qcn-cp", weight = 1 }
[nodes.switch.forwarding]
sink = "sink"

[nodes.sink]
kind = "sink"

[links.up1]
ends = ["nic1", "switch"]
rate = "1Gb/s"
delay = "50us"
delay_line = { plugin = "fixed-delay" }
[links.up2]
ends = ["nic2", "switch"]
rate = "1Gb/s"
delay = "50us"
delay_back = "60us"
overhead = "20B"
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
buffer = "1MB"

[traffic.gen1]
plugin = "cbr"
from = "nic1"
to = "sink"
flows = 4
rate = "1Gb/s"
[traffic.gen2]
plugin = "cbr"
from = "nic2"
to = "sink"
start = "0s"
stop = "5s"
priority = 3
rate = "0.5Gb/s"

[[timeline]]
at = "3s"
set = "nodes.switch.ports.sink.service_rate"
to = "0.2Gb/s"
[[timeline]]
at = "6.7s"
set = "nodes.switch.congestion_point.weight"
to = 1
[[timeline]]
at = "7s"
stop = "gen1"
[[timeline]]
at = "8s"
cut = "up1"
[[timeline]]
at = "9s"
set = "nodes.nic1.reaction_point.gd"
to = "1/32"

[phases.high]
from = "1s"
to = "3s"
[phases.low]
from = "4s"
to = "6.7s"

[[expect]]
metric = "queue_bytes.mean"
of = "switch.sink"
phase = "high"
min = "30KB"
max = "38KB"
source = "measured"
note = "a band"
[[expect]]
metric = "utilization"
of = "switch.sink"
min = 0.99
[[expect]]
metric = "recovery_s"
of = "switch.sink"
phase = "low"
max = "350ms"

[capture]
ports = ["switch.sink"]
snap = "128B"
frames = 200000
"""


@pytest.fixture(scope="session")
def catalog() -> SmallCatalog:
    return SmallCatalog()


@pytest.fixture(scope="session")
def full() -> str:
    """The text of a plan that uses every table."""
    return FULL
