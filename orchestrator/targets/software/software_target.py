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
from orchestrator.plan.external_nodes import externals
from orchestrator.progress import Progress, moment
from orchestrator.target import Interfaces, OptionalFeature, Target
from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.pace_step import FASTEST, SLOWEST, STEP

if TYPE_CHECKING:
    from orchestrator.live.live_session import Session
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.plan.target_options import TargetOptions
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
        from orchestrator.targets.software.dut.dut_cables import cables

        super().check(resolved, installed)
        named = None if self._interfaces is None else self._interfaces.external_ports
        cables(resolved.plan, named)

    def prepare(
        self, plan: Plan, options: TargetOptions, advise: bool = False
    ) -> tuple[Plan, dict[str, Any]]:
        """The plan; for the manifest, the profile by which this machine holds it or not."""
        from orchestrator.registry import Registry
        from orchestrator.targets.software import profile_advice
        from orchestrator.targets.software.software_options import CARRIED_OUT, SoftwareOptions

        if not isinstance(options, SoftwareOptions) or (options.profile is None and not advise):
            return plan, {}
        rest = plan.without_options(CARRIED_OUT)
        found = profile_advice.machine_profile(options.profile)
        resolved = rest.check(Registry.load())
        entry = profile_advice.check_capacity(found, resolved, options.pace, options.cores)
        return rest, {"profile": entry}

    def probe(self) -> Refused | None:
        """Why namespaces are not to be had here."""
        return probe()

    def further(self) -> list[OptionalFeature]:
        """Its second backend, and what the NICs of this machine could do for it."""
        from orchestrator.targets.software import nic_capabilities, soft_roce
        from orchestrator.targets.software.xdp import xdp_probe

        what = "AF_XDP sockets over veth, copying (--datapath xdp)"
        return [
            OptionalFeature("datapath xdp", what, xdp_probe.xdp_refusal()),
            OptionalFeature("soft-RoCE", "RDMA for programs, by rdma_rxe", soft_roce.lack()),
            *(nic_capabilities.describe_nic(each) for each in nic_capabilities.list_nics()),
        ]

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Run the plan in a worker process, which takes everything with it when it ends."""
        from orchestrator.run.engine_compile import TYPICAL
        from orchestrator.targets.software import plan_job, soft_roce
        from orchestrator.targets.software.backend_selection import choose_backend
        from orchestrator.targets.software.concurrent_runs import (
            concurrent_runs,
            with_concurrent_runs,
        )
        from orchestrator.targets.software.delay_line_capacity import check_lines
        from orchestrator.targets.software.dut.dut_fidelity import with_devices
        from orchestrator.targets.software.dut.dut_setup import connected_duts
        from orchestrator.targets.software.live_relay import LiveRelay
        from orchestrator.targets.software.program_runner import rdma_of
        from orchestrator.targets.software.thread_assignment import shares_of_run
        from orchestrator.targets.software.worker_process import Worker

        _find_programs(resolved)
        rdma = rdma_of(resolved)
        if rdma and (lack := soft_roce.lack()) is not None:
            raise lack
        most = session.cores if session is not None else None
        groups = shares_of_run(resolved.plan, len(os.sched_getaffinity(0)), most)
        check_lines(resolved, worlds=len(groups))
        pace = pace_of(resolved, session)
        duration = resolved.plan.duration / 1e12
        met = concurrent_runs()
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
                choose_backend(asked, resolved, stamps, launch) as choice,
                connected_duts(resolved, self._interfaces, progress) as devices,
                Worker(
                    "orchestrator.targets.software.plan_job:run",
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
                remote = LiveRelay(session, worker, resolved) if session is not None else None
                for news in worker.reports():
                    if isinstance(news, tuple) and remote is not None:
                        remote.on_report(news)
                    elif news == plan_job.COMPILING:
                        progress(Progress("compiling", 0.0, f"or loading; {TYPICAL}"))
                    elif news == plan_job.STARTED:
                        drawer.start()
                        if remote is not None:
                            remote.begin()
                recording: Recording = worker.result
                met += [one for one in concurrent_runs() if one not in met]
                recording.fidelity = with_concurrent_runs(recording.fidelity or {}, met)
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
