"""Privileged set-up of AF_XDP: the parent makes map and programs, the worker gets descriptors.

A worker lives in a user namespace of its own, without the capabilities that the kernel
requires to load an XDP program (CAP_BPF and CAP_NET_ADMIN in the first user namespace). Attaching
one to an interface of that namespace takes none of them. So the process that starts the worker
makes the map and the programs, and the worker gets them with its other descriptors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from orchestrator.targets.software.xdp import bpf_program


@dataclass(frozen=True)
class Grant:
    """The map of sockets, and a program for each port; `queues` entries of the map are each's."""

    sockets: int
    programs: list[int]
    queues: int = 1

    @property
    def descriptors(self) -> list[int]:
        """All of them."""
        return [self.sockets, *self.programs]

    def close(self) -> None:
        """Close the descriptors here; processes that inherited them keep theirs."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def make(ports: int, queues: int = 1) -> Grant:
    """The map and the programs of so many ports. Raises OSError (EPERM: not allowed)."""
    grant = Grant(bpf_program.make_map(max(ports * queues, 1)), [], queues)
    try:
        for port in range(ports):
            grant.programs.append(
                bpf_program.load(bpf_program.assembled(grant.sockets, port * queues, queues))
            )
    except BaseException:
        grant.close()
        raise
    return grant
