"""Table of a device profile for the terminal."""

from __future__ import annotations

from orchestrator.profile.profile_model import Profile, Times
from orchestrator.profile.provenance import evidence_of
from orchestrator.terminal import format_output

COLUMNS = ("what", "of", "typical", "p99", "worst", "known by")
TURNED = {"cnm": "CNM", "pause_sent": "PAUSE sent", "pause_obeyed": "PAUSE obeyed"}
Row = tuple[str, str, str, str, str, str]


def show_profile(profile: Profile, path: str) -> None:
    """Print it."""
    out = format_output.console()
    way = "veth pairs" if profile.path.kind == "veth" else " to ".join(profile.path.ports)
    machine = profile.machine
    head = (
        f"{machine.name}, {machine.processor or 'processor unknown'}, {machine.cores} cores, "
        f"{machine.kernel}; {way} by {profile.path.datapath}; "
        f"{profile.date:%Y-%m-%d %H:%M} UTC, {profile.took_s:.0f} s"
    )
    out.print(head, soft_wrap=True)
    out.print(format_output.table(COLUMNS, rows(profile)))
    if not profile.quiet:
        share = f"{profile.stalls.waited_share:.0%}"
        text = f"other processes took {share} of the cores: this is the machine as busy as it was"
        out.print(f"note      {text}", soft_wrap=True)
    out.print(f"profile   {path}", soft_wrap=True)


def rows(profile: Profile) -> list[Row]:
    """A line for each thing that was measured."""
    found: list[Row] = []
    for one in profile.forwarding:
        cells = (f"{one.frames_per_s:,.0f}/s", "", f"{one.least_frames_per_s:,.0f}/s")
        found.append(_row("forwards per core", f"{one.frame_octets} octets", cells, "forwarding"))
    for load in profile.departures:
        of = f"{load.load:.0%}, {load.frames_per_s:,.0f}/s"
        found.append(_row("lateness of departures", of, _cells(load.lateness), "departures"))
        found.append(_row("a link beyond its delay", of, _cells(load.link), "departures"))
    found += _stalls(profile)
    for limiter in profile.limiter:
        of = f"{limiter.rate_bps / 1e6:g} Mb/s"
        cells = (f"{limiter.mean_error_ppm:+.0f} ppm", "", "")
        found.append(_row("limiter, mean error", of, cells, "limiter"))
        for window in limiter.windows:
            cells = (
                f"{window.p50_error_ppm:.0f} ppm",
                f"{window.p99_error_ppm:.0f} ppm",
                f"{window.max_error_ppm:.0f} ppm",
            )
            within = f"{of}, {format_output.quantity(window.window_ns / 1e9, 's')}"
            found.append(_row("limiter within", within, cells, "limiter.windows"))
    for delay in profile.delay:
        of = f"{format_output.quantity(delay.delay_ns / 1e9, 's')}, {delay.load:.0%}"
        found.append(_row("delay line, error", of, _cells(delay.error), "delay"))
        if delay.lost_frames or delay.reordered_frames:
            cells = (f"{delay.lost_frames} lost", "", f"{delay.reordered_frames} out of order")
            found.append(_row("delay line, frames", of, cells, "delay"))
    for name, of in TURNED.items():
        times = getattr(profile.turnaround, name)
        cells = ("not seen", "", "") if times is None else _cells(times)
        found.append(_row("turnaround", of, cells, "turnaround"))
    error = profile.timestamps.error
    cells = ("not seen", "", "") if error is None else _cells(error)
    found.append(_row("time of arrival, error", "against the kernel", cells, "timestamps"))
    return found


def _stalls(profile: Profile) -> list[Row]:
    stalls = profile.stalls
    of = f"above {stalls.floor_ns / 1000:g} us"
    often = (f"{stalls.per_core_per_s:.1f}/s a core", "", _ns(stalls.longest_ns))
    stolen = "unknown" if stalls.stolen_share is None else f"{stalls.stolen_share:.2%}"
    return [
        _row("stalls", of, often, "stalls"),
        _row("stalls", "all cores at once", (f"{stalls.at_once_count}", "", ""), "stalls"),
        _row("time taken", "in all", (f"{stalls.share:.2%}", "", ""), "stalls"),
        _row("time taken", "by processes", (f"{stalls.waited_share:.2%}", "", ""), "stalls"),
        _row("time taken", "by the hypervisor", (stolen, "", ""), "stalls.stolen_share"),
        _row(
            *("time taken", "unexplained", (f"{stalls.unexplained_share:.2%}", "", "")),
            "stalls.unexplained_share",
        ),
    ]


def _row(what: str, of: str, cells: tuple[str, str, str], key: str) -> Row:
    return what, of, *cells, evidence_of(key)


def _cells(times: Times) -> tuple[str, str, str]:
    return _ns(times.p50_ns), _ns(times.p99_ns), _ns(times.max_ns)


def _ns(value: int) -> str:
    return format_output.quantity(value / 1e9, "s")
