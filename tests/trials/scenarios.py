"""What the tests let happen in a lab; each is a job of a worker and returns what came of it."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.errors import RunFailed
from tests.trials import plans
from tests.trials.lab import WAIT_S, Lab, until
from tests.trials.steered import steered

NODES = {"left": ["nic", "switch"], "right": ["sink"]}
AHEAD_S = 4321
"""The clock of the right machine: what crosses the cable is timed by both."""
LONG = "100s"
"""Of a run that is ended from outside: whatever happens before, it still goes on."""
PAPER = {"one": ["nic1"], "two": ["nic2"], "mid": ["switch"], "end": ["sink"]}


def pair(folder: str) -> Lab:
    """Two hosts with two cables, agents and a controller: a switch on the left, a sink right."""
    lab = Lab(Path(folder))
    for name in ("left", "right"):
        lab.host(name)
    lab.cable("left:eth1", "right:eth1")
    lab.shifts["right"] = AHEAD_S
    for host in lab.hosts:
        lab.agent(host)
    lab.controller(lab.testbed(**NODES))
    lab.up()
    return lab


def submit(lab: Lab, text: str, name: str = "run", port: int = 7011, *more: str) -> str:
    """Start a run of a plan's text."""
    path = lab.folder / f"{name}.toml"
    path.write_text(text)
    return lab.run(path, *more, name=name, port=port)


def clean(lab: Lab, killed: str = "", within_s: float = WAIT_S) -> dict[str, list[str]]:
    """Wait until nothing is left of a run; what still is, when that does not come.

    What the `killed` agent had on its disk waits for its successor, and is not counted.
    """
    found: dict[str, list[str]] = {}

    def nothing() -> bool:
        left = lab.leftovers()
        for kind in ("files", "leases"):
            left[kind] = [row for row in left[kind] if row.split(":")[0] != killed]
        found.clear()
        found.update({kind: rows for kind, rows in left.items() if rows})
        return not found

    try:
        until(nothing, "clean", within_s)
    except AssertionError:
        return found
    return {}


def paper(
    control: Any,
    folder: str,
    text: str,
    out: str | None = None,
    ahead_s: int = 0,
    pace: float = 1.0,
) -> dict[str, Any]:
    """The topology of NetFPGA-QCN, figure 7 over two NIC machines, a switch and a sink.

    Run folders go to `out`; `ahead_s` lies between the clock of each machine and the next one's;
    `pace`: seconds of the run per second.
    """
    lab = Lab(Path(folder))
    if out is not None:
        lab.runs = Path(out)
        lab.nice = 10
    for number, name in enumerate(PAPER):
        lab.host(name)
        lab.shifts[name] = number * ahead_s
    for number in range(4):
        lab.cable(f"one:eth{number}", f"mid:eth{number}")
        lab.cable(f"two:eth{number}", f"mid:eth{number + 4}")
    lab.cable("mid:eth8", "end:eth0")
    for host in lab.hosts:
        lab.agent(host)
    lab.controller(lab.testbed(**PAPER))
    lab.up()
    code, result, said = lab.ended(submit(lab, text, "run", 7011, "--pace", str(pace)), 1200.0)
    left = clean(lab)
    return {"code": code, "result": result, "said": said, "left": left, "codes": lab.close()}


def failures(control: Any, folder: str) -> dict[str, Any]:
    """One failure after the other on one pair of machines."""
    lab = pair(folder)
    told: dict[str, Any] = {"watched": watched(lab)}
    told["sound"] = told["watched"].pop("run")

    told["steered"] = steered(lab)

    kill = plans.short(LONG, 'at = "0.3s"\nkill_agent = "sink"')
    told["kill_agent"] = ended(lab, submit(lab, kill), killed="right")
    lab.processes.pop("right").wait()
    told["restarted"] = restart(lab, "right")

    told["cut_link"] = ended(lab, submit(lab, plans.short("1s", 'at = "0.3s"\ncut_link = "down"')))
    slow = plans.short("0.4s", 'at = "0.1s"\ndelay_control = "sink"\nto = "100ms"')
    told["delay_control"] = ended(lab, submit(lab, slow, "run", 7011, "--pace", "0.5"))

    name = submit(lab, plans.short(LONG))
    until(lambda: "right: running" in lab.said(name), "running")
    lab.kill("controller")
    code, _, said = lab.ended(name)
    told["controller_killed"] = {"code": code, "said": said, "left": clean(lab)}
    told["agents_say"] = [lab.said(host) for host in lab.hosts]

    lab.controller(lab.testbed(**NODES))
    until(lambda: lab.said("controller").count("agent right: up") >= 3, "up again")
    name = submit(lab, plans.short(LONG))
    until(lambda: "right: running" in lab.said(name), "running")
    lab.controller(lab.testbed("rival", **NODES), 7012, "rival")
    lab.up("rival")
    told["rival"] = outcome(lab, submit(lab, plans.short(), "second", 7012))
    lab.processes[name].terminate()
    code, _, said = lab.ended(name)
    told["cancelled"] = {"code": code, "said": said, "left": clean(lab)}

    lab.cable("left:eth9", "right:eth9")
    lab.cables |= {"c1": ("left:eth1", "right:eth9"), "c2": ("left:eth9", "right:eth1")}
    lab.controller(lab.testbed("wrong", **NODES), 7013, "wrong")
    lab.up("wrong")
    told["wrong_cable"] = ended(lab, submit(lab, plans.short(), "third", 7013))
    told["codes"] = lab.close()
    return told


