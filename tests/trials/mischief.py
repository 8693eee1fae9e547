"""What is done to a run that must not matter to it, or must be counted, and what then came of it.

Each returns what was wrong, by kind; nothing when the testbed was right.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import zmq.asyncio

from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import Hello, OfLease
from orchestrator.testbed.controller.controller_messages import OfRun
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from tests.trials import plans
from tests.trials.lab import Lab, until
from tests.trials.lossy import DAMAGE, UNANSWERED, Lossy
from tests.trials.scenarios import NODES, submit
from tests.trials.undisturbed import Undisturbed, lost_on_wires

STRANGER = "stranger"
Found = dict[str, list[str]]
LASTS = "0.3s"
CAME = ("met", "unjudged", "missed", "uncertain")
"""Verdicts of runs that came to their end on a machine that did not distort them."""


def large(duration: str = LASTS) -> str:
    """A plan whose results are longer than one chunk."""
    return plans.short(duration).replace("frames = 1000", 'frames = 1000\nsnap = "1500B"')


def bench(folder: Path) -> tuple[Lab, Lossy]:
    """Two hosts with a wire, a relay to the right one, and a stranger whose key is let in."""
    lab = Lab(folder)
    for name in ("left", "right"):
        lab.host(name)
    lab.wire("left:eth1", "right:eth1")
    public = str(lab.keys(STRANGER) / curve_keys.PUBLIC)
    for who in ("left", "right", "controller"):
        curve_keys.authorise(lab.keys(who), public)
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
    """A run whose orders' first answers are lost, whose results come damaged once, and which a
    stranger wants to end: it is as one of which nobody wanted anything."""
    between.kinds = {UNANSWERED, DAMAGE}
    between.count = dict.fromkeys(between.count, 0)
    between.went_on = ""
    submit(lab, large(), name)
    begun = until(lambda: "running" in lab.said(name) or name_over(lab, name), "running")
    refused = asyncio.run(orders_of_a_stranger(lab)) if begun else {}
    _, result, said = lab.ended(name, 300.0)
    between.kinds = set()
    found: Found = dict(refused)
    if between.went_on:
        found["checksum"] = [between.went_on]
    if result.get("cause") or not result:
        kind = "owner" if "released" in said and "owner" in found else "retry"
        found.setdefault(kind, []).append(f"ended: {result.get('cause') or said[-200:]}")
    elif not between.count[UNANSWERED] or not between.count[DAMAGE]:
        found["trial"] = [f"nothing was lost or damaged: {between.count}"]
    if result.get("folder") and not result.get("cause"):
        found |= due.wrong(Path(result["folder"]))
    return found, result


def name_over(lab: Lab, name: str) -> bool:
    """Whether a submitted run has ended."""
    return lab.processes[name].poll() is not None


async def orders_of_a_stranger(lab: Lab) -> Found:
    """Try to end what is another's: leases at the agents, the run at the controller."""
    context = zmq.asyncio.Context()
    pair = curve_keys.own(lab.keys(STRANGER))
    done: list[str] = []

    async def tried(who: str, asker: RpcClient, kind: str, body: Any) -> None:
        try:
            await asker.ask(kind, body, within_s=30.0)
            done.append(f"{who} did {kind} for a stranger")
        except Refusal as no:
            if no.code not in ("not-yours", "no-lease", "no-run"):
                done.append(f"{who}: {no}")

    try:
        for host in lab.hosts:
            asker = _asker(context, lab, host, lab.address(host), pair)
            offer, _ = await asker.ask("hello", Hello(), within_s=30.0)
            for lease in {nic["lease"] for nic in offer["nics"]} - {None}:
                await tried(f"agent {host}", asker, "release", OfLease(lease=lease))
            asker.close()
        asker = _asker(context, lab, "controller", "tcp://127.0.0.1:7011", pair)
        status, _ = await asker.ask("status", {}, within_s=30.0)
        for run in status["runs"]:
            await tried("controller", asker, "cancel", OfRun(run=run))
        asker.close()
    except Unanswered as silence:
        done.append(str(silence))
    finally:
        context.destroy(0)
    return {"owner": done} if done else {}


def _asker(
    context: zmq.asyncio.Context, lab: Lab, who: str, address: str, pair: curve_keys.Pair
) -> RpcClient:
    return RpcClient(context, who, address, curve_keys.own(lab.keys(who)).public, pair)


def lossy_wire(lab: Lab, name: str) -> tuple[Found, dict[str, Any]]:
    """A run whose wire loses every frame once it runs: it says so, and how many."""
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
    if not counted or result["verdict"] in CAME:
        return {"loss": [f"{counted} frames lost, and it is {result['verdict']}"]}, result
    return {}, result
