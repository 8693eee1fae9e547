"""How soon it is known, and said, that something is gone or not let in; over several trials.

    python -m tests.trials.detection --trials 5

What the columns count, in seconds: `told` until `tailback run` has ended with a verdict that names
the agent (or, for keys, until the end that asked knows); `there` until the other end has said so;
`clean` until nothing is left of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import zmq.asyncio
from pyroute2 import IPRoute

from orchestrator.testbed import curve_keys
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from tests.trials import plans
from tests.trials.lab import Lab, until
from tests.trials.scenarios import clean, pair, restart, submit

VICTIM = "right"


def detect(control: Any, folder: str, trials: int) -> list[dict[str, Any]]:
    """The job: a row per trial and kind."""
    lab = pair(folder)
    rows = []
    for _ in range(trials):
        for trial in (killed, unplugged, unlisted, another_server, controller_killed):
            row = {"what": trial.__name__.replace("_", " "), **trial(lab)}
            row["load"] = round(os.getloadavg()[0], 1)
            control.report(row)
            rows.append(row)
    lab.close()
    return rows


def _running(lab: Lab) -> str:
    name = submit(lab, plans.short("60s"))
    until(lambda: f"{VICTIM}: running" in lab.said(name), "running")
    return name


def _ended(lab: Lab, name: str, began: float) -> dict[str, Any]:
    code, result, said = lab.ended(name)
    told = time.monotonic() - began
    cause = result.get("cause", said.strip().splitlines()[-1])
    return {"told": told, "code": code, "verdict": result.get("verdict"), "said": cause}


def killed(lab: Lab) -> dict[str, Any]:
    """SIGKILL of an agent."""
    name = _running(lab)
    began = time.monotonic()
    lab.kill(VICTIM)
    row = _ended(lab, name, began)
    restart(lab, VICTIM)
    return row | {"left": clean(lab)}


def unplugged(lab: Lab) -> dict[str, Any]:
    """An agent whose network is gone: nothing closes its connection."""
    name = _running(lab)
    ups = lab.said("controller").count(f"agent {VICTIM}: up")
    began = time.monotonic()
    _plug(lab, "down")
    row = _ended(lab, name, began)
    left = clean(lab)
    row["clean"] = time.monotonic() - began
    _plug(lab, "up")
    until(lambda: lab.said("controller").count(f"agent {VICTIM}: up") > ups, "up again")
    return row | {"left": left}


def _plug(lab: Lab, state: str) -> None:
    """The near end of the cable to an agent: its address goes and comes with it."""
    with IPRoute() as netlink:
        index = netlink.link_lookup(ifname=f"ctl{lab.hosts.index(VICTIM) + 1}")[0]
        netlink.link("set", index=index, state=state)


def controller_killed(lab: Lab) -> dict[str, Any]:
    """SIGKILL of the controller: agents tear down by themselves."""
    name = _running(lab)
    before = [len(lab.said(host)) for host in lab.hosts]
    began = time.monotonic()
    lab.kill("controller")
    left = clean(lab)
    row = {"clean": time.monotonic() - began}
    row |= _ended(lab, name, began) | {"left": left}
    for host, length in zip(lab.hosts, before, strict=True):
        if "torn down" not in lab.said(host)[length:]:
            raise AssertionError(f"{host} did not say that it tore down")
    ups = {host: lab.said("controller").count(f"agent {host}: up") for host in lab.hosts}
    lab.controller(lab.bed)
    for host in lab.hosts:
        until(
            lambda host=host: lab.said("controller").count(f"agent {host}: up") > ups[host],
            "up again",
        )
    return row


def unlisted(lab: Lab) -> dict[str, Any]:
    """A key that the agent does not know."""
    return _rejected(lab, "stranger", curve_keys.own(lab.keys(VICTIM)).public)


def another_server(lab: Lab) -> dict[str, Any]:
    """An authorised key that takes the agent for another one."""
    return _rejected(lab, "controller", curve_keys.own(lab.keys("stranger")).public)


def _rejected(lab: Lab, who: str, public: str) -> dict[str, Any]:
    lab.keys("stranger")
    length = len(lab.said(VICTIM))
    return asyncio.run(
        _ask(
            lab.address(VICTIM),
            curve_keys.own(lab.keys(who)),
            public,
            lambda: "key rejected" in lab.said(VICTIM)[length:],
        )
    )


async def _ask(
    address: str, pair: curve_keys.Pair, public: str, there: Callable[[], bool]
) -> dict[str, Any]:
    context = zmq.asyncio.Context()
    began = time.monotonic()
    asker = RpcClient(context, f"agent {VICTIM}", address, public, pair)
    try:
        await asker.ask("hello", within_s=30.0)
        raise AssertionError("it was let in")
    except (Unanswered, Refusal) as no:
        row = {"told": time.monotonic() - began, "said": str(no)}
        if "key rejected" not in row["said"]:
            raise AssertionError(row["said"]) from None
    while not there():
        await asyncio.sleep(0.01)
    row["there"] = time.monotonic() - began
    asker.close()
    context.term()
    return row


def show(row: dict[str, Any]) -> str:
    """A row of the table."""
    times = [f"{row[key]:.2f}" if key in row else "-" for key in ("told", "there", "clean")]
    cells = [row["what"].ljust(18), *(text.rjust(6) for text in times)]
    left = f"LEFT {row['left']} " if row.get("left") else ""
    return " ".join([*cells, f"{row['load']:5.1f}", left + str(row.get("said", ""))[:90]])


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.worker_process import Worker

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=5)
    asked = parser.parse_args()
    print("what                 told  there  clean  load said")
    plans.compile_once()
    with tempfile.TemporaryDirectory(prefix="detection-") as folder:
        job = "tests.trials.detection:detect"
        with Worker(job, folder, asked.trials) as worker:
            for row in worker.reports():
                print(show(row), flush=True)
            rows = worker.result
    for what in dict.fromkeys(row["what"] for row in rows):
        mine = [row for row in rows if row["what"] == what]
        worst = {
            key: round(max(row[key] for row in mine if key in row), 2)
            for key in ("told", "there", "clean")
            if any(key in row for row in mine)
        }
        print(f"longest of {len(mine)}, {what}: {worst} s")
    return int(any(row.get("left") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
