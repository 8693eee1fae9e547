"""A device of others between two machines: a job of `launch.run_job`, with agents in namespaces."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.orchestrator.targets.software import bought
from tests.patience import PATIENCE_S
from tests.trials.lab import Lab, until

PLAN = bought.PLAN.replace('"bought"', '"between"')
NICS = {"left:eth1": "d1", "left:eth2": "d2", "right:eth1": "d3", "right:eth2": "d4"}
"""Of the agents' machines, and what the device calls the other end; d4 is none of its ports."""
PORTS = {"nic1": "left:eth1", "nic2": "left:eth2", "sink": "right:eth1"}
NODES = {"left": ["nic*"], "right": ["sink"]}


def machines(folder: str) -> Lab:
    """Two machines with agents, four cables from them to where the device is."""
    lab = Lab(Path(folder))
    lab.machines.add("device")
    for host in ("left", "right"):
        lab.host(host)
    for end, inner in NICS.items():
        host, nic = end.split(":")
        with lab.machines.inside(host):
            bought.cable(lab.machines, "device", nic, inner, 9000)
    for host in ("left", "right"):
        lab.agent(host)
    return lab


def inventory(lab: Lab, name: str, ports: dict[str, str], nodes: dict[str, list[str]]) -> Path:
    """testbed.toml with a device."""
    path = lab.testbed(name, **nodes)
    said = ", ".join(f'{port} = "{end}"' for port, end in ports.items())
    path.write_text(path.read_text() + f"[external.sw]\nports = {{ {said} }}\n")
    return path


def ran(lab: Lab, number: int, ports: dict[str, str], nodes: dict[str, list[str]]) -> Any:
    """A run by a controller of its own, with its own inventory: code, result, what was said."""
    name, port = f"control{number}", 7020 + number
    lab.controller(inventory(lab, f"bed{number}", ports, nodes), port, name)
    lab.up(name)
    plan = lab.folder / "between.toml"
    plan.write_text(PLAN)
    code, result, said = lab.ended(lab.run(plan, name=f"run{number}", port=port))
    process = lab.processes.pop(name)
    process.terminate()
    process.wait()
    return {"code": code, "result": result, "said": said}


def told(control: Any, folder: str, devices: list[str]) -> dict[str, dict[str, Any]]:
    """A run through each device, a bridge or one of `bought.ERRORS`, with the same agents; what is
    left of it on the machines."""
    lab = machines(folder)
    inner = ["d1", "d2", "d3"]
    found: dict[str, dict[str, Any]] = {}
    try:
        for number, device in enumerate(devices):
            forwarder = None
            if device == "bridge":
                bought.bridge(lab.machines, "device", inner)
            else:
                forwarder = bought.Forwarder(lab.machines, "device", inner, bought.ERRORS[device])
                forwarder.start()
            try:
                found[device] = ran(lab, number, PORTS, NODES)
                found[device]["left"] = leases(lab)
            finally:
                if forwarder is not None:
                    forwarder.stop.set()
                    forwarder.join()
    finally:
        lab.close()
    return found


def leases(lab: Lab) -> list[str]:
    """Leases and workers that are still there, a moment later."""
    end = time.monotonic() + PATIENCE_S
    while True:
        left = lab.leftovers()
        found = left["workers"] + left["leases"] + left["sockets"]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def refused(control: Any, folder: str) -> dict[str, Any]:
    """One inventory after the other that is wrong, each by a controller of its own."""
    lab = machines(folder)
    bought.bridge(lab.machines, "device", ["d1", "d2", "d3"])
    found = {
        "unsaid": ran(lab, 1, {k: v for k, v in PORTS.items() if k != "sink"}, NODES),
        "of no machine": ran(lab, 2, PORTS | {"sink": "eth1"}, NODES),
        "wrong agent": ran(lab, 3, PORTS, {"left": ["sink"], "right": ["nic*"]}),
        "no such NIC": ran(lab, 4, PORTS | {"sink": "right:eth9"}, NODES),
        "no port of it": ran(lab, 5, PORTS | {"sink": "right:eth2"}, NODES),
        "in use": ran(lab, 6, PORTS | {"sink": "right:ctl"}, NODES),
    }
    with lab.machines.inside("device"):
        bought.narrow("d3", 900)
    found["narrow"] = ran(lab, 7, PORTS, NODES)
    with lab.machines.inside("device"):
        bought.narrow("d3", 9000)
    found["held"] = held(lab)
    found["left"] = leases(lab)
    lab.close()
    return found


def held(lab: Lab) -> Any:
    """A run while another controller's has the NICs."""
    lab.controller(inventory(lab, "first", PORTS, NODES), 7040, "first")
    lab.up("first")
    plan = lab.folder / "long.toml"
    plan.write_text(PLAN.replace('"0.5s"', '"60s"'))
    lab.run(plan, name="long", port=7040)
    until(lambda: "right: running" in lab.said("long"), lambda: lab.said("long"))
    found = ran(lab, 8, PORTS, NODES)
    process = lab.processes.pop("long")
    with suppress(ProcessLookupError):
        process.terminate()
    process.wait()
    return found
