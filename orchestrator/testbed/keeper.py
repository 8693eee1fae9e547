"""Guard process of borrowed interfaces: restores them when the run ends or its process dies.

Run as `python -m orchestrator.testbed.keeper PID INTERFACE...`: it claims them, sets them up, says
so in a line of JSON, and waits until its input is closed or process PID is gone.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from orchestrator.run.reaper import wait_for_end
from orchestrator.testbed import flowcontrol
from orchestrator.testbed.agent.nics import Claim
from orchestrator.testbed.wire.envelope import Unacceptable

PRIVILEGE = "Remedy: run as root, or with the capabilities cap_net_admin and cap_net_raw."
IN_USE = "Remedy: interfaces that nothing else uses, without addresses (docs/external.md)."


def claim(names: list[str], claims: list[Claim]) -> dict[str, Any]:
    """Claim and set up interfaces, one after another; what to say of it."""
    try:
        for name in names:
            one = Claim.make(name)
            claims.append(one)
            one.before["flow_control"] = flowcontrol.read(name)
        told = {}
        for one in claims:
            offloads = one.prepare()
            told[one.name] = {
                "offloads": offloads,
                "flow_control": flowcontrol.switch_off(one.name),
                "before": one.before,
            }
        return {"set": told}
    except Unacceptable as no:
        return {"refused": no.sentence, "remedy": IN_USE}
    except OSError as error:
        return {"refused": f"{name} cannot be set up: {error.strerror}", "remedy": PRIVILEGE}


def main(words: list[str]) -> int:
    """Claim, say so, wait, put back."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    claims: list[Claim] = []
    try:
        told = claim(words[1:], claims)
        print(json.dumps(told), flush=True)
        if "set" in told:
            wait_for_end(int(words[0]))
    finally:
        for one in claims:
            flowcontrol.restore(one.name, one.before.get("flow_control"))
            one.release()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
