"""A process in namespaces of its own, with a veth pair `near` and `far`, that runs `tailback storm`
as a user would; prints JSON of what came of it. Started with the name of what is to be tried."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from orchestrator import python_command
from orchestrator.targets.software.isolation import isolate

STORM = ("storm", "near", "--priorities", "3,4", "--rate", "100Mb/s", "--json")
QUANTA_AT = 18


def state() -> list[Any]:
    """All that could be changed of the interfaces."""
    from orchestrator.testbed.agent import ethtool

    names = ("near", "far")
    return [[ethtool.flags(n), ethtool.mtu(n), ethtool.mac(n), ethtool.offloads(n)] for n in names]


def ear() -> socket.socket:
    """Hears MAC control frames at the far end."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8808))
    raw.bind(("far", 0x8808))
    raw.settimeout(0.5)
    return raw


def heard(raw: socket.socket) -> list[bytes]:
    found = []
    while True:
        try:
            found.append(raw.recv(200))
        except TimeoutError:
            return found


def command(*words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    line = python_command.module("orchestrator.cli.__main__", *words)
    return subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    told = json.loads(out) if out.startswith("{") else out
    return {"code": process.returncode, "told": told, "err": err}


def whole() -> dict[str, Any]:
    """A storm from its beginning to its end, with a far end; then refusals."""
    before = state()
    found = {"storm": ended(command(*STORM, "--for", "1s", "--far-end", "far"))}
    found["same"] = state() == before
    refusals = {
        "unknown": ("storm", "nothere"),
        "far": (*STORM, "--far-end", "nothere"),
        "loopback": ("storm", "lo", "--in-use", "--rate", "1Gb/s"),
    }
    found |= {name: ended(command(*words)) for name, words in refusals.items()}
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        near = socket.if_nametoindex("near")
        netlink.addr("add", index=near, address="10.1.2.3", prefixlen=24)
        found["address"] = ended(command(*STORM, "--for", "100ms"))
        found["in use"] = ended(command(*STORM, "--for", "100ms", "--in-use"))
        netlink.link("set", index=socket.if_nametoindex("far"), state="down")
        found["no carrier"] = ended(command(*STORM, "--in-use"))
        netlink.link("set", index=near, state="down")
        found["down"] = ended(command(*STORM, "--in-use"))
    return found


def cut(number: signal.Signals) -> dict[str, Any]:
    """A storm that is ended by a signal as soon as its first frame is there, which may be before
    the thread that started it goes on."""
    before, raw = state(), ear()
    process = command(*STORM, "--for", "60s")
    raw.settimeout(60)
    first = raw.recv(200)
    process.send_signal(number)
    found = ended(process)
    raw.settimeout(0.5)
    frames = [first, *heard(raw)]
    quanta = [frame[QUANTA_AT : QUANTA_AT + 16].hex() for frame in frames]
    after = state()
    return found | {"same": after == before, "states": [before, after], "quanta": quanta}


def twice() -> dict[str, Any]:
    """Two storms of one port."""
    raw = ear()
    raw.settimeout(60)
    one = command(*STORM, "--for", "60s")
    raw.recv(200)
    other = ended(command(*STORM, "--for", "1s"))
    one.send_signal(signal.SIGINT)
    return {"other": other, "one": ended(one)}


def scraped() -> dict[str, Any]:
    """A storm with an endpoint: scrapes while it goes on, the report, the last scrape."""
    import urllib.request

    process = command(*STORM, "--for", "3s", "--far-end", "far", "--metrics", "0")
    assert process.stderr is not None
    lines: list[str] = []
    while "metrics at " not in (lines or [""])[-1]:
        lines.append(process.stderr.readline())
    url = lines[-1].split("metrics at ")[1].strip()

    def scrape() -> str:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode())

    texts: list[str] = []
    while "tailback_storm_frames_total" not in (texts or [""])[-1]:
        texts.append(scrape())
        time.sleep(0.1)
    live = [texts[-1]]
    while live[-1].split("storm_paused")[-1] == live[0].split("storm_paused")[-1]:
        live.append(scrape())
        time.sleep(0.1)
    while "final values stay" not in lines[-1]:
        lines.append(process.stderr.readline())
    last = scrape()
    out, _ = process.communicate(timeout=120)
    return {"code": process.returncode, "told": json.loads(out), "live": live[-1], "last": last}


def main(what: str) -> None:
    """Make the namespaces and the pair, try it."""
    isolate()
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        netlink.link("add", kind="veth", ifname="near", peer={"ifname": "far"})
        for name in ("lo", "near", "far"):
            netlink.link("set", index=socket.if_nametoindex(name), state="up")
        for name in ("near", "far"):  # each has its carrier by itself, and flags that say so
            index = socket.if_nametoindex(name)
            while netlink.link("get", index=index)[0].get("operstate") != "UP":
                time.sleep(0.01)
    tried = {
        "whole": whole,
        "twice": twice,
        "interrupted": lambda: cut(signal.SIGINT),
        "killed": lambda: cut(signal.SIGKILL),
        "scraped": scraped,
    }
    print(json.dumps(tried[what]()))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
