"""Replay of a graph of operations by SimGrid; runs with the Python that has Debian's package.

Reads {"ranks", "bandwidth": octets/s, "latency": s, "in_order", "operations": [...]} from standard
input. An operation is {"rank", "requires", "irequires"} and one of "calc" (ps), "send" (octets;
with "peer") and "recv" (index of its send). With "in_order" a message begins when the one before
it, of the same pair, has arrived, and else shares the links with it. Prints the time (s) at which
the last message has arrived. The hosts are joined by a switch: each has a link up and one down.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import simgrid
from simgrid import Actor, Engine, Mailbox, Mutex, Semaphore, this_actor

OPTIONS = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--log=root.thresh:error"]


def platform(graph: dict[str, Any]) -> str:
    """The network as SimGrid's XML."""
    bandwidth, latency = f"{graph['bandwidth']}Bps", f"{graph['latency'] / 2}s"
    ranks = range(graph["ranks"])
    lines = [f'<host id="h{rank}" speed="1Gf"/>' for rank in ranks]
    for rank in ranks:
        for way in ("up", "down"):
            link = f'<link id="{way}{rank}" bandwidth="{bandwidth}" latency="{latency}"/>'
            lines.append(link)
    for one in ranks:
        for other in ranks:
            if one != other:
                links = f'<link_ctn id="up{one}"/><link_ctn id="down{other}"/>'
                ends = f'src="h{one}" dst="h{other}" symmetrical="NO"'
                lines.append(f"<route {ends}>{links}</route>")
    body = "\n".join(lines)
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM '
        '"https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<zone id="z" routing="Full">\n{body}\n</zone>\n</platform>\n'
    )


class Replay:
    """The operations as actors that wait for one another."""

    def __init__(self, operations: list[dict[str, Any]], in_order: bool) -> None:
        self.operations = operations
        self.in_order = in_order
        self.begin = [Semaphore(0) for _ in operations]
        self.end = [Semaphore(0) for _ in operations]
        self.arrived = [Semaphore(0) for _ in operations]
        self.connections: dict[tuple[int, int], Any] = {}
        self.last = 0.0

    @staticmethod
    def wait(semaphore: Any) -> None:
        """Until it was released once, for as many as ask."""
        semaphore.acquire()
        semaphore.release()

    def local(self, send: int) -> bool:
        """True if a message stays with its rank."""
        one = self.operations[send]
        return bool(one["rank"] == one["peer"])

    def operation(self, number: int) -> None:
        """One of them, from its begin to its end."""
        one = self.operations[number]
        for before in one["requires"]:
            self.wait(self.end[before])
        for before in one["irequires"]:
            self.wait(self.begin[before])
        self.begin[number].release()
        if "calc" in one:
            this_actor.sleep_for(one["calc"] / 1e12)
        if "recv" in one:
            self.wait((self.begin if self.local(one["recv"]) else self.arrived)[one["recv"]])
        self.end[number].release()
        if "send" in one and not self.local(number):
            connection = self.connections.setdefault((one["rank"], one["peer"]), Mutex())
            if self.in_order:
                connection.lock()
            Mailbox.by_name(str(number)).put("", one["send"])
            if self.in_order:
                connection.unlock()

    def arrival(self, number: int) -> None:
        """The receiver of one message, there from the start."""
        Mailbox.by_name(str(number)).get()
        self.last = max(self.last, Engine.clock)
        self.arrived[number].release()


def main() -> None:
    """Read the graph, replay it, print the time."""
    graph = json.load(sys.stdin)
    engine = Engine(["replay", *OPTIONS])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "platform.xml"
        file.write_text(platform(graph))
        engine.load_platform(str(file))
    replay = Replay(graph["operations"], graph["in_order"])
    for number, one in enumerate(graph["operations"]):
        host = simgrid.Host.by_name(f"h{one['rank']}")
        Actor.create(f"operation {number}", host, replay.operation, number)
        if "send" in one and not replay.local(number):
            peer = simgrid.Host.by_name(f"h{one['peer']}")
            Actor.create(f"arrival {number}", peer, replay.arrival, number)
    engine.run()
    print(replay.last)


if __name__ == "__main__":
    main()
