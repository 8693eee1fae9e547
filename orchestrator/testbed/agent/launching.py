"""Launch time of a NIC: queueing discipline `etf`, and a check of its clock against CLOCK_TAI."""

from __future__ import annotations

import os
import socket
import time

from orchestrator.engine.datapath.launches import QUEUE_NS
from orchestrator.targets.software import etf, phc
from orchestrator.testbed.agent import stamping
from orchestrator.testbed.wire.envelope import Unacceptable


def turn_on(nic: str) -> None:
    """Enable launch times of a NIC. Raises Unacceptable, by name, for what it lacks."""
    index = socket.if_nametoindex(nic)
    handle, kind = etf.root(index)
    if handle not in (0, etf.HANDLE):
        text = f"NIC {nic} has a queueing discipline of its own ({kind}), which stays"
        raise Unacceptable("launch", text)
    try:
        etf.put(index, queues(nic))
    except OSError as error:
        raise Unacceptable("launch", f"NIC {nic} has no launch times: {etf.why(error)}") from None
    _check_clock(nic)


def turn_off(nic: str) -> None:
    """Restore the ordinary queues of a NIC that has `etf`. Raises OSError."""
    index = socket.if_nametoindex(nic)
    if etf.root(index)[0] == etf.HANDLE:
        etf.take_away(index)


def queues(nic: str) -> int:
    """Number of transmit queues of a NIC."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        link = netlink.link("get", index=socket.if_nametoindex(nic))[0]
    return int(link.get_attr("IFLA_NUM_TX_QUEUES") or 1)


def _check_clock(nic: str) -> None:
    """A NIC launches by its own clock at what CLOCK_TAI is to be: both have to tell the same."""
    clock = stamping.open_clock(nic)
    try:
        reading = phc.read(clock)
    except OSError as error:
        text = f"the clock of NIC {nic} cannot be read ({error.strerror})"
        raise Unacceptable("launch", text) from None
    finally:
        os.close(clock)
    ahead = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
    apart = abs(reading.own_ns - reading.system_ns - round(ahead / 10**9) * 10**9)
    if apart > QUEUE_NS:
        raise Unacceptable(
            "launch",
            f"the clock of NIC {nic} is {apart / 1e9:g} s from CLOCK_TAI, and {QUEUE_NS / 1e9:g} s "
            f"are accepted; `phc2sys -s CLOCK_REALTIME -c {nic} -O 37` keeps it there",
        )
