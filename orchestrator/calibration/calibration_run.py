"""Calibration run: checks requirements, starts the worker and builds one profile."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator import __version__
from orchestrator.calibration.calibration_worker import LEAST_S, MOST_PORTS, STAGE
from orchestrator.calibration.trial_links import Opened, opened
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.live.datapath_options import AUTO, CALIBRATED, PACKET, XDP
from orchestrator.profile.profile_model import FORMAT, Profile
from orchestrator.profile.profile_store import parse_profile
from orchestrator.profile.provenance import EVIDENCE
from orchestrator.progress import Progress, Report
from orchestrator.run import machine_info
from orchestrator.targets.software import namespace_probe
from orchestrator.targets.software.backend_selection import ORDINARY, BackendChoice
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.xdp import privileged_setup, xdp_probe
from orchestrator.targets.software.xdp.xdp_backend import STRIDES

MOST_S = 3600.0
ORDINARY_S = 30.0
"""About half a minute."""


@dataclass(frozen=True)
class CalibrationRequest:
    """Request of a calibration: what to measure, and the total time."""

    seconds: float = ORDINARY_S
    datapath: str | None = None
    ports: tuple[str, str] | None = None

    def check(self) -> None:
        """Raises BadInput for what cannot be."""
        if not LEAST_S <= self.seconds <= MOST_S:
            accepted = f"{LEAST_S:g} to {MOST_S:g} seconds are"
            raise BadInput("--for", f"{self.seconds:g} is not accepted; {accepted}")
        if self.datapath not in (None, *CALIBRATED):
            accepted = f"{', '.join(CALIBRATED)} are"
            raise BadInput("--datapath", f"{self.datapath!r} is not accepted; {accepted}")
        if self.ports is not None and self.datapath == XDP:
            raise BadInput("--datapath", "xdp is not accepted with --ports; packet is")
        if self.ports is not None and self.ports[0] == self.ports[1]:
            raise BadInput("--ports", f"{self.ports[0]} is named twice; two NICs are expected")


def calibrate(asked: CalibrationRequest, progress: Report) -> Profile:
    """Measure this machine. Raises BadInput, Refused or RunFailed; then nothing is left behind."""
    asked.check()
    namespace_probe.require()
    begun = time.monotonic()
    with _choose_backend(asked) as choice, opened(asked.ports) as nics:
        measured = _measured(asked, choice, nics, progress)
        way = {
            "kind": "veth" if nics is None else "nics",
            "datapath": choice.name,
            "ports": list(asked.ports or ()),
            "drivers": [] if nics is None else nics.drivers,
        }
    now = datetime.datetime.now(datetime.UTC)
    data = {
        "tailback_profile": FORMAT,
        "date": now.isoformat(timespec="seconds"),
        "tailback": __version__,
        "took_s": round(time.monotonic() - begun, 3),
        "machine": machine_info.device(),
        "path": way,
        **measured,
        "evidence": EVIDENCE,
    }
    return parse_profile("calibrate", data)


def _measured(
    asked: CalibrationRequest, choice: BackendChoice, nics: Opened | None, progress: Report
) -> dict[str, Any]:
    handed = [*choice.descriptors, *(nics.descriptors if nics is not None else [])]
    with Worker(
        "orchestrator.calibration.calibration_worker:measure",
        asked.seconds,
        choice,
        None if nics is None else nics.cable,
        handed=handed,
        lends=choice.grant is not None,
    ) as worker:
        for news in worker.reports():
            if isinstance(news, tuple) and news[0] == STAGE:
                _, kind, done, of = news
                progress(Progress(f"measuring {kind}", done, of))
        result = worker.result
    if not isinstance(result, dict):
        raise RunFailed("calibrate: the worker ended without a result")
    return result


@contextlib.contextmanager
def _choose_backend(asked: CalibrationRequest) -> Iterator[BackendChoice]:
    """Backend that carries the frames. Raises Refused for AF_XDP where it is not available."""
    if asked.datapath in (None, PACKET) or asked.ports is not None:
        yield ORDINARY
        return
    lack = xdp_probe.xdp_refusal()
    if lack is None and (limited := xdp_probe.memlock_refusal(False)) is not None:
        lack = Refused(WHO, limited, f"Remedy: raise `ulimit -l`, {xdp_probe.PLAIN}")
    if lack is not None:
        if asked.datapath == XDP:
            raise lack
        yield BackendChoice(PACKET, {"asked": AUTO, "why": lack.lack})
        return
    made = privileged_setup.make(MOST_PORTS)
    try:
        yield BackendChoice(XDP, {"asked": asked.datapath}, made, STRIDES[0])
    finally:
        made.close()
