"""Socket traffic: frames of programs that run on a node (TCP, UDP or other).

The programs stand in the plan's table `programs`; every pair of ends is a flow of its own, with a
host queue and limiters like any other. `frame` bounds their length: it decides the MTU.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tailback.plugin import Algorithm, Capability, Params


class Sockets(Params):
    """Parameters of the network stack that the programs use."""

    ecn: bool = Field(False, description="TCP asks for ECN (net.ipv4.tcp_ecn = 1)")
    rdma: bool = Field(False, description="programs have RDMA, by soft-RoCE (rdma_rxe)")

    def sends_ect(self) -> bool:
        """With `ecn`."""
        return self.ecn


SOCKETS = Algorithm(
    "sockets",
    "traffic",
    "frames of programs on the nodes",
    Sockets,
    np.dtype([("unused", np.int64)]),
    {},
    needs=frozenset({Capability.PROGRAMS}),
    programs=True,
)
