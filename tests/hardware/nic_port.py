"""RoCEv2 packets at the port of a NIC under test: of a device's capture, or of our own NIC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.hardware.device_figures import must
from tests.hardware.grain import grain
from traces.pcapng.pcapng_writer import write
from traces.pytest_plugin.dut_description import Device
from traces.pytest_plugin.roce_packets import RocePackets
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "nic.toml"
PORT = "sw.dut"


def port_packets(testbed: Lab, what: str, plan: Plan, pace: float) -> tuple[RocePackets, int, str]:
    """Packets, what their times are good to (ps), and why: of a device that does `what`, else of
    our NIC in a run of `plan`."""
    device = testbed.device
    if device is None:
        outcome = testbed.run(plan, pace=pace)
        clock, reason = grain(outcome)
        return _seen(outcome), 2 * clock, reason
    must(device, what)
    assert device.capture is not None
    return RocePackets.read(device.capture, device.address), 0, "times of the capture"


def simulated_packets(plan: Plan) -> RocePackets:
    """Packets of our NIC in a simulated run."""
    return _seen(Lab("simulated").run(plan))


def _seen(outcome: Outcome) -> RocePackets:
    """What the switch sends at its port goes to the NIC."""
    seen = outcome.capture(PORT)
    return RocePackets.of(seen.times_ps, ~seen.outgoing, seen.lengths, seen.octets)


def captured_device(
    folder: Path, plan: Plan, renumbered: Callable[[np.ndarray], np.ndarray], does: str
) -> Device:
    """The NIC of a simulated run as a device, known by a pcapng file whose octets are changed, and
    by what its file says that it does."""
    capture = run(plan, target="simulated", out=None).recording.captures[0]
    file, described = folder / "nic.pcapng", folder / "dut.toml"
    write(file, replace(capture, octets=renumbered(capture.octets)))
    described.write_text(f'capture = "{file}"\naddress = "10.0.0.3"\n{does}')
    return Device.read(described)
