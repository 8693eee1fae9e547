"""Short plans whose captures hold all that a node takes in and sends."""

from __future__ import annotations

QCN = """
name = "oracle-qcn"
clock_ppm = 0
phase = "aligned"
seed = 3
duration = "0.25s"

[nodes.nic]
kind = "nic"
reaction_points = 2
host_queue = "6KB"
reaction_point = { plugin = "qcn-rp", preset = "netfpga", time_reset = "5ms", ai_rate = "5Mb/s" }
limiter = { depth = "3KB", period = "16us", granularity = "0.5Mb/s" }

[nodes.switch]
kind = "switch"
service_rate = "0.6Gb/s"
buffer = "150KB"
congestion_point = { plugin = "qcn-cp", preset = "netfpga" }

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
rate = "1Gb/s"

[[timeline]]
at = "0.1s"
set = "nodes.switch.service_rate"
to = "0.9Gb/s"

[capture]
ports = ["switch.sink", "switch.nic", "nic.switch"]
snap = "128B"
frames = 60000
"""

PAUSED = """
name = "oracle-pause"
clock_ppm = 0
phase = "aligned"
seed = 3
duration = "0.1s"

[nodes.nic]
kind = "nic"
reaction_points = 0

[nodes.switch]
kind = "switch"
service_rate = "0.2Gb/s"
buffer = "150KB"
pause = { plugin = "pause", high = "100KB", low = "60KB", quanta = 1000 }

[nodes.sink]
kind = "sink"

[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
delay = "10us"

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
rate = "0.5Gb/s"

[capture]
ports = ["switch.sink", "switch.nic", "nic.switch"]
snap = "128B"
frames = 60000
"""

PFC = PAUSED.replace('plugin = "pause"', 'plugin = "pfc"').replace("oracle-pause", "oracle-pfc")

INPUTS = """
name = "oracle-inputs"
seed = 3
duration = "60ms"

[nodes."n{1..2}"]
kind = "nic"
reaction_points = 1
host_queue = "6KB"
reaction_point = { plugin = "qcn-rp", preset = "netfpga", time_reset = "5ms", ai_rate = "5Mb/s" }
limiter = { depth = "3KB", period = "16us", granularity = "0.5Mb/s" }

[nodes.switch]
kind = "switch"
buffer = "30KB"

[nodes.switch.inputs]
buffer = "150KB"
speedup = "8/5"
crossbar_latency = "1us"
congestion_point = { plugin = "qcn-cp", preset = "netfpga", sample_base = "30KB" }
pause = { plugin = "pause", high = "120KB", low = "100KB" }

[nodes.sink]
kind = "sink"

[links."up{1..2}"]
ends = ["n{}", "switch"]
rate = "1Gb/s"
delay = "10us"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.one]
plugin = "cbr"
from = "n1"
to = "sink"
frame = "1500B"
rate = "1Gb/s"

[traffic.two]
plugin = "cbr"
from = "n2"
to = "sink"
frame = "1500B"
rate = "1Gb/s"
start = "3us"

[capture]
ports = ["switch.n1", "switch.n2", "switch.sink"]
snap = "128B"
frames = 60000
"""

OPEN = """
name = "oracle-open"
seed = 3
duration = "40ms"

[nodes."n{1..2}"]
kind = "nic"
reaction_points = 0

[nodes.switch]
kind = "switch"
service_rate = "0.6Gb/s"
buffer = "300KB"
congestion_point = { plugin = "qcn-cp", preset = "netfpga", sample_base = "60KB" }

[nodes.sink]
kind = "sink"

[links."up{1..2}"]
ends = ["n{}", "switch"]
rate = "1Gb/s"
delay = "10us"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.one]
plugin = "cbr"
from = "n1"
to = "sink"
frame = "1500B"
rate = "0.4Gb/s"

[traffic.two]
plugin = "cbr"
from = "n2"
to = "sink"
frame = "1500B"
rate = "0.35Gb/s"
start = "3us"

[[timeline]]
at = "10ms"
set = "nodes.switch.service_rate"
to = "0.9Gb/s"

[[timeline]]
at = "20ms"
set = "nodes.switch.service_rate"
to = "0.6Gb/s"

[capture]
ports = ["switch.n1", "switch.n2", "switch.sink"]
snap = "128B"
frames = 60000
"""
"""Nobody reacts to a message: one may be changed, and the rest is as it was."""

PLANS = {"qcn": QCN, "open": OPEN, "pause": PAUSED, "pfc": PFC, "inputs": INPUTS}
