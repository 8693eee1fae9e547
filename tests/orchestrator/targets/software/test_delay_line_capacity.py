"""Delay lines that rate x delay fills: what fits is taken, and loses nothing; what does not is
refused before a run, and would lose frames."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.assembly.descriptor_bound import descriptors
from orchestrator.assembly.world_builder import SLOT_OCTETS
from orchestrator.cli.main import command_line
from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.run import machine_info
from orchestrator.targets.software import delay_line_capacity
from orchestrator.targets.software.delay_line_capacity import check_lines, room_for
from orchestrator.targets.software.software_target import Software
from orchestrator.targets.software.thread_assignment import shares_of_run
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_until
from tests.shipped import FOLDER

SHORT = Path(__file__).parents[3] / "short.toml"
PLENTY = 10**15


def line(frame: int = 1500, rate: int = 10**9, name: str = "down", **changes: Any) -> Table:
    """Three nodes in a line, saturated; `changes` of one of the links, or of the plan."""
    of_plan = {key: changes.pop(key) for key in ("duration", "sample_interval") if key in changes}
    table = line_of_three(**of_plan)
    for link in table["links"].values():
        link["rate"] = rate
    table["links"][name] |= changes
    table["traffic"]["gen"] |= {"rate": rate, "frame": frame}
    return table


def checked(table: dict[str, Any]) -> ResolvedPlan:
    return Plan(**table).check(Registry.load())


def refused(table: dict[str, Any], memory: int = PLENTY, worlds: int = 2) -> str:
    """With what it is refused; empty: it is not."""
    try:
        check_lines(checked(table), worlds, memory)
    except BadInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("buffer", ["fits", "one octet too small"])
def test_the_buffer_counted_by_hand(buffer: str) -> None:
    needed = 10**9 * (80 * US + LEAST_INTERVAL_PS) * 1500 // (8 * 10**12 * 1524) + 3000
    less = buffer != "fits"
    told = refused(line(delay=80 * US, overhead=24, buffer=needed - less))
    assert bool(told) == less
    if less:
        assert f"links.down.buffer: '{needed - 1}B'" in told
        assert f"at least {needed}B" in told
        assert "switch>sink at 1Gb/s with a delay of 80us" in told


def test_what_it_says_that_fits_does() -> None:
    told = refused(line(delay=10 * MS, overhead=24, buffer=500_000))
    most = re.search(r"at most (\d+)us", told)
    least = re.search(r"up to (\d+) octets", told)
    assert most is not None, told
    assert least is not None, told
    assert not refused(line(delay=int(most[1]) * US, overhead=24, buffer=500_000))
    assert refused(line(delay=(int(most[1]) + 2) * US, overhead=24, buffer=500_000))
    assert not refused(line(delay=10 * MS, overhead=24, buffer=int(least[1])))


def test_a_buffer_without_room_for_two_frames_is_told_no_delay() -> None:
    told = refused(line(delay=10 * MS, buffer=2000))
    assert "expected" in told
    assert "a delay of at most" not in told


def test_without_delay_nothing_waits() -> None:
    assert not refused(line(delay=0, buffer=2000))


@pytest.mark.parametrize(
    ("key", "to", "fits"),
    [("delay", "1ms", False), ("delay", "90us", True), ("rate", "10Gb/s", False)],
)
def test_what_the_timeline_sets_counts(key: str, to: str, fits: bool) -> None:
    table = line(delay=80 * US, buffer=25_000)
    assert not refused(table)
    table["timeline"] = [{"at": "1ms", "set": f"links.down.{key}", "to": to}]
    assert (not refused(table)) == fits


@pytest.mark.parametrize(
    ("delay", "back", "fits"),
    [(80 * US, 200 * MS, False), (80 * US, None, True), (200 * MS, 0, False)],
)
def test_each_direction_has_its_own_delay(delay: int, back: int | None, fits: bool) -> None:
    told = refused(line(delay=delay, delay_back=back, buffer=25_000))
    assert (not told) == fits
    if not fits:
        assert ("switch>sink" if back == 0 else "sink>switch") in told


def test_a_way_back_without_delay_holds_nothing() -> None:
    table = line(delay=200 * MS, delay_back=0, buffer=2_000_000)
    table["links"]["down"]["ends"] = ["sink", "switch"]  # the traffic goes the way back
    told = refused(table)
    assert "sink>switch" in told
    assert "switch>sink" not in told


def test_what_a_plugin_adds_counts() -> None:
    table = line(delay=80 * US, buffer=25_000)
    table["links"]["down"]["delay_line"] = {"plugin": "jittered-delay", "jitter": 10 * MS}
    assert "with a delay of 10080us" in refused(table)


def test_memory_is_that_of_every_thread() -> None:
    table = line(delay=10 * MS, buffer=2_000_000)
    one = descriptors(checked(table)) * SLOT_OCTETS
    assert not refused(table, memory=3 * one)
    told = refused(table, memory=2 * one)
    assert "links.down.delay" in told
    assert "of memory" in told
    assert not refused(table, memory=2 * one, worlds=1)


@pytest.mark.parametrize("text", [None, "MemTotal: 1 kB\nMemFree: 1 kB\n"])
def test_where_the_kernel_does_not_tell_memory_is_not_checked(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = checked(line(delay=10 * MS, buffer=2_000_000))
    monkeypatch.setattr(machine_info, "read_text", lambda _: "MemAvailable:  8 kB\n")
    assert machine_info.free_bytes() == 8192
    with pytest.raises(BadInput, match="8192 are free here"):
        check_lines(resolved, 2)
    monkeypatch.setattr(machine_info, "read_text", lambda _: text)
    assert machine_info.free_bytes() is None
    check_lines(resolved, 2)


@pytest.mark.parametrize(
    ("cores", "most", "groups"), [(1, None, 1), (2, None, 2), (64, None, 2), (64, 1, 1)]
)
def test_threads_of_a_run(cores: int, most: int | None, groups: int) -> None:
    assert len(shares_of_run(checked(line()).plan, cores, most)) == groups


@pytest.mark.parametrize(("cores", "groups"), [(2, 1), (3, 2)])
def test_programs_have_a_core_of_their_own(cores: int, groups: int) -> None:
    plan = Plan.load(FOLDER / "iperf-p4qcn.toml")
    assert plan.programs
    assert len(shares_of_run(plan, cores, None)) == groups


def test_the_target_counts_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for one thread and a half is not enough for two."""
    resolved = checked(line(delay=10 * MS, buffer=2_000_000))
    half = descriptors(resolved) * SLOT_OCTETS // 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(delay_line_capacity, "free_bytes", lambda: 3 * half)
    with pytest.raises(BadInput, match="of memory"):
        Software().run(resolved, silent)


