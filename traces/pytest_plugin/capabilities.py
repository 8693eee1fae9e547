"""Capabilities that a test can need, the targets that have them, and how to provide them."""

from __future__ import annotations

from dataclasses import dataclass

SIMULATED, SOFTWARE, GATEWARE = "simulated", "software", "gateware"
TARGETS = (SIMULATED, SOFTWARE, GATEWARE)
CARD = "card"
"""The target gateware, when the testbed names cards: a column of its own in the table."""
DEVICE = "device"
"""The target software with a device of others in it: likewise."""
REAL_TIME = (SOFTWARE, CARD, DEVICE)
"""Targets whose path includes the machine's own time."""


@dataclass(frozen=True)
class Capability:
    """One of them. `remedy` is the instruction that a skipped test shows."""

    what: str
    targets: tuple[str, ...]
    remedy: str


CAPABILITIES = {
    "real-frames": Capability(
        "frames pass through network interfaces, in real time",
        (SOFTWARE,),
        "Use --tailback-target software; --tailback-testbed names real NICs.",
    ),
    "virtual-time": Capability(
        "no machine is in the path: times are exact",
        (SIMULATED, GATEWARE),
        "Use --tailback-target simulated or gateware.",
    ),
    "rtl": Capability(
        "NICs and switches are Verilog",
        (GATEWARE, CARD),
        "Use --tailback-target gateware.",
    ),
    "card": Capability(
        "a node is on an FPGA card",
        (CARD,),
        "Name it in testbed.toml, [cards.NAME], and use --tailback-target gateware "
        "--tailback-testbed testbed.toml.",
    ),
    "device": Capability(
        "a device of others is under test, between our ends",
        (DEVICE,),
        "Say in a file how it is cabled and what it is said to do, and use --tailback-target "
        "software --tailback-device FILE (docs/dut.md).",
    ),
    "machines": Capability(
        "nodes are on machines of a testbed, joined by cables",
        (SOFTWARE,),
        "Name them in testbed.toml, [machines.NAME] and [cables.NAME], and use --tailback-target "
        "software --tailback-testbed testbed.toml.",
    ),
    "timestamping": Capability(
        "captured frames have their times",
        TARGETS,
        "Every target has it; cards capture nothing: leave the cards out of testbed.toml.",
    ),
    "sampled-queue": Capability(
        "queue lengths and limiters are sampled while the plan runs",
        (*TARGETS, CARD),
        "Every target has it.",
    ),
    "crafted-frames": Capability(
        "messages and PAUSE of chosen content (scripted-cnm, scripted-pause)",
        TARGETS,
        "Every target has it; on gateware they come from simulated nodes, and cards join none.",
    ),
    "pfc": Capability(
        "ports with a lane per priority, and PFC",
        (SIMULATED, SOFTWARE),
        "Use --tailback-target simulated or software: gateware's ports have one lane.",
    ),
    "inputs": Capability(
        "switches with input buffers and virtual output queues",
        (SIMULATED, SOFTWARE),
        "Use --tailback-target simulated or software: gateware's switch is output queued.",
    ),
    "queue-pairs": Capability(
        "RoCEv2 queue pairs end at a NIC, whose port is captured",
        (SIMULATED, SOFTWARE, DEVICE),
        "Use --tailback-target simulated or software, or name a capture of a NIC's port in the "
        "file of --tailback-device (docs/dut.md).",
    ),
    "programs": Capability(
        "programs run on NICs",
        (SOFTWARE,),
        "Use --tailback-target software.",
    ),
}
"""By name, as `pytest.mark.needs` takes it."""


def lack(name: str, target: str, *, machines: bool) -> str | None:
    """Reason why `target` (or CARD) lacks a capability, with the remedy; None when it has it.

    `machines`: whether the testbed names some.
    """
    capability = CAPABILITIES[name]
    has = target in capability.targets
    has &= name != "machines" or machines
    if has:
        return None
    return f"needs {name} ({capability.what}), not to be had on {target}. {capability.remedy}"
