"""Plans of the tests across machines: the shorter the better."""

from __future__ import annotations

from orchestrator.plan import Plan
from orchestrator.run import run

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


def compile_once() -> None:
    """Have the data path in the compile cache, which everything on this machine shares: what comes
    afterwards loads it, whatever happens to it there."""
    run(Plan.load(short("0.02s")), target="software", out=None)