def swept(control: Any, folder: str) -> dict[str, Any]:
    """A sweep across machines: ended in the midst of it, then begun again."""
    lab = pair(folder)
    plan = lab.folder / "plan.toml"
    plan.write_text(plans.short("0.3s"))
    options = ["--over", "traffic.gen.rate=20Mb/s,40Mb/s", "--seeds", "2", "--pace", "0.1"]
    options += ["--metric", "throughput_bps", "--yes", "--json", "--out", str(lab.folder / "mine")]
    options += ["--controller", "tcp://127.0.0.1:7011", "--keys", str(lab.keys("user"))]
    kept = lab.folder / "mine" / ".points" / "short-across.jsonl"

    def points() -> int:
        return len(kept.read_bytes().splitlines()) if kept.is_file() else 0

    def over() -> bool:
        return lab.processes["first"].poll() is not None

    lab.start("first", None, "sweep", str(plan), *options)
    until(lambda: points() or over(), "a first point", 600.0)
    lab.kill("first")
    before, runs = points(), _begun(lab)
    clean(lab)  # the run under way is its controller's, and comes to its end
    lab.start("second", None, "sweep", str(plan), *options)
    code, result, said = lab.ended("second", 1200.0)
    return {
        "before": before,
        "first": runs,
        "kept": points(),
        "begun": _begun(lab),
        "code": code,
        "result": result,
        "said": said,
        "left": clean(lab),
        "codes": lab.close(),
    }


def _begun(lab: Lab) -> int:
    """Runs that the controller was asked for."""
    return lab.said("controller").count("asked for by")


def outcome(lab: Lab, name: str) -> dict[str, Any]:
    """How a run ended."""
    code, result, said = lab.ended(name)
    return {
        "code": code,
        "verdict": result.get("verdict"),
        "reasons": result.get("fidelity", {}).get("reasons"),
        "said": said,
        "folder": result.get("folder"),
    }


def ended(lab: Lab, name: str, killed: str = "") -> dict[str, Any]:
    """How a run ended, and what it left."""
    return outcome(lab, name) | {"left": clean(lab, killed)}


def watched(lab: Lab) -> dict[str, Any]:
    """Look over a run's shoulder, as the console does: with a key, and with one that is not let
    in."""
    from orchestrator.live import feed_messages
    from orchestrator.live.feed_client import FeedClient
    from orchestrator.testbed import curve_keys
    from orchestrator.testbed.controller import controller_client

    elsewhere = ("--out", str(lab.folder / "mine"))
    name = submit(lab, plans.short("1s"), "run", 7011, *elsewhere)
    address, folder = "tcp://127.0.0.1:7011", lab.keys("user")

    def feeds() -> list[str]:
        with suppress(RunFailed):  # a busy controller may not answer at once
            return list(
                asyncio.run(controller_client.status(address, folder, None))["feeds"].values()
            )
        return []

    feed = until(feeds, "a feed")[0]
    lab.keys("stranger")
    public = str(lab.keys("controller") / curve_keys.PUBLIC)
    watchers = {}
    for who in ("user", "stranger"):
        prepare = controller_client.curve_setup(lab.keys(who), public)
        watchers[who] = FeedClient(feed, "", prepare)
        watchers[who].start()
    received: list[Any] = []

    def over() -> bool:
        received.extend(watchers["user"].take())
        return any(isinstance(message, feed_messages.Judgement) for message in received)

    try:
        until(over, "the verdict")
        strange = watchers["stranger"].take()
    finally:
        for watcher in watchers.values():
            watcher.close()
    samples = [m for m in received if isinstance(m, feed_messages.Samples)]
    states = [m for m in received if isinstance(m, feed_messages.RunState)]
    return {
        "run": ended(lab, name),
        "rows": sum(len(m.times_ps) for m in samples),
        "contiguous": all(
            b.first == a.first + len(a.times_ps) for a, b in itertools.pairwise(samples)
        ),
        "machines": {m.name: m.nodes for state in states for m in state.machines},
        "verdict": next(m.verdict for m in received if isinstance(m, feed_messages.Judgement)),
        "events": [m.detail.get("text") for m in received if isinstance(m, feed_messages.RunEvent)],
        "stranger": len(strange),
        "said": lab.said("controller"),
    }


def restart(lab: Lab, host: str) -> str:
    """Start an agent anew; what it said about its predecessor."""
    before = len(lab.said(host))
    ups = lab.said("controller").count(f"agent {host}: up")
    lab.agent(host)
    until(lambda: lab.said("controller").count(f"agent {host}: up") > ups, "up again")
    return lab.said(host)[before:]


def timed(control: Any, folder: str) -> dict[str, Any]:
    """The same plan with inventories that ask for times of frames, and for launches: what a veth
    has, and what it does not."""
    lab = Lab(Path(folder))
    for name in ("left", "right"):
        lab.host(name)
    lab.cable("left:eth1", "right:eth1")
    for host in lab.hosts:
        lab.agent(host)
    told: dict[str, Any] = {}
    far = plans.short().replace('"sink"]\n', '"sink"]\ndelay = "2ms"\n')
    asked = [
        ("software", 'stamps = "software"', plans.short()),
        ("auto", 'stamps = "auto"', plans.short()),
        ("hardware", 'stamps = "hardware"', plans.short()),
        ("near", "launch = true", plans.short()),
        ("launch", "launch = true", far),
    ]
    for number, (name, line, text) in enumerate(asked):
        bed = lab.testbed(name, **NODES)
        bed.write_text(bed.read_text().replace("nodes = ", f"{line}\nnodes = "))
        lab.controller(bed, 7020 + number, name)
        lab.up(name)
        told[name] = ended(lab, submit(lab, text, f"run-{name}", 7020 + number))
        lab.processes[name].terminate()
        lab.processes.pop(name).wait()
    told["codes"] = lab.close()
    return told
