"""The suite held to a device, in namespaces: a job of `launch.run_job`, like those of `bought`."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tomli_w

from orchestrator.plan import Plan
from orchestrator.targets.software.network_namespaces import Machines
from tests.hardware import test_device_dscp, test_device_headroom
from tests.orchestrator.targets.software import bought
from tests.orchestrator.targets.software.black_box import Box, standing
from traces.pytest_plugin.dut_description import Device

PORTS = {"nic1": "e1", "nic2": "e2", "far": "e3"}
FOLDER = Path(__file__).parent
SUITE = "test_device.py"
CLONE = Path(__file__).parents[2]
LONG = "120s"
"""For which a switch of ours stands there: longer than the suite takes."""


def ours(device: Device, **settings: Any) -> Plan:
    """The plan of the suite as a switch of ours that stands in the device's place has it: its
    frames have the headers and flows that the suite sends."""
    plan = Plan.load(Path(__file__).parent / "plans" / "device.toml")
    if device.dscp is not None:
        plan = test_device_dscp.plan_of(device, device.dscp, sorted(device.dscp.queues()))
    if device.headroom is not None:
        plan = test_device_headroom.plan_of(device, device.headroom)
    table = plan.to_table()
    table.pop("timeline", None)
    table["nodes"]["far"].pop("pause", None)
    table["nodes"]["dut"] = {"kind": "switch", **settings}
    table["capture"] = {"ports": []}
    table["duration"], table["sample_interval"] = LONG, "1s"
    for entry in table["traffic"].values():
        entry.pop("stop", None)
    for link in ("up1", "up2", "down"):
        table["links"][link]["rate"] = "100Mb/s"
    return plan.with_data(table)


def suite(
    control: Any, folder: str, told: dict[str, Any], box: dict[str, Any] | None, chosen: str
) -> dict[str, Any]:
    """Run it. `told`: what the device's file says besides its cables, and "device": bridge, ours,
    or one of `bought.ERRORS`, and "file": another file of the suite than SUITE. `box`: the settings
    of a switch of ours. Returns outcomes by test,
    figures by name, and the share of its time for which such a switch had no core."""
    machines = Machines()
    device = machines.add("device").name
    made, file = told.pop("device"), FOLDER / told.pop("file", SUITE)
    for name in PORTS.values():
        bought.cable(machines, device, name, f"b-{name}", 9000)
    inner = {port: f"b-{name}" for port, name in PORTS.items()}
    place = Path(folder)
    (place / "dut.toml").write_text(tomli_w.dumps({"ports": PORTS, **told}))
    stands: Box | None = None
    with ExitStack() as stack:
        if made == "bridge":
            bought.bridge(machines, device, list(inner.values()))
        elif made == "ours":
            ports = {f"dut.{port}": name for port, name in inner.items()}
            plan = ours(Device(ports=PORTS, **told), **(box or {}))
            stands = stack.enter_context(standing(machines, device, "dut", plan, ports))
        else:
            err = bought.ERRORS[made]
            forwarder = bought.Forwarder(machines, device, list(inner.values()), err)
            forwarder.start()
            stack.callback(forwarder.join)
            stack.callback(forwarder.stop.set)
        words = [sys.executable, "-m", "pytest", str(file), "-q", "-n", "0", "-k", chosen]
        words += ["-p", "no:cacheprovider", "--tailback-target", "software", "-rA"]
        words += ["--tailback-device", str(place / "dut.toml")]
        words += ["--tailback-figures", str(place / "figures.json")]
        done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False)
        waited = stands.waited_share() if stands is not None else 0.0
    kept = place / "figures.json"
    figures = json.loads(kept.read_text()) if kept.exists() else []
    return {
        "code": done.returncode,
        "said": done.stdout[-20000:] + done.stderr[-2000:],
        "waited": waited,
        "figures": {one["name"]: one for one in figures},
    }
