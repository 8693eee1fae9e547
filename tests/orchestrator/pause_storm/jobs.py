"""Jobs of a worker: storms over a veth pair of its own, with lapses planted in them."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import numpy as np

from orchestrator.calibration.datapath_trial import FREE_PS, rehearse
from orchestrator.calibration.packet_observer import Observer, Offset
from orchestrator.calibration.trial_links import VETH, ObserverPlacement
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.pause_storm import far_end, send_loop
from orchestrator.pause_storm.storm_interfaces import Port, prepare
from orchestrator.pause_storm.storm_report import observer_table
from orchestrator.pause_storm.storm_request import Pattern, StormRequest
from orchestrator.pause_storm.storm_runner import StormThread, planned_of, state_of
from orchestrator.pause_storm.storm_state import StormState, start
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.datapath_thread import Thread
from orchestrator.targets.software.datapath_thread import start as start_threads
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
from orchestrator.targets.software.plan_job import join
from orchestrator.targets.software.thread_io import Shared

GIGABIT = 10**9
MAC = "02:54:42:00:00:09"


def opened(machines: Machines, name: str, mac: str, rate: int) -> Port:
    """The first interface of a machine, as a port of a storm."""
    with machines.inside(name):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        raw.bind(("p0", 0))
        prepare(raw)
    return Port("p0", mac, "veth", rate, raw)


def compile_first(asked: StormRequest, port: Port) -> None:
    """The loop without a frame, so that no storm waits for the compiler."""
    desk = state_of(planned_of(asked, [port], 0, sends=False), stamps=False)
    start(desk, 0, 0)
    send_loop.run_holds(desk)
    send_loop.drain_stamps(desk)


def skip_refreshes(desk: StormState, after_s: float, length_ns: int) -> None:
    """Plant a lapse: the next frame is due that much later than it was."""
    time.sleep(after_s)
    desk.holds[0]["due_ns"] += length_ns
    desk.holds[0]["deadline_ns"] += length_ns


def stormed(
    control: Any,
    seconds: float,
    rate: int = GIGABIT,
    quanta: int = 65_535,
    pattern: tuple[int, int] | None = None,
    planted_ns: int = 0,
    foreign: bool = False,
    plain: bool = False,
    slots: int = far_end.SLOTS,
) -> dict[str, Any]:
    """What each observer saw of a storm; `planted_ns`: a refresh in its middle is so much later."""
    far_end.SLOTS = slots
    machines = Machines()
    for name in ("near", "far"):
        machines.add(name)
    machines.join("near", "far")
    told = None if pattern is None else Pattern(*pattern)
    priorities = None if plain else (3, 4)
    asked = StormRequest(("p0",), seconds, priorities, quanta, rate, told)
    port = opened(machines, "near", MAC, rate)
    compile_first(asked, port)
    desk = state_of(planned_of(asked, [port], 0))
    with machines.inside("far"):
        heard = "02:54:42:00:00:77" if foreign else MAC
        end = far_end.FarEnd(FIRST_INTERFACE, heard, 0, int(desk.holds[0]["hold_ns"]), desk.notes)
    thread = StormThread(desk)
    begun = time.monotonic_ns()
    start(desk, begun, begun + int(seconds * 1e9))
    thread.start()
    if planted_ns:
        skip_refreshes(desk, seconds / 2, planted_ns)
    while thread.is_alive():
        thread.join(0.02)
        end.take()
    send_loop.drain_stamps(desk)
    end.end()
    counted = machines.interface_counters("far")[0]["rx_packets"]
    return {
        "own": observer_table(desk.own[0]),
        "kernel": observer_table(desk.kernel[0]),
        "far_end": observer_table(end.ledger[0]) | {"dropped": end.dropped},
        "interface": counted,
        "notes": desk.notes[: int(desk.notes[-1, 0])].tolist(),
        "scheduled": thread.scheduled,
    }


def held_port(control: Any, planted_ns: int) -> dict[str, Any]:
    """A NIC of a plan on real frames, stormed from outside for 0.8 s: what it counted, and when its
    data frames came to the far end."""
    plan = Plan(
        name="held",
        duration="1.4s",
        sample_interval="100ms",
        nodes={"nic": {"kind": "nic"}, "switch": {"kind": "switch"}, "sink": {"kind": "sink"}},
        links={
            "up": {"ends": ["nic", "switch"], "rate": GIGABIT},
            "down": {"ends": ["switch", "sink"], "rate": GIGABIT},
        },
        traffic={"gen": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": GIGABIT // 20}},
    )
    rehearse(plan)
    resolved = plan.check(Registry.load())
    machines = Machines()
    local = join(resolved.plan, machines)
    nic = Thread(resolved, machines, local, ["nic"], 0, Shared.of(1, FREE_PS))
    observer = Observer(VETH.ring(machines, ObserverPlacement("switch", 20_000)), 20_000)
    address = nic.assembly.indices.port_address("switch.nic")
    mac = int(mac_of(address)).to_bytes(6).hex(":")
    asked = StormRequest(("p0",), 0.8, (0, 3), rate_bps=GIGABIT)
    port = opened(machines, "switch", mac, GIGABIT)
    compile_first(asked, port)
    desk = state_of(planned_of(asked, [port], 0))
    begun = start_threads([nic], 50_000_000)
    storm = StormThread(desk)
    start(desk, begun + 300_000_000, begun + 1_100_000_000)
    storm.start()
    planter = threading.Thread(target=skip_refreshes, args=(desk, 0.75, planted_ns))
    if planted_ns:
        planter.start()
    storm.join()
    nic.join()
    send_loop.drain_stamps(desk)
    time.sleep(0.02)
    seen = observer.take(Offset.now().ns)
    data = seen.data.times_ns - begun
    row = nic.assembly.world.ports[nic.assembly.indices.port_rows["nic.switch"]]
    return {
        "paused_s": int(row["paused_ps"]) / 1e12,
        "pauses": int(row["pause_received"]),
        "foreign": int(nic.assembly.world.nodes["foreign"].sum()),
        "before": int((data < 300_000_000).sum()),
        "held": int(((data > 400_000_000) & (data < 1_100_000_000)).sum()),
        "after": int((data > 1_100_000_000).sum()),
        "own": observer_table(desk.own[0]),
        "kernel": observer_table(desk.kernel[0]),
        "longest_silence_s": float(np.diff(data).max()) / 1e9,
    }