def test_no_shipped_plan_is_refused() -> None:
    for path in sorted(FOLDER.glob("*.toml")):
        check_lines(Plan.load(path).check(Registry.load()), 2, PLENTY)


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = tmp_path / "long.toml"
    plan.write_text(SHORT.read_text().replace('delay = "50us"', 'delay = "1s"'))
    before = sorted(tmp_path.rglob("*"))
    assert command_line(["run", str(plan), "--target", "software"]) == 2
    told = capsys.readouterr().err
    assert "long.toml" in told
    assert "links.up.buffer: '8MB' is not accepted" in told
    assert "Traceback" not in told
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "runs"] == before
    assert not list((tmp_path / "runs").glob("*"))


def lost_in_line(table: dict[str, Any], name: str) -> int:
    """Frames that the line of the link towards the sink drops in a simulated run."""
    assembly = assembled(table)
    run_until(assembly, assembly.resolved.plan.duration + 1)
    sender = {"up": "nic.switch", "down": "switch.sink"}[name]
    return int(assembly.world.ports[assembly.indices.port_rows[sender]].frames_lost)


def test_64_ms_at_1_gbps_are_more_than_8_mb() -> None:
    """The buffer that a link has by default is refused, and does lose frames; 8.1 MB do not."""
    table = line(delay=64 * MS, duration=140 * MS, sample_interval=10 * MS)
    assert "links.down.buffer: '8MB'" in refused(table)
    assert lost_in_line(table, "down") > 0
    table["links"]["down"]["buffer"] = 8_100_000
    assert not refused(table)
    assert lost_in_line(table, "down") == 0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    rate=st.sampled_from([10**7, 10**8, 10**9, 10**10]),
    delay=st.integers(1, 3000).map(lambda us: us * US),
    frame=st.integers(300, 1500),
    overhead=st.sampled_from([0, 24]),
    name=st.sampled_from(["up", "down"]),
)
def test_what_is_taken_loses_nothing_and_what_is_refused_by_much_does(
    rate: int, delay: int, frame: int, overhead: int, name: str
) -> None:
    """By much: by more than two frames and what 64 us of lateness may add."""
    wire = (frame + overhead) * 8 * 10**12 // rate
    needed = room_for(rate, delay, frame, overhead)
    for buffer, drops in (
        (needed, False),
        (needed - 3 * frame - rate * LEAST_INTERVAL_PS // (8 * 10**12), True),
    ):
        if drops and buffer < 2000:
            continue
        table = line(frame, rate, name, delay=delay, buffer=max(buffer, 2000))
        for link in table["links"].values():
            link["overhead"] = overhead
        table["duration"] = 2 * delay + 50 * wire
        table["sample_interval"] = table["duration"] // 5
        assert bool(refused(table)) == drops
        assert (lost_in_line(table, name) > 0) == drops
