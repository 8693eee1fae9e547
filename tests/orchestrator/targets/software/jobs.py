"""Jobs that the tests of the software target run in a worker."""

from __future__ import annotations

import os
import select
import time
from typing import Any

from orchestrator.errors import Refused
from orchestrator.targets.software.network_namespaces import Machines
from tests.patience import PATIENCE_S

DATA = bytes.fromhex("025442000002 025442000001 8100 a001 0800")
PLAIN = bytes.fromhex("0180c2000001 025442000001 8808 0001 ffff")


def pair(machines: Machines) -> None:
    """Two joined machines, a and b."""
    machines.add("a")
    machines.add("b")
    machines.join("a", "b")


def echo(control: Any, value: Any) -> Any:
    """Report, wait for an order, return it with the value."""
    control.report({"pid": os.getpid()})
    return value, control.orders.get(timeout=PATIENCE_S)


def identity(control: Any) -> dict[str, Any]:
    """Who and where this worker is."""
    import pyroute2

    with pyroute2.IPRoute() as netlink:
        names = [link.get("ifname") for link in netlink.get_links()]
    return {
        "user": os.getuid(),
        "links": names,
        "network": os.readlink("/proc/self/ns/net"),
        "user_namespace": os.readlink("/proc/self/ns/user"),
    }


def hold(control: Any, forever: bool = True) -> None:
    """Make three machines in a row, report, stay."""
    machines = Machines()
    for name in "abc":
        machines.add(name)
        control.report(("added", name))
    machines.join("a", "b")
    control.report(("joined", "ab"))
    machines.join("b", "c")
    for name in "abc":
        machines.open(name)
    control.report(
        (
            "ready",
            [os.readlink(f"/proc/self/fd/{m.descriptor}") for m in machines.machines.values()],
        )
    )
    while forever:
        time.sleep(1)


def spin(control: Any) -> None:
    """Stay in compiled code off the GIL, as a run does."""
    import threading

    import numpy as np

    from orchestrator.engine.jit import compiled

    @compiled
    def loop(word: Any) -> None:
        while word[0] == 0:
            word[1] += 1

    word = np.zeros(2, np.int64)
    thread = threading.Thread(target=loop, args=(word,))
    thread.start()
    control.report("ready")
    thread.join()


def refuse(control: Any) -> None:
    """Fail with a sentence."""
    raise Refused("job", "there is no such thing", "Remedy: none.")


def crash(control: Any) -> None:
    """Fail with a traceback."""
    raise ZeroDivisionError("on purpose")


def silence(control: Any, seconds: float) -> dict[str, Any]:
    """What the kernel itself says in a fresh pair of machines."""
    machines = Machines()
    pair(machines)
    received = []
    sockets = [machines.open("a"), machines.open("b")]
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for ready in select.select(sockets, [], [], left)[0]:
            received.append(ready.recv(100).hex())
    return {
        "received": received,
        "interfaces": machines.interface_counters("a") + machines.interface_counters("b"),
        "offloads": machines.machines["a"].offloads,
    }


def exchange(control: Any) -> list[tuple[int, int, str]]:
    """Send tagged and plain frames of several lengths from b over two ports; what a received."""
    import numpy as np

    from orchestrator.engine.datapath import mmsg_batch as memory
    from orchestrator.engine.datapath.packet_socket_io import arm, flush, post, receive
    from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE

    machines = Machines()
    pair(machines)
    machines.join("a", "b")
    octets = np.zeros((64, 2048), np.uint8)
    rows: list[tuple[bytes, int, int]] = [
        (DATA, 0, 60),
        (DATA, 1, 1500),
        (PLAIN, 0, 60),
        (DATA, 1, 2048),
        (PLAIN, 1, 1514),
        (DATA, 0, 4000),
    ]
    outgoing = memory.sender(octets, 8, machines.machines["b"].interfaces)
    incoming = memory.receiver(octets, 4)
    for k in range(4):
        arm(incoming, k, 32 + k)
        octets[32 + k] = 0xEE
    near, far = machines.open("a").fileno(), machines.open("b").fileno()
    for slot, (head, port, length) in enumerate(rows):
        known = 46 if length < 1000 else 100
        octets[slot, : len(head)] = list(head)
        octets[slot, len(head) : known] = slot + 1
        assert post(outgoing, port, slot, known, length)
    assert flush(outgoing, far) == len(rows)
    got = []
    while (count := receive(incoming, near, FIRST_INTERFACE)) > 0:
        for k in range(count):
            length, slot = int(incoming.lengths[k]), int(incoming.slots[k])
            got.append((int(incoming.ports[k]), length, octets[slot, :length].tobytes().hex()))
            octets[slot] = 0xEE
            arm(incoming, k, slot)
    assert count == 0
    assert receive(incoming, near, FIRST_INTERFACE) == 0
    return got


def overflow(control: Any) -> dict[str, Any]:
    """Send until the other socket has no more room; counters of both sides."""
    import numpy as np

    from orchestrator.engine.datapath import mmsg_batch as memory
    from orchestrator.engine.datapath.packet_socket_io import flush, post

    machines = Machines()
    pair(machines)
    machines.open("b")
    octets = np.zeros((1, 2048), np.uint8)
    outgoing = memory.sender(octets, 100, machines.machines["a"].interfaces)
    near = machines.open("a").fileno()
    sent = 0
    for _ in range(400):
        for _ in range(100):
            assert post(outgoing, 0, 0, 60, 1500)
        assert not post(outgoing, 0, 0, 60, 1500)
        sent += flush(outgoing, near)
    first = machines.socket_counters("b")
    return {
        "sent": sent,
        "first": first,
        "again": machines.socket_counters("b"),
        "interface": machines.interface_counters("b")[0],
        "losses": machines.losses(),
        "state": outgoing.state.tolist(),
    }


def ready(control: Any) -> dict[str, Any]:
    """Prepare for real time, pin this thread; what became of it."""
    import gc

    import numpy as np

    from orchestrator.targets.software import realtime_scheduling

    array = np.arange(100_000).reshape(100, 1000)
    empty = np.zeros(0, np.int64)
    realtime_scheduling.prefault(array, empty)
    told = realtime_scheduling.prepare()
    return {
        "told": told,
        "collecting": gc.isenabled(),
        "untouched": bool((array.ravel() == np.arange(100_000)).all()),
        "taken": realtime_scheduling.taken(),
        "pinned": realtime_scheduling.pin(1),
        "cores": len(os.sched_getaffinity(0)),
    }


def no_interface(control: Any) -> tuple[int, list[int]]:
    """Send where there is no interface: the error comes back and the frame is counted."""
    import numpy as np

    from orchestrator.engine.datapath import mmsg_batch as memory
    from orchestrator.engine.datapath.packet_socket_io import flush, post

    machines = Machines()
    pair(machines)
    outgoing = memory.sender(np.zeros((1, 2048), np.uint8), 4, [77])
    post(outgoing, 0, 0, 60, 60)
    return int(flush(outgoing, machines.open("a").fileno())), outgoing.state.tolist()
