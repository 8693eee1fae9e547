"""Small plans whose runs the tests of figures draw."""

NETS = """
name = "nets"
paper = "a paper, figure 1"
duration = "4ms"
sample_interval = "20us"
[lists]
net = ["a", "b"]
[nodes."{net}h{1..2}"]
kind = "nic"
reaction_points = 2
limiter = { depth = "3KB", period = "1us" }
reaction_point = { plugin = "qcn-rp", preset = "ibm-10g" }
[nodes."{net}s"]
kind = "switch"
buffer = "60KB"
congestion_point = { plugin = "qcn-cp", preset = "ibm-10g", set_point = "20KB" }
inputs = { buffer = "90KB", pause = { plugin = "pause", high = "60KB", low = "30KB" } }
[nodes."{net}d{1..2}"]
kind = "sink"
[links."{net}l{1..2}"]
ends = ["{net}h{}", "{net}s"]
rate = "10Gb/s"
[links."{net}o{1..2}"]
ends = ["{net}s", "{net}d{}"]
rate = "10Gb/s"
[traffic."{net}f"]
plugin = "cbr"
from = "{net}h{1..2}"
to = "{net}d1"
rate = "8Gb/s"
[traffic."{net}free"]
plugin = "cbr"
from = "{net}h1"
to = "{net}d2"
rate = "1Gb/s"
[phases]
first = { from = "1ms", to = "2ms" }
second = { from = "2ms", to = "4ms" }
"""
"""Two networks beside each other: two flows share an output, a third leaves by another."""

FIGURES = """
[[figure]]
panel = "(a)"
y = "sent_bps"
of = ["af.{0..1}", "afree"]
labels = "f{1..3}"
y_range = ["0", "10Gb/s"]
published = [{ label = "f2", values = ["5Gb/s"], from = "1ms", to = "3ms" }]
[[figure]]
panel = "(b)"
y = "queue_bytes"
of = "as.ah{1..2}/in"
[[figure]]
title = "bars"
kind = "bars"
x = "phase"
y = "throughput_bps"
of = ["af.0", "bf.0"]
labels = ["one", "other"]
levels = ["2", "3"]
published = [{ label = "other", values = ["4Gb/s", "5Gb/s"] }]
[[figure]]
title = "limits"
y = "rate_bps"
of = "ah1.rp{0..1}"
[[figure]]
title = "latency"
kind = "cdf"
y = "latency_s"
phase = "second"
of = "af"
[[figure]]
title = "table"
kind = "table"
x = "of"
x_label = "flow"
y = "throughput_bps"
of = ["{a,b}f.{0..1}"]
labels = ["net a", "net b"]
levels = ["f1", "f2"]
phase = "second"
published = [{ label = "net b", values = ["5Gb/s", "5Gb/s"] }]
"""

BESIDE = """
[[figure]]
title = "runs"
y = "throughput_bps"
of = "af.0"
labels = "f1"
with = ["nets", "others"]
variants = ["this", "that"]
[[figure]]
title = "names"
y = "queue_bytes"
of = "as.ad1 of {nets,others}"
labels = ["mine", "theirs"]
"""
