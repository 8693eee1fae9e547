"""Two NICs of this machine as the path of a trial: claimed, set up, opened and restored."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

from orchestrator.calibration.grounds import Cable
from orchestrator.errors import BadInput, Refused
from orchestrator.targets.software.kernelcalls import capabilities
from orchestrator.testbed.agent import ethtool
from orchestrator.testbed.agent.frames import open_on
from orchestrator.testbed.agent.nics import Claim
from orchestrator.testbed.wire.envelope import Unacceptable

NET_ADMIN, NET_RAW = 12, 13
NEEDED = {NET_ADMIN: "CAP_NET_ADMIN, to set NICs up", NET_RAW: "CAP_NET_RAW, to send through them"}
OBSERVERS = 16
"""One for each trial that has one, and some to spare."""


@dataclass
class Opened:
    """NICs that are set up, and the sockets on them."""

    cable: Cable
    drivers: list[str]
    sockets: list[socket.socket] = field(default_factory=list)

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that the worker inherits."""
        return [one.fileno() for one in self.sockets]


@contextlib.contextmanager
def opened(ports: tuple[str, str] | None) -> Iterator[Opened | None]:
    """The NICs as a cable, until the block is left: then they are as they were before.

    Raises Refused without the rights for it, BadInput for NICs that are not there or in use.
    """
    if ports is None:
        yield None
        return
    require_rights()
    claims: list[Claim] = []
    sockets: list[socket.socket] = []
    try:
        try:
            for name in ports:
                claims.append(Claim.make(name))
            for claim in claims:
                claim.prepare()
            sockets += [open_on([name]) for name in ports]
            sockets += [
                socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(OBSERVERS)
            ]
        except Unacceptable as no:
            raise BadInput("--ports", no.sentence) from no
        except PermissionError as error:
            raise _refused(f"the kernel denied it ({error.strerror})") from error
        indices = [socket.if_nametoindex(name) for name in ports]
        near, far = ((s.fileno(), i) for s, i in zip(sockets, indices, strict=False))
        deaf = [one.fileno() for one in sockets[2:]]
        drivers = [ethtool.driver(name) or "unknown" for name in ports]
        yield Opened(Cable((near, far), deaf), drivers, sockets)
    finally:
        for one in sockets:
            one.close()
        for claim in claims:
            claim.release()


def require_rights() -> None:
    """Raises Refused with what is needed to measure over NICs, where this process lacks it."""
    if lacking := [text for number, text in NEEDED.items() if number not in capabilities()]:
        raise _refused(f"it needs {' and '.join(lacking)}")


def _refused(lack: str) -> Refused:
    remedy = "Remedy: run it as root, or leave --ports out: veth pairs need no right."
    return Refused("calibrate --ports", f"{lack}, and user {os.geteuid()} has not", remedy)
