"""What is done to a run that must not matter to it, or must be counted, and what then came of it.

Each returns what was wrong, by kind; nothing when the testbed was right.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent import ethtool
from tests.trials import plans, strangers
from tests.trials.lab import Lab, until
from tests.trials.lossy import DAMAGE, FORGE, UNANSWERED, Lossy
from tests.trials.scenarios import AHEAD_S, NODES, submit
from tests.trials.undisturbed import Found, Undisturbed, lost_on_wires

LASTS = "0.3s"
CAME = ("met", "unjudged", "missed", "uncertain")
"""Verdicts of runs that came to their end on a machine that did not distort them."""


def large(duration: str = LASTS) -> str:
    """A plan whose results are longer than one chunk."""
    return plans.short(duration).replace("frames = 1000", 'frames = 1000\nsnap = "1500B"')


def bench(folder: Path) -> tuple[Lab, Lossy]:
    """Two hosts with a wire, whose clocks differ; a relay to the right one; keys of strangers."""
    lab = Lab(folder)
    for name in ("left", "right"):
        lab.host(name)
    lab.wire("left:eth1", "right:eth1")
    lab.shifts["right"] = AHEAD_S
    strangers.admit(lab)
    return lab, relay(lab)


def relay(lab: Lab) -> Lossy:
    """Between the controller and the right agent; not started."""
    own, listen = lab.keys("relay"), "tcp://127.0.0.1:7020"
    theirs = curve_keys.own(lab.keys("right")).public
    return Lossy(listen, own, lab.address("right"), theirs, lab.keys("controller"))


def begin(lab: Lab, between: Lossy) -> None:
    """Start agents, relay and controller."""
    between.start()
    for host in lab.hosts:
        lab.agent(host)
    bed = lab.testbed(**NODES)
    text = bed.read_text().replace(lab.address("right"), "tcp://127.0.0.1:7020")
    right, own = (curve_keys.own(lab.keys(who)).public for who in ("right", "relay"))
    bed.write_text(text.replace(right, own))
    lab.bed = bed
    lab.controller(bed)
    lab.up()


def messages(lab: Lab, between: Lossy, due: Undisturbed, name: str) -> tuple[Found, dict[str, Any]]:
    """A run whose orders' first answers are lost, whose results come damaged twice, and about which
    keys make requests that they may not make: it is as an undisturbed one."""
    between.kinds = {UNANSWERED, DAMAGE, FORGE}
    between.count = dict.fromkeys(between.count, 0)
    between.went_on = ""
    submit(lab, large(), name)
    begun = until(lambda: "running" in lab.said(name) or name_over(lab, name), "running")
    found: Found = _offloads_left_on(lab) | _exposed(lab) if begun else {}
    found |= asyncio.run(strangers.orders(lab)) if begun else {}
    _, result, said = lab.ended(name, 300.0)
    between.kinds = set()
    if between.went_on:
        found["checksum"] = [between.went_on]
    if result.get("cause") or not result:
        kind = "owner" if "released" in said and "owner" in found else "retry"
        found.setdefault(kind, []).append(f"ended: {result.get('cause') or said[-200:]}")
    elif not all(between.count[kind] for kind in (UNANSWERED, DAMAGE, FORGE)):
        found["trial"] = [f"nothing was lost or damaged: {between.count}"]
    if result.get("folder") and not result.get("cause"):
        found |= due.wrong(Path(result["folder"]))
    return found, result


def _offloads_left_on(lab: Lab) -> Found:
    """Offloads that are on at NICs of a run that goes on; none where the run has just ended."""
    found = []
    for host in lab.hosts:
        held = strangers.leases(lab)[host]
        with lab.machines._inside(lab.machines.machines[host]):
            states = ethtool.offloads("eth1")
        if held and held == strangers.leases(lab)[host]:
            found += [f"{host}:eth1 {name}" for name, state in states.items() if state]
    return {"offloads": found} if found else {}


def _exposed(lab: Lab) -> Found:
    """What other users of a machine can read or change of an agent's state while a run goes on."""
    found = []
    for host in lab.hosts:
        state = lab.folder / "state" / host
        for path in (state, *state.rglob("*")):
            with suppress(OSError):  # it has just gone
                if (path.lstat().st_mode & 0o077) and not _within_private(path, state):
                    found.append(
                        f"{path.relative_to(lab.folder)}: {path.lstat().st_mode & 0o777:o}"
                    )
    return {"mode": found} if found else {}


def _within_private(path: Path, state: Path) -> bool:
    """Return whether a folder above a path, of the agent's state, lets no other user in."""
    above = [one for one in path.parents if one == state or state in one.parents]
    return any(not one.lstat().st_mode & 0o077 for one in above)


def stranger_beats(lab: Lab, name: str) -> strangers.Heartbeats:
    """Kill the controller of a run whose nodes are hosted, and renew its leases with a key of a
    stranger."""
    wait_for_leases(lab, name)
    until(lambda: lab.leftovers()["workers"] or name_over(lab, name), "a data path")
    held = strangers.leases(lab)
    lab.kill("controller")
    return strangers.Heartbeats(lab, held)


def wait_for_leases(lab: Lab, name: str) -> None:
    """Wait until an agent holds a lease of a submitted run, or the run is over."""
    until(lambda: any(strangers.leases(lab).values()) or name_over(lab, name), "leased")


def expired(lab: Lab) -> int:
    """Leases that agents tore down because their controller was silent."""
    return sum(lab.said(host).count("torn down") for host in lab.hosts)


def expired_since(lab: Lab, before: int) -> Found:
    """Leases that expired since there were `before`, though no controller was killed."""
    return {"expired": ["a lease was not released"]} if expired(lab) > before else {}


def name_over(lab: Lab, name: str) -> bool:
    """Whether a submitted run has ended."""
    return lab.processes[name].poll() is not None


def lossy_wire(lab: Lab, due: Undisturbed, name: str) -> tuple[Found, dict[str, Any]]:
    """A run whose wire loses every frame once it runs: it says so, and how many. What the machine
    in front of the wire counts is as in an undisturbed run."""
    submit(lab, plans.short(LASTS), name)
    until(lambda: "running" in lab.said(name) or name_over(lab, name), "running")
    lab.lose(True)
    try:
        _, result, said = lab.ended(name, 300.0)
    finally:
        lab.lose(False)
    if not result:
        return {"ended": [f"no result: {said[-200:]}"]}, result
    if result.get("cause"):
        return {"ended": [f"ended: {result['cause']}"]}, result
    counted = lost_on_wires(Path(result["folder"]))
    if upstream := due.upstream_wrong(Path(result["folder"]), set(NODES["left"])):
        return {"value": upstream}, result
    if not counted or result["verdict"] in CAME:
        return {"loss": [f"{counted} frames lost, and it is {result['verdict']}"]}, result
    return {}, result
