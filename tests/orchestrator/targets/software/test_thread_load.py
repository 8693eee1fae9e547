"""What a plan asks of a machine by its profile: frames counted by hand, and by a simulated run."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.profile.profile_model import Profile
from orchestrator.profile.profile_store import parse_profile
from orchestrator.registry import Registry
from orchestrator.targets.software.capacity_advice import advise, nearest
from orchestrator.targets.software.emulate_machine import emulate_machine
from orchestrator.targets.software.thread_load import load_of
from tests.orchestrator.profile.made import departures, forwarding, made
from tests.orchestrator.worlds import MS, line_of_three, recorded


def profile(**changes: Any) -> Profile:
    return parse_profile("made", made(**changes))


def checked(table: dict[str, Any]) -> ResolvedPlan:
    return Plan(**table).check(Registry.load())


def line(rate: int = 10**9, frame: int = 1500, **changes: Any) -> dict[str, Any]:
    table = line_of_three(**changes)
    table["traffic"]["gen"] |= {"rate": rate, "frame": frame}
    return table


def test_a_switch_with_a_core_of_its_own() -> None:
    """1 Gb/s of 1500 octets are 83 333 frames/s; a core forwards 200 000 of them."""
    load = load_of(checked(line()), profile())
    assert sorted(map(sorted, load.groups)) == [["nic", "sink"], ["switch"]]
    assert load.shares == pytest.approx([83_333 / 200_000] * 2, rel=1e-4)
    assert load.frames_per_s == pytest.approx(2 * 83_333, rel=1e-4)
    assert load.known


@pytest.mark.parametrize(("frame", "cost"), [(70, 1 / 400_000), (785, 3 / 800_000)])
def test_short_frames_cost_what_they_did(frame: int, cost: float) -> None:
    load = load_of(checked(line(frame=frame)), profile())
    assert load.most == pytest.approx(1e9 / 8 / frame * cost, rel=1e-3)


def test_on_one_core_all_of_it() -> None:
    assert load_of(checked(line()), profile(), cores=1).shares == pytest.approx([0.8333], rel=1e-3)


def test_at_a_tenth_of_the_pace_a_tenth() -> None:
    plan = checked(line())
    assert load_of(plan, profile(), 0.1).most == pytest.approx(load_of(plan, profile()).most / 10)


def test_a_port_passes_no_more_than_it_serves() -> None:
    table = line()
    table["nodes"]["switch"]["service_rate"] = 10**8
    load = load_of(checked(table), profile())
    (switch,) = (s for g, s in zip(load.groups, load.shares, strict=True) if "switch" in g)
    assert switch == pytest.approx((83_333 + 8_333) / 2 / 200_000, rel=1e-3)
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp"}
    held = load_of(checked(table), profile())
    assert held.most == pytest.approx(8_333 / 200_000, rel=1e-3)


def test_two_sources_into_one_port_are_cut_alike() -> None:
    table = line()
    table["nodes"]["nic2"] = {"kind": "nic"}
    table["links"]["up2"] = {"ends": ["nic2", "switch"], "rate": 10**9}
    table["traffic"]["gen"]["from"] = ["nic", "nic2"]
    load = load_of(checked(table), profile())
    assert load.frames_per_s == pytest.approx(3 * 83_333, rel=1e-3)


def test_frames_are_as_many_as_a_simulated_run_sends() -> None:
    table = line(rate=300_000_000, duration=20 * MS)
    recording = recorded(table)
    ways = ("nic>switch", "switch>sink")
    sent = sum(int(recording.column(way, "frames_out")[-1]) for way in ways)
    assert sent > 900
    load = load_of(checked(table), profile())
    assert load.frames_per_s * 0.02 == pytest.approx(sent, rel=0.02)


def test_messages_say_no_rate() -> None:
    table = line()
    table["traffic"]["gen"] = {"plugin": "incast", "from": "nic", "to": "sink"}
    load = load_of(checked(table), profile())
    assert not load.known
    assert load.most == pytest.approx(83_333 / 200_000, rel=1e-3)


def test_what_the_machine_holds_is_advised_nothing() -> None:
    advice = advise(checked(line()), profile())
    assert (advice.warnings, advice.pace, advice.refused) == ([], None, None)


def test_a_little_too_much_is_warned_of() -> None:
    """1.04 of a core usually, 0.95 at best."""
    slow = profile(forwarding=[forwarding(1500, 80_000)])
    advice = advise(checked(line()), slow)
    assert advice.refused is None
    assert "1.04 of its time at pace 1" in advice.warnings[0]
    assert advice.pace == 0.7
    assert advise(checked(line()), slow, advice.pace).warnings == []


def test_far_too_much_is_refused_with_a_pace_that_would_do() -> None:
    slow = profile(forwarding=[forwarding(1500, 20_000)])
    advice = advise(checked(line()), slow)
    assert isinstance(advice.refused, Refused)
    assert "4.17 of its time at pace 1" in str(advice.refused)
    assert "--pace 0.1 would do" in str(advice.refused)
    assert "--profile none" in str(advice.refused)
    assert advise(checked(line()), slow, 0.1).refused is None


def test_by_the_profile_of_a_busy_machine_nothing_is_refused() -> None:
    busy = made()["stalls"] | {"waited_share": 0.5}
    advice = advise(checked(line()), profile(forwarding=[forwarding(1500, 20_000)], stalls=busy))
    assert advice.refused is None
    assert "4.17 of its time" in advice.warnings[0]


def test_what_sources_do_not_say_is_never_refused() -> None:
    table = line()
    table["traffic"]["gen"] = {"plugin": "incast", "from": "nic", "to": "sink"}
    advice = advise(checked(table), profile(forwarding=[forwarding(1500, 20_000)]))
    assert advice.refused is None
    assert "if its sources send all that their links carry" in advice.warnings[0]


def test_departures_too_late_for_the_loop_are_warned_of() -> None:
    late = departures(0.5, 9_000)
    late["lateness"] |= {"p99_ns": 2 * 10**6, "p999_ns": 2 * 10**6, "max_ns": 2 * 10**6}
    advice = advise(checked(line()), profile(departures=[late]))
    assert "2e+03 us" in advice.warnings[0]
    assert "would be invalid" in advice.warnings[0]
    assert advice.pace is not None
    assert advise(checked(line()), profile(departures=[late]), advice.pace).warnings == []


def test_the_departures_of_the_next_higher_load_count() -> None:
    found = [nearest(profile(), load) for load in (0.0, 0.1, 0.2, 0.7, 3.0)]
    assert found == [0, 0, 1, 1, 1]


def test_a_plan_as_a_machine_says_so_on_every_link(tmp_path: Any) -> None:
    import json

    file = tmp_path / "p.json"
    file.write_text(json.dumps(made()), encoding="utf-8")
    plan = emulate_machine(Plan(**line()), profile(), file)
    lines = {name: link.delay_line for name, link in plan.links.items()}
    assert {line.plugin for line in lines.values()} == {"host-jitter"}
    found = plan.check(Registry.load()).uses["delay_line"]["up"].params.to_table()
    assert found["load_index"] == 1  # 0.42 of a core: that of 0.7
    assert {found["thread"], found["peer_thread"]} == {0, 1}
    with pytest.raises(BadInput, match=r"links\.down\.delay_line"):
        emulate_machine(plan, profile(), file)
