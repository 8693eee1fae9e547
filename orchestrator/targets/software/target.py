"""Target `software`, parent's side: a run on emulated machines."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from orchestrator.capability import IN_SOFTWARE, Capability
from orchestrator.errors import BadInput, Refused
from orchestrator.plan.external import externals
from orchestrator.progress import Progress, moment
from orchestrator.target import Further, Interfaces, Target
from orchestrator.targets.software.paces import FASTEST, SLOWEST, STEP
from orchestrator.targets.software.probe import probe

if TYPE_CHECKING:
    from orchestrator.live.session import Session
    from orchestrator.plan import ResolvedPlan
    from orchestrator.progress import Report
    from orchestrator.recording import Recording

REPORT_S = 0.5
"""Between two reports of progress, by this process's own clock: the worker is left alone."""


class Software(Target):
    """Real Ethernet frames over veth, in real time, without privileges."""

    name = "software"
    summary = "real frames between network namespaces, in real time, rootless"
    capabilities = IN_SOFTWARE | {
        Capability.LIVE,
        Capability.PACE,
        Capability.CORES,
        Capability.DATAPATH,
        Capability.EXTERNAL,
    }

    def __init__(self, interfaces: Interfaces | None = None) -> None:
        self._interfaces = interfaces

    def at(self, testbed: Any) -> Target:
        """The same with a testbed's interfaces that lead to external devices."""
        if not testbed.external_ports:
            return super().at(testbed)
        return Software(testbed)

    def check(self, resolved: ResolvedPlan, installed: Iterable[Target]) -> None:
        """As any target; of devices, whether every cable has its interface."""
        from orchestrator.targets.software.devices.cables import cables

        super().check(resolved, installed)
        named = None if self._interfaces is None else self._interfaces.external_ports
        cables(resolved.plan, named)

    def probe(self) -> Refused | None:
        """Why namespaces are not to be had here."""
        return probe()

    def further(self) -> list[Further]:
        """Its second backend, and what the NICs of this machine could do for it."""
        from orchestrator.targets.software import nics, softroce
        from orchestrator.targets.software.xdp import able

        what = "AF_XDP sockets over veth, copying (--datapath xdp)"
        return [
            Further("datapath xdp", what, able.lack()),
            Further("soft-RoCE", "RDMA for programs, by rdma_rxe", softroce.lack()),
            *(nics.told(each) for each in nics.look()),
        ]

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Run the plan in a worker process, which takes everything with it when it ends."""
        from orchestrator.run.compiling import TYPICAL
        from orchestrator.targets.software import job, softroce
        from orchestrator.targets.software.datapath import chosen
        from orchestrator.targets.software.devices.connected import connected
        from orchestrator.targets.software.devices.told import with_devices
        from orchestrator.targets.software.launch import Worker
        from orchestrator.targets.software.line_room import check_lines
        from orchestrator.targets.software.neighbours import neighbours, with_neighbours
        from orchestrator.targets.software.programs import rdma_of
        from orchestrator.targets.software.remote import Remote
        from orchestrator.targets.software.shares import shares_of_run

        _find_programs(resolved)
        rdma = rdma_of(resolved)
        if rdma and (lack := softroce.lack()) is not None:
            raise lack
        most = session.cores if session is not None else None
        groups = shares_of_run(resolved.plan, len(os.sched_getaffinity(0)), most)
        check_lines(resolved, worlds=len(groups))
        pace = pace_of(resolved, session)
        duration = resolved.plan.duration / 1e12
        met = neighbours()
        others = ", ".join(map(str, met))
        beside = f"; cores are shared with another run in real time: {others}" if met else ""
        progress(Progress("preparing", 0.0, f"namespaces and interfaces{beside}"))
        done = threading.Event()
        drawer = threading.Thread(target=_draw, args=(progress, duration, pace, done), daemon=True)
        try:
            live = session is not None
            asked = session.datapath if session is not None else None
            stamps = session.stamps if session is not None else None
            launch = session is not None and session.launch
            with (
                chosen(asked, resolved, stamps, launch) as choice,
                connected(resolved, self._interfaces, progress) as devices,
                Worker(
                    "orchestrator.targets.software.job:run",
                    resolved.plan.to_toml(),
                    live,
                    pace,
                    most,
                    choice,
                    devices.handed,
                    handed=[*choice.descriptors, *devices.descriptors],
                    lends=choice.grant is not None and not resolved.plan.programs,
                    stays=bool(rdma),
                ) as worker,
            ):
                remote = Remote(session, worker, resolved) if session is not None else None
                for news in worker.reports():
                    if isinstance(news, tuple) and remote is not None:
                        remote.hear(news)
                    elif news == job.COMPILING:
                        progress(Progress("compiling", 0.0, f"or loading; {TYPICAL}"))
                    elif news == job.STARTED:
                        drawer.start()
                        if remote is not None:
                            remote.begin()
                recording: Recording = worker.result
                met += [one for one in neighbours() if one not in met]
                recording.fidelity = with_neighbours(recording.fidelity or {}, met)
                recording.fidelity = with_devices(recording.fidelity, devices.describe())
                if remote is not None:
                    remote.end(recording)
                return recording
        finally:
            done.set()
            if drawer.ident is not None:
                drawer.join()


def _find_programs(resolved: ResolvedPlan) -> None:
    """Raises Refused, with its remedy, for a program of the plan that is not here."""
    for name, program in resolved.plan.programs.items():
        command = program.command[0]
        if shutil.which(command) is None:
            raise Refused(
                "target software",
                f"the program {command!r} of programs.{name} is not on this machine",
                f"Remedy: install it (on Debian perhaps `apt-get install {command}`).",
            )


def pace_of(resolved: ResolvedPlan, session: Session | None) -> float:
    """The pace that is asked for, 1 when none is. Raises BadInput where it cannot be had."""
    if session is None or session.pace is None:
        return 1.0
    return checked_pace(resolved, session.pace)


def stepped(pace: float) -> float:
    """The nearest pace that there is. Raises BadInput for one that is too slow or too fast."""
    if not SLOWEST <= pace <= FASTEST:
        raise BadInput(
            "pace", f"{pace:g} is not accepted; target software takes {SLOWEST:g} to {FASTEST:g}"
        )
    return round(pace / STEP) * STEP


def checked_pace(resolved: ResolvedPlan, pace: float) -> float:
    """The nearest pace that there is for this plan. Raises BadInput where there is none."""
    found = stepped(pace)
    for name in externals(resolved.plan):
        raise BadInput(
            "pace", f"{name} is external and lives in this machine's own time; leave the pace out"
        )
    for name, use in resolved.uses["traffic"].items():
        if use.algorithm.programs:
            raise BadInput(
                "pace",
                f"traffic.{name} comes from programs, which live in this machine's own time; "
                "leave the pace out",
            )
    return found


def _draw(progress: Report, duration: float, pace: float, done: threading.Event) -> None:
    start = time.monotonic()
    while not done.wait(REPORT_S):
        now = min((time.monotonic() - start) * pace, duration)
        progress(Progress("running", now / duration, moment(now, duration)))
