"""Guard process of borrowed interfaces: restores them when the run ends or its process dies.

Run as `python -m orchestrator.testbed.nic_guard_process PID INTERFACE...`: it claims them, sets
them up, says so in a line of JSON, and waits until its input is closed or process PID is gone.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

from orchestrator.run.reaper import wait_for_end
from orchestrator.targets.software.offloads import SIOCETHTOOL
from orchestrator.testbed.agent.nic_claims import Claim
from orchestrator.testbed.wire.envelope import Unacceptable

# PAUSE settings of a NIC: read, disabled, restored (ETHTOOL_GPAUSEPARAM, linux/ethtool.h).
#
# A NIC that takes part in flow control obeys a PAUSE itself, holds our frames by itself, and shows
# us nothing of it. Many NICs never pass a PAUSE to the host: then only held frames show that a
# device pauses.

GET, SET = 0x12, 0x13
LAYOUT = "IIII"
"""Command, then whether it negotiates, obeys (rx) and sends (tx)."""
PauseParameters = dict[str, bool]


def _pause_parameters(nic: str, *words: int) -> tuple[int, ...]:
    request = ctypes.create_string_buffer(struct.pack(LAYOUT, *words), struct.calcsize(LAYOUT))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        ifreq = struct.pack("16sP8x", nic.encode(), ctypes.addressof(request))
        fcntl.ioctl(control.fileno(), SIOCETHTOOL, ifreq)
    return struct.unpack(LAYOUT, request.raw)[1:]


def read_pause(nic: str) -> PauseParameters | None:
    """PAUSE parameters of a NIC; None where it has no flow control, or cannot report it."""
    with suppress(OSError):
        negotiates, obeys, sends = _pause_parameters(nic, GET, 0, 0, 0)
        return {"negotiates": bool(negotiates), "obeys": bool(obeys), "sends": bool(sends)}
    return None


def disable_pause(nic: str) -> PauseParameters | None:
    """Have it neither obey nor send any; how it is then."""
    return restore_pause(nic, {"negotiates": False, "obeys": False, "sends": False})


def restore_pause(nic: str, words: PauseParameters | None) -> PauseParameters | None:
    """Put it back; nothing to do where it was not known. How it is then."""
    if words is not None and read_pause(nic) not in (None, words):
        with suppress(OSError):  # the resulting state is read back below
            _pause_parameters(nic, SET, words["negotiates"], words["obeys"], words["sends"])
    return read_pause(nic)


PRIVILEGE = "Remedy: run as root, or with the capabilities cap_net_admin and cap_net_raw."
IN_USE = "Remedy: interfaces that nothing else uses, without addresses (docs/dut.md)."


def claim(names: list[str], claims: list[Claim]) -> dict[str, Any]:
    """Claim and set up interfaces, one after another; what to say of it."""
    try:
        for name in names:
            one = Claim.make(name)
            claims.append(one)
            one.before["flow_control"] = read_pause(name)
        answer = {}
        for one in claims:
            offloads = one.prepare()
            answer[one.name] = {
                "offloads": offloads,
                "flow_control": disable_pause(one.name),
                "before": one.before,
            }
        return {"set": answer}
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
        answer = claim(words[1:], claims)
        print(json.dumps(answer), flush=True)
        if "set" in answer:
            wait_for_end(int(words[0]))
    finally:
        for one in claims:
            restore_pause(one.name, one.before.get("flow_control"))
            one.release()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
