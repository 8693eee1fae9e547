"""Selection of the packet back end of a run: the requested one, the available ones, the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.errors import BadInput, Refused
from orchestrator.live.datapath_options import AUTO, DATAPATHS, PACKET, STAMPED, STAMPS, XDP
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external_nodes import externals
from orchestrator.plan.frame_lengths import longest_frames
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.packet_backends import PACKETS, Backend, StampedPackets
from orchestrator.targets.software.timestamp_sources import BOTH
from orchestrator.targets.software.xdp import privileged_setup, xdp_probe
from orchestrator.targets.software.xdp.xdp_backend import LONGEST, Xdp, stride_for


@dataclass(frozen=True)
class BackendChoice:
    """A backend and what it needs; it travels to the worker. `said` is for manifest and report."""

    name: str
    said: dict[str, Any] = field(default_factory=dict)
    grant: privileged_setup.Grant | None = None
    stride: int = 0
    stamps: str | None = None
    """Of `orchestrator.live.datapath_options`, where asked for."""
    launch: bool = False

    def with_words(self, **words: Any) -> BackendChoice:
        """The same choice, with further entries for manifest and report."""
        return replace(self, said=self.said | words)

    @property
    def descriptors(self) -> list[int]:
        """File descriptors for the worker."""
        return self.grant.descriptors if self.grant else []

    def backend(self) -> Backend:
        """Made in the worker."""
        if self.grant is not None:
            return Xdp(self.grant, self.stride)
        if self.stamps is not None:
            return StampedPackets(BOTH)
        return StampedPackets() if self.name == STAMPED else PACKETS


ORDINARY = BackendChoice(PACKET)


def lack(resolved: ResolvedPlan) -> Refused | None:
    """Why the frames of a plan do not go through AF_XDP here; None when they do."""
    for name in externals(resolved.plan):
        return Refused(
            WHO,
            f"{name} is external, and the interfaces that lead to it are on packet sockets alone",
            f"Remedy: {xdp_probe.PLAIN}",
        )
    longest = max(longest_frames(resolved).values(), default=0)
    if stride_for(longest) is None:
        return Refused(
            WHO,
            f"AF_XDP carries frames of at most {LONGEST} octets, and plan {resolved.plan.name} has "
            f"some of {longest}",
            f"Remedy: shorter frames, {xdp_probe.PLAIN}",
        )
    if (none := xdp_probe.xdp_refusal()) is not None:
        return none
    if (limited := xdp_probe.memlock_refusal(bool(resolved.plan.programs))) is not None:
        return Refused(WHO, limited, f"Remedy: raise `ulimit -l`, {xdp_probe.PLAIN}")
    return None


@contextmanager
def choose_backend(
    asked: str | None, resolved: ResolvedPlan, stamps: str | None = None, launch: bool = False
) -> Iterator[BackendChoice]:
    """The backend of a run: `asked` of `live.datapaths`, `stamps` of `live.stamps`.

    What it takes of the kernel is let go of here when the block is left; the worker has it then, or
    is gone. Raises BadInput, and Refused for XDP where there is none.
    """
    if asked not in (None, *DATAPATHS):
        raise BadInput("datapath", f"{asked!r} is not accepted; {', '.join(DATAPATHS)} are")
    if stamps not in (None, *STAMPS):
        raise BadInput("stamps", f"{stamps!r} is not accepted; {', '.join(STAMPS)} are")
    if stamps is not None or launch:
        option = "stamps" if stamps is not None else "launch"
        if asked not in (None, PACKET):
            text = f"not together with datapath {asked}: packet sockets alone have such times"
            raise BadInput(option, f"{text}; leave one of the two out")
        said = {"asked": PACKET} | ({"stamps": stamps} if stamps is not None else {})
        yield BackendChoice(PACKET, said, stamps=stamps, launch=launch)
        return
    if asked in (None, PACKET, STAMPED):
        yield BackendChoice(asked or PACKET, {"asked": asked})
        return
    if (none := lack(resolved)) is not None:
        if asked == XDP:
            raise none
        yield BackendChoice(PACKET, {"asked": AUTO, "why": none.lack})
        return
    try:
        made = privileged_setup.make(
            2 * sum(way.sender.forward for way in resolved.plan.directions())
        )
    except OSError as error:
        raise xdp_probe.refused(error) from error
    stride = stride_for(max(longest_frames(resolved).values(), default=0))
    assert stride is not None
    try:
        yield BackendChoice(XDP, {"asked": asked}, made, stride)
    finally:
        made.close()
