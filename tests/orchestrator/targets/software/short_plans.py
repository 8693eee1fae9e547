"""Plans of half a second that the tests run on both targets."""

from __future__ import annotations

TOPOLOGY = """
seed = 1

[nodes.nic]
kind = "nic"
reaction_points = 2
host_queue = "6KB"
{reaction_point}

[nodes.switch]
kind = "switch"
service_rate = "0.95Gb/s"
buffer = "150KB"
{control}

[nodes.sink]
kind = "sink"

[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
delay = "50us"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.gen]
plugin = "cbr"
from = "nic"
to = "sink"
flows = 2
frame = "1500B"
priority = 3
rate = "1Gb/s"

[capture]
ports = ["switch.sink", "nic.switch"]
snap = "128B"
frames = 20000
"""

QCN = (
    """
name = "short-qcn"
duration = "0.6s"
"""
    + TOPOLOGY.format(
        reaction_point='reaction_point = { plugin = "qcn-rp", preset = "netfpga" }\n'
        'limiter = { depth = "3KB", period = "16us", granularity = "0.5Mb/s" }',
        control='congestion_point = { plugin = "qcn-cp", preset = "netfpga" }',
    )
    + """
[[timeline]]
at = "0.3s"
set = "nodes.switch.service_rate"
to = "0.5Gb/s"

[phases.high]
from = "0.1s"
to = "0.3s"

[phases.half]
from = "0.4s"
to = "0.6s"

[[expect]]
metric = "queue_bytes.mean"
of = "switch.sink"
phase = "half"
min = "28KB"
max = "45KB"

[[expect]]
metric = "utilization"
of = "switch.sink"
phase = "half"
min = 0.99
"""
)
"""Quickstart's topology and band; the service rate is halved in the middle."""

PAUSED = (
    """
name = "short-pause"
duration = "0.3s"
"""
    + TOPOLOGY.format(
        reaction_point="",
        control='pause = { plugin = "pause", high = "100KB", low = "60KB", quanta = 1000 }',
    ).replace("0.95Gb/s", "0.2Gb/s")
    + """
[phases.held]
from = "0.1s"
to = "0.3s"
"""
)
"""One fifth of what comes in goes out, and nothing but PAUSE slows the NIC."""

TIMELINE = (
    """
name = "short-timeline"
duration = "0.6s"
"""
    + TOPOLOGY.format(reaction_point="", control="").replace(
        'rate = "1Gb/s"\n\n[capture]', 'rate = "0.1Gb/s"\n\n[capture]'
    )
    + """
[[timeline]]
at = "0.1s"
cut = "up"

[[timeline]]
at = "0.2s"
mend = "up"

[[timeline]]
at = "0.3s"
stop = "gen"

[[timeline]]
at = "0.4s"
start = "gen"

[[timeline]]
at = "0.5s"
set = "traffic.gen.rate"
to = "0.05Gb/s"

[phases.before]
from = "0s"
to = "0.1s"

[phases.cut]
from = "0.1s"
to = "0.2s"

[phases.mended]
from = "0.2s"
to = "0.3s"

[phases.stopped]
from = "0.3s"
to = "0.4s"

[phases.started]
from = "0.4s"
to = "0.5s"

[phases.slower]
from = "0.5s"
to = "0.6s"
"""
)
"""Two flows of 0.1 Gb/s each; every kind of step, 0.1 s apart."""
