"""Diagnosis of this machine for `tailback doctor`: capabilities, lacks, and remedies."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator import __version__
from orchestrator.errors import BadInput
from orchestrator.profile import profile_store
from orchestrator.profile.profile_store import profile_mismatches
from orchestrator.run import machine_info, wakeup_lateness

if TYPE_CHECKING:
    from orchestrator.registry import Registry
    from orchestrator.target import OptionalFeature

BUSY_SHARE = 0.25
"""Above this share of busy time of all cores, other processes disturb a real-time target."""
IDLE_WATCH_S = 0.3
DAY_S, OLD_DAYS = 86_400.0, 30
STEADY = {"performance", "schedutil"}
"""Frequency governors that run a busy core at full speed."""


@dataclass(frozen=True)
class Finding:
    """One item of the diagnosis. `status`: "ok", "note" (works, with a limit), "missing"."""

    what: str
    status: str
    found: str
    remedy: str = ""


def _busy_ticks() -> tuple[int, int] | None:
    """(busy, all) clock ticks of all cores since boot; None where the system does not report
    them."""
    line = (machine_info.read_text("/proc/stat") or "").split("\n")[0].split()
    if len(line) < 6 or line[0] != "cpu":
        return None
    ticks = [int(field) for field in line[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # without idle and iowait


def busy_share() -> float | None:
    """The share of time that the cores are busy now, watched for 0.3 s."""
    before = _busy_ticks()
    time.sleep(IDLE_WATCH_S)
    after = _busy_ticks()
    if before is None or after is None or after[1] == before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1])


def _targets(registry: Registry) -> list[Finding]:
    findings = []
    for target in registry.targets:
        refusal = target.probe()
        if refusal is None:
            findings.append(Finding(f"target {target.name}", "ok", target.summary))
            findings += [_further(one) for one in target.further()]
        else:
            findings.append(
                Finding(f"target {target.name}", "missing", refusal.lack, refusal.remedy)
            )
    return findings


def _further(one: OptionalFeature) -> Finding:
    if one.lack is None:
        return Finding(one.name, "ok", one.what)
    return Finding(one.name, "note", one.lack.lack, one.lack.remedy)


def _cores() -> Finding:
    count = machine_info.cores()
    if count is None:
        return Finding("cores", "note", "their number could not be read")
    if count < 2:
        return Finding(
            "cores",
            "note",
            "1; real packets at full rate need 2",
            "Use --target simulated, or a machine with two cores.",
        )
    return Finding("cores", "ok", f"{count}, {machine_info.processor() or 'processor unknown'}")


def _idle() -> Finding:
    busy = busy_share()
    if busy is None:
        return Finding("idle", "note", "could not be read")
    if busy > BUSY_SHARE:
        return Finding(
            "idle",
            "note",
            f"the cores are {busy:.0%} busy; a real-time run may come out degraded",
            "See what runs (top) and stop it before a run with --target software, or give the run "
            "time: tailback run PLAN --target software --pace 0.1",
        )
    return Finding("idle", "ok", f"the cores are {busy:.0%} busy")


def _governor() -> Finding:
    governor = machine_info.governor()
    if governor is None:
        return Finding("frequency", "ok", "not controlled by this system")
    if governor in STEADY:
        return Finding("frequency", "ok", f"governor {governor}")
    return Finding(
        "frequency",
        "note",
        f"governor {governor} may slow the cores down",
        "sudo cpupower frequency-set --governor performance",
    )


def _virtual() -> Finding:
    name = machine_info.hypervisor()
    if name is None:
        return Finding("virtual", "ok", "no hypervisor seen")
    return Finding(
        "virtual", "note", f"a virtual machine ({name}); its host can take a core away for a while"
    )


def _program(name: str, use: str, remedy: str) -> Finding:
    path = shutil.which(name)
    if path:
        return Finding(name, "ok", path)
    return Finding(name, "note", f"not installed; {use}", remedy)


def _profile() -> Finding:
    """Profile that `tailback calibrate` measured of this machine, with its age."""
    here = machine_info.device()
    try:
        found = profile_store.newest(here["name"])
    except BadInput as error:
        return Finding("profile", "note", str(error), "tailback calibrate")
    if found is None:
        lack = "none of this machine: nothing is known of what it holds before a run"
        return Finding("profile", "note", lack, "tailback calibrate")
    path, profile = found
    days = profile.age_s / DAY_S
    old = f"{days:.0f} days old" if days >= 1 else f"{max(profile.age_s, 0) / 3600:.0f} h old"
    if problems := profile_mismatches(profile, here, __version__):
        said = f"{old}, {path}: {problems[0]}"
        return Finding("profile", "note", said, "tailback calibrate")
    busy = f"; others had {profile.stalls.waited_share:.0%} of the cores"
    said = f"{old}, {path}" + ("" if profile.quiet else busy)
    if days < OLD_DAYS and profile.quiet:
        return Finding("profile", "ok", said)
    return Finding("profile", "note", said, "tailback calibrate")


def _measured(duration_s: float) -> list[Finding]:
    late, gaps = wakeup_lateness.sleep_lateness(duration_s), wakeup_lateness.spin_gaps(duration_s)
    woken = " / ".join(f"{late[key] * 1e6:.0f}" for key in ("p50_s", "p99_s", "max_s"))
    taken = f"longest gap {gaps['max_gap_s'] * 1e6:.0f} µs, {gaps['lost_share']:.2%} of time lost"
    return [
        Finding("wake-up", "ok", f"late by {woken} µs (p50 / p99 / max)"),
        Finding("busy poll", "ok", taken),
    ]


def diagnose(registry: Registry, measure_s: float = 0.0) -> list[Finding]:
    """Run the whole diagnosis; `measure_s` above 0 also measures lateness, twice that long."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    targets = _targets(registry)
    count = len(registry.algorithms)  # the query detects the broken ones
    plugins = [Finding("plugin", "missing", problem) for problem in registry.problems]
    return [
        Finding("Python", "ok", f"{version}, {sys.executable}"),
        *targets,
        Finding("algorithms", "ok" if count else "missing", str(count)),
        *plugins,
        _cores(),
        _idle(),
        _governor(),
        _virtual(),
        _profile(),
        _program("tshark", "captures are written without it", "sudo apt-get install tshark"),
        *(_measured(measure_s) if measure_s > 0 else []),
    ]
