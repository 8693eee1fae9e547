"""Plans of the tests across machines: the shorter the better."""

from __future__ import annotations

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run

SHORT = """
name = "short-across"
seed = 1
duration = "{duration}"

[nodes.nic]
kind = "nic"

[nodes.switch]
kind = "switch"
service_rate = "0.1Gb/s"
buffer = "150KB"

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
frame = "1500B"
rate = "0.05Gb/s"

[capture]
ports = ["sink.switch"]
frames = 1000
"""
"""Half of what the switch can serve: nothing is dropped, and little is to be done."""


def short(duration: str = "0.4s", *steps: str) -> str:
    """The plan, with steps of a timeline such as 'at = "1s", kill_agent = "sink"'."""
    text = SHORT.format(duration=duration)
    return text + "".join(f"\n[[timeline]]\n{step}\n" for step in steps)


LOOP = {
    'kind = "nic"': 'kind = "nic"\nreaction_points = 1\nhost_queue = "6KB"\n'
    'reaction_point = { plugin = "qcn-rp", preset = "netfpga" }\n'
    'limiter = { depth = "3KB", period = "16us", granularity = "0.5Mb/s" }',
    'buffer = "150KB"': 'buffer = "150KB"\n'
    'congestion_point = { plugin = "qcn-cp", preset = "netfpga" }',
    'rate = "0.05Gb/s"': 'rate = "0.2Gb/s"',
}
PAUSED = {
    'buffer = "150KB"': 'buffer = "300KB"\n'
    'pause = { plugin = "pause", high = "100KB", low = "60KB", quanta = 1000 }',
    'rate = "0.05Gb/s"': 'rate = "0.2Gb/s"',
}
KINDS: dict[str, dict[str, str]] = {"steady": {}, "loop": LOOP, "paused": PAUSED}
"""What is other than in `short`: nothing; a loop holds a queue at its set point; PAUSE does."""
MARKED = {
    'kind = "nic"': 'kind = "nic"\nreaction_point = { plugin = "dctcp", segment = "1500B" }',
    'buffer = "150KB"': 'buffer = "150KB"\ncongestion_point = { plugin = "red", low = "29999B", '
    'high = "30KB", max_probability = 1 }',
    'plugin = "cbr"': 'plugin = "bulk"\ntransport = { plugin = "go-back-n" }',
    'rate = "0.05Gb/s"\n': "",
    'service_rate = "0.1Gb/s"': 'service_rate = "0.03Gb/s"',
}
LOSSES = MARKED | {
    'kind = "nic"': 'kind = "nic"\nreaction_point = { plugin = "newreno", segment = "1500B" }',
}
DRAWN: dict[str, dict[str, str]] = KINDS | {"marked": MARKED, "losses": LOSSES}
"""Plans of drawn distortions: also windows that marks hold (DCTCP), and losses (NewReno)."""


def of_kind(kind: str, duration: str, seed: int) -> str:
    """The plan in one of its kinds."""
    text = short(duration).replace("seed = 1", f"seed = {seed}")
    for old, new in DRAWN[kind].items():
        text = text.replace(old, new)
    return text


def figure11(whole: bool = True) -> Plan:
    """NetFPGA-QCN, figure 11 on real frames; or its first second, with nothing expected.

    Over that second, less its first 0.3, mean queues of two runs differ by some 600 B (of twelve
    seeds, simulated); over less they would by more than `compare` takes for the same.
    """
    plan = Plan.load(Registry.load().plans()["netfpga-fig11"])
    data = plan.to_table() | {"target": "software"}
    if not whole:
        data |= {"duration": "1s", "timeline": [], "expect": []}
        data["phases"] = {"high": {"from": "0.3s", "to": "1s"}}
    return plan.with_data(data)


def compile_once() -> None:
    """Have the data path in the compile cache, which everything on this machine shares: what comes
    afterwards loads it, whatever happens to it there."""
    run(Plan.load(short("0.02s")), target="software", out=None)
