"""Parts of several machines become one recording: what one world would have measured, no less."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble, record
from orchestrator.assembly.recording_builder import Share
from orchestrator.engine.datapath import stall_detection as at
from orchestrator.engine.datapath.link_counters import RECEIVED, RECEIVED_PS, SENT, SENT_PS
from orchestrator.engine.histogram import bin_of, new_histogram
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.guarded_link import GuardedLink, KindCounts
from orchestrator.targets.software.link_end_counters import DEPARTED, END_WORDS
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.controller.merge_recordings import AgentRecording, merge
from tests.orchestrator.worlds import MS, US, line_of_three, run_until

MOST = 1 << 30
LASTS = 6 * MS
HOSTED = {"left": ["nic"], "middle": ["switch"], "right": ["sink"]}
"""Machine -> nodes."""
COUNTED = (
    *("sent", "put_on_wires", "interfaces_lost", "socket_received", "socket_dropped"),
    *("unsent", "no_descriptor", "foreign", "held_ps", "holds", "longest_hold_ps"),
)
COUNTERS = ("tx_packets", "tx_dropped", "tx_errors", "rx_errors")


@pytest.fixture(scope="module")
def whole() -> Assembly:
    """A run of one world, with everything that a machine could have measured of its part."""
    table = line_of_three(
        duration=LASTS,
        sample_interval=MS,
        phases={"first": {"from": 0, "to": 2 * MS}, "then": {"from": 2 * MS, "to": LASTS}},
        capture={"ports": ["nic.switch", "switch.sink"], "frames": 200, "snap": 64},
        timeline=[{"at": 3 * MS, "set": "nodes.switch.service_rate", "to": 5 * 10**8}],
    )
    assembly = assemble(Plan(**table).check(Registry.load()))
    run_until(assembly, LASTS + 1)
    return assembly


def part(whole: Assembly, machine: str) -> AgentRecording:
    """What the agent of a machine hands in."""
    nodes = HOSTED[machine]
    share = Share.of(whole, nodes)
    mine = [capture for capture in share.captures if capture.node in nodes]
    arrays = {
        "times": share.times.copy(),
        "columns": share.columns,
        "values": share.values.copy(),
        "latency": share.latency * int("sink" in nodes),  # counted where frames arrive
        "lateness": new_histogram(),
    }
    for number, capture in enumerate(mine):
        arrays[f"times{number}"] = capture.times_ps
        arrays[f"lengths{number}"] = np.where(capture.outgoing, ~capture.lengths, capture.lengths)
        arrays[f"octets{number}"] = capture.octets
    ports = [{"port": f"{c.node}.{c.port}", "dropped": c.dropped} for c in mine]
    words = dict.fromkeys(COUNTED, 0) | {"captures": ports, "offloads": {"eth0": {}}}
    ports = [port.entity for port in whole.resolved.plan.ports() if port.node in nodes]
    words["ends"] = {port: [0] * END_WORDS for port in ports}
    nics = {"eth0": dict.fromkeys(COUNTERS, 0)}
    return AgentRecording(machine, arrays, words, nics, ClockCorrection(), nodes)


@pytest.fixture
def parts(whole: Assembly) -> list[AgentRecording]:
    """One of each machine, none of which noticed anything."""
    return [part(whole, machine) for machine in HOSTED]


def merged(whole: Assembly, parts: list[AgentRecording], **how: Any) -> Any:
    """The recording of these parts."""
    return merge(whole.resolved, parts, 7, **how)[0]


def test_the_parts_of_a_run_are_what_one_world_measures(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    one = record("software", [(whole, list(whole.resolved.plan.nodes))], cpu_s=0, wall_s=0)
    got = merged(whole, parts)
    assert got.columns == one.columns
    assert np.array_equal(got.times_ps, one.times_ps)
    assert np.array_equal(got.values, one.values)
    assert len(got.times_ps) == LASTS // MS + 1  # the mark at 2 ms lies on the grid
    assert got.latency["gen"][-1].sum() > 0
    for entry, history in one.latency.items():
        assert np.array_equal(got.latency[entry], history)
    assert np.array_equal(got.latency_marks_ps, one.latency_marks_ps)
    assert (got.events, got.data_frames) == (one.events, one.data_frames)
    assert (got.epoch_ns, got.wall_s) == (7, LASTS / 1e12)
    assert got.cpu_s == pytest.approx(3 * LASTS / 1e12)
    assert set(got.offloads) == {"left: eth0", "middle: eth0", "right: eth0"}
    assert len(got.captures) == len(one.captures) == 2
    for mine, its in zip(got.captures, one.captures, strict=True):
        assert (mine.node, mine.port, mine.dropped) == (its.node, its.port, its.dropped)
        for what in ("times_ps", "outgoing", "lengths", "kept", "octets"):
            assert np.array_equal(getattr(mine, what), getattr(its, what)), what


def test_the_order_of_the_machines_does_not_matter(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    assert np.array_equal(merged(whole, parts[::-1]).values, merged(whole, parts).values)


@pytest.mark.parametrize("worst", range(3))
def test_the_worst_lateness_of_any_machine_is_that_of_the_run(
    whole: Assembly, parts: list[AgentRecording], worst: int
) -> None:
    for number, one in enumerate(parts):
        late = 900 * US if number == worst else (number + 1) * US
        one.arrays["lateness"][bin_of(late)] = 10
        one.arrays["lateness"][-1] = late
    told = merged(whole, parts).fidelity
    assert told["lateness_s"]["max"] == pytest.approx(900e-6)
    assert told["departures"] == 30


def offered(part: AgentRecording, frames: int) -> None:
    """So many frames were handed to an interface of a part, and did not leave it."""
    next(iter(part.words["ends"].values()))[SENT] += frames


@pytest.mark.parametrize("where", range(3))
@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("socket_dropped", "sockets"),
        ("interfaces_lost", "interfaces"),
        ("put_on_wires", "between"),
        ("unsent", "unsent"),
        ("no_descriptor", "no descriptor"),
        ("foreign", "not understood"),
    ],
)
def test_what_one_machine_lost_is_lost(
    whole: Assembly, parts: list[AgentRecording], where: int, word: str, place: str
) -> None:
    parts[where].words[word] = 3
    if word in ("interfaces_lost", "unsent"):
        offered(parts[where], 3)
    got = merged(whole, parts)
    assert {
        name: count for name, count in got.fidelity["lost_outside_queues"].items() if count
    } == {place: 3}
    assert got.vanished == 3 * (word == "no_descriptor")


@pytest.mark.parametrize("counter", COUNTERS)
def test_what_is_lost_on_a_wire_is_lost(
    whole: Assembly, parts: list[AgentRecording], counter: str
) -> None:
    """A frame that a NIC sent, and that no socket had, is on none of the NICs' own counters."""
    parts[1].interfaces["eth1"] = dict.fromkeys(COUNTERS, 0) | {counter: 5}
    if counter.startswith("tx"):
        offered(parts[1], 5)
    lost = merged(whole, parts).fidelity["lost_outside_queues"]
    assert lost["between" if counter == "tx_packets" else "interfaces"] == 5
    assert sum(lost.values()) == 5


@pytest.mark.parametrize("counter", ["interfaces_lost", "tx_dropped", "tx_errors"])
def test_a_frame_that_is_offered_again_and_again_is_lost_once(
    whole: Assembly, parts: list[AgentRecording], counter: str
) -> None:
    """Three frames were refused ten thousand times each: two were given up, one left after all."""
    if counter == "interfaces_lost":
        parts[2].words[counter] = 30_003
    else:
        parts[2].interfaces["eth0"] |= {counter: 30_003, "tx_packets": 1}
        parts[0].words["socket_received"] = 1
    offered(parts[2], 3 if counter != "interfaces_lost" else 2)
    parts[2].words["unsent"] = 2
    lost = merged(whole, parts).fidelity["lost_outside_queues"]
    assert {place: count for place, count in lost.items() if count} == {"unsent": 2}


def test_interfaces_that_are_too_narrow_are_reasons_with_their_machine(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    parts[1].words["narrow"] = ["interface p0 has an MTU of 1000", "x" * 9000]
    assert not any("p0" in reason for reason in merged(whole, parts).fidelity["reasons"])
    parts[0].words["unsent"] = 3
    fidelity = merged(whole, parts).fidelity
    assert fidelity["reasons"][-2] == "agent middle: interface p0 has an MTU of 1000"
    assert len(fidelity["reasons"][-1]) < 400
    assert fidelity["advised_pace"] is None


@pytest.mark.parametrize("told", [7, [7], {"p0": "narrow"}])
def test_a_list_of_narrow_interfaces_that_is_none_is_refused(
    whole: Assembly, parts: list[AgentRecording], told: Any
) -> None:
    parts[1].words["narrow"] = told
    with pytest.raises(RunFailed, match="agent middle: its results have no list of narrow"):
        merged(whole, parts)


def test_stalls_of_a_machine_are_those_of_the_run(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    """These parts are of an older version and tell none, but for the one in the middle."""
    row = np.zeros((1, at.COLUMNS), np.int64)
    row[0, [at.TO_NS, at.SPAN_NS]], row[0, at.TO_PS] = 4000 * US, 4000 * US
    thread = {"nodes": ["switch"], "rows": 1, "count": 3, "cost_ns": 1.0}
    thread |= dict.fromkeys(("floor_ns", "most_ns", "most_ps"), 0)
    parts[1].arrays["stalls"] = row
    parts[1].words["stalls"] = {"v": 1, "one_clock": True, "threads": [thread]}
    told = merged(whole, parts, pace=0.5).fidelity["stalls"]
    assert list(told["machines"]) == ["middle", "left", "right"]
    assert told["count"] == told["machines"]["middle"]["count"] == 1
    assert told["held_s"] == pytest.approx(1e-12 * (0.5e3 * 4000 * US - 4000 * US))
    assert {"untold"} == set(told["machines"]["left"]) == set(told["machines"]["right"])
    assert set(merged(whole, [part(whole, m) for m in HOSTED]).fidelity["stalls"]["machines"]) == {
        *HOSTED
    }


def test_frames_that_came_to_another_machine_are_not_lost(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    parts[0].interfaces["eth0"]["tx_packets"] = 5
    parts[0].words["put_on_wires"] = 2
    parts[1].words["socket_received"] = 4
    parts[2].words["socket_received"] = 3
    assert merged(whole, parts).fidelity["lost_outside_queues"]["between"] == 0


def test_counts_of_all_machines_are_added_up(whole: Assembly, parts: list[AgentRecording]) -> None:
    for number, one in enumerate(parts, 1):
        one.words |= {"sent": number, "held_ps": number * MS, "holds": number}
        one.words |= {"longest_hold_ps": (4 - number) * MS, "taken_s": {"cpu": number}}
    told = merged(whole, parts).fidelity
    assert told["frames_sent"] == 6
    assert told["held"] == {"share": 1.0, "time_s": 6e-3, "count": 6, "longest_s": 3e-3}
    assert told["taken_s"] == {"left: cpu": 1, "middle: cpu": 2, "right: cpu": 3}


def test_a_run_that_was_stopped_ends_with_the_last_row_of_all(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    full = merged(whole, parts)
    for name in ("times", "values"):
        parts[1].arrays[name] = parts[1].arrays[name][:-2]
    parts[0].words["put_on_wires"] = 3  # under way when the first of them ended
    got = merged(whole, parts, stopped=True)
    assert np.array_equal(got.times_ps, full.times_ps[: len(got.times_ps)])
    assert np.array_equal(got.values, full.values[: len(got.times_ps)])
    assert got.times_ps[-1] == 5 * MS
    assert got.wall_s == 5e-3
    assert "between" not in got.fidelity["lost_outside_queues"]


def test_captures_and_delays_are_brought_to_one_clock(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    parts[0].clock = ClockCorrection(shift_ps=40 * US, error_ns=2000, method="exchanges")
    recording, told = merge(whole.resolved, parts, 0)
    plain = part(whole, "left").arrays["times0"]
    (capture,) = (one for one in recording.captures if one.node == "nic")
    assert np.array_equal(capture.times_ps, plain + 40 * US)
    assert "captured on left" in capture.comment
    assert [one.comment for one in recording.captures if one.node != "nic"] == [""]
    assert told == {"gen": {"added_s": -40e-6, "error_s": 2e-6}}
    before = (part(whole, "right").arrays["latency"][-1, 0] * latency_edges()[:-1]).sum()
    after = (recording.latency["gen"][-1] * latency_edges()[:-1]).sum()
    frames = recording.latency["gen"][-1].sum()
    assert frames == part(whole, "right").arrays["latency"][-1, 0].sum()
    assert after < before


def test_delays_between_machines_are_off_by_the_errors_of_both_clocks_and_their_drift(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    parts[0].clock = ClockCorrection(rate=1e-3, error_ns=2000)
    parts[2].clock = ClockCorrection(error_ns=3000)
    _, told = merge(whole.resolved, parts, 0)
    assert told["gen"]["error_s"] == pytest.approx(5e-6 + 2e-6, rel=1e-9)


def test_delays_within_one_machine_are_as_they_were_measured(whole: Assembly) -> None:
    """By whatever clock: nothing is added, and nothing is off."""
    alone = everything(whole)
    alone.clock = ClockCorrection(shift_ps=40 * US, error_ns=9000, rate=1e-3)
    _, told = merge(whole.resolved, [alone], 0)
    assert told == {"gen": {"added_s": 0.0, "error_s": 0.0}}


def everything(whole: Assembly) -> AgentRecording:
    """What one machine that hosts all nodes hands in."""
    share = Share.of(whole, list(whole.resolved.plan.nodes))
    one = part(whole, "right")
    one.nodes = list(whole.resolved.plan.nodes)
    one.arrays |= {"times": share.times, "columns": share.columns, "values": share.values}
    ports = [port.entity for port in whole.resolved.plan.ports()]
    one.words |= {"ends": {port: [0] * END_WORDS for port in ports}, "captures": []}
    return one


def test_a_slower_run_took_longer(whole: Assembly, parts: list[AgentRecording]) -> None:
    got = merged(whole, parts, pace=0.25)
    assert got.wall_s == pytest.approx(4 * LASTS / 1e12)
    assert got.cpu_s == pytest.approx(12 * LASTS / 1e12)


def unknown_to_nics(parts: list[AgentRecording]) -> None:
    """The NICs' own counters say nothing: other programs may have used them."""
    for part in parts:
        for end in part.words["ends"].values():
            end[DEPARTED + 1], end[DEPARTED + 3] = -1, -1


def test_frames_that_a_link_swallowed_are_lost_though_no_socket_misses_them(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    """In all as many came as went: what one link lost is not made up for by another's surplus."""
    here, there = parts[0].words["ends"]["nic.switch"], parts[1].words["ends"]["switch.nic"]
    here[SENT] = here[DEPARTED] = here[DEPARTED + 1] = 1000
    there[RECEIVED] = there[DEPARTED + 3] = 990
    told = merged(whole, parts).fidelity
    assert told["links"]["nic>switch"]["lost"] == 10
    assert told["lost_outside_queues"]["between"] == 10


def test_what_is_under_way_at_the_end_is_on_its_way_until_then(whole: Assembly) -> None:
    """A frame that has not come was late by the time from its departure to the run's end."""
    alone = everything(whole)
    unknown_to_nics([alone])
    here, there = alone.words["ends"]["nic.switch"], alone.words["ends"]["switch.nic"]
    here[SENT] = here[DEPARTED] = 2
    there[RECEIVED] = 1
    here[SENT_PS], there[RECEIVED_PS] = LASTS + MS, MS + 2 * US
    told = merged(whole, [alone]).fidelity["links"]["nic>switch"]
    due = whole.resolved.plan.links[next(iter(whole.resolved.plan.links))].delay / 1e12
    assert told["delay_s"] == pytest.approx(due + 1e-6)


def test_guarded_links_inside_a_machine_are_judged(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    """A machine guards the links between its own nodes; its counts are those of a stranger."""
    alone = everything(whole)
    unknown_to_nics([alone])
    link = GuardedLink({"data": KindCounts(sent=7, received=7, changed=3)})
    alone.words["guarded"] = {"nic>switch": dataclasses.asdict(link)}
    told = merged(whole, [alone]).fidelity
    assert told["links"]["nic>switch"]["kinds"]["data"]["changed"] == 3
    reasons = [one for one in told["reasons"] if "changed the contents of 3 data frames" in one]
    assert len(reasons) == 1
    assert told["verdict"] == "invalid"
    parts[0].words["guarded"] = {"nic>switch": {"kinds": 7}}
    with pytest.raises(RunFailed, match="no counts of guarded links"):
        merged(whole, parts)


def test_a_machine_may_have_one_column(whole: Assembly, parts: list[AgentRecording]) -> None:
    own = parts[1].arrays
    extra = part(whole, "middle")
    extra.machine, extra.nodes = "extra", []
    extra.words |= {"ends": {}, "captures": []}
    extra.arrays |= {"columns": own["columns"][:1], "values": own["values"][:, :1]}
    own |= {"columns": own["columns"][1:], "values": own["values"][:, 1:]}
    full = merged(whole, [part(whole, machine) for machine in HOSTED])
    assert np.array_equal(merged(whole, [*parts, extra]).values, full.values)


@pytest.mark.parametrize("column", [-1, "columns"])
def test_a_column_just_outside_the_plan_is_refused(
    whole: Assembly, parts: list[AgentRecording], column: int | str
) -> None:
    count = len(merged(whole, parts).columns)
    parts[1].arrays["columns"][0 if column == -1 else -1] = -1 if column == -1 else count
    with pytest.raises(RunFailed, match="columns of another plan"):
        merged(whole, parts)


def drop_row(parts: list[AgentRecording]) -> None:
    for name in ("times", "values"):
        parts[1].arrays[name] = np.delete(parts[1].arrays[name], 3, axis=0)


def drop_values(parts: list[AgentRecording]) -> None:
    parts[1].arrays["values"] = np.delete(parts[1].arrays["values"], 3, axis=0)


def drop_machine(parts: list[AgentRecording]) -> None:
    del parts[1]


def other_columns(parts: list[AgentRecording]) -> None:
    parts[1].arrays["columns"] = parts[1].arrays["columns"] + 1000


def negative_columns(parts: list[AgentRecording]) -> None:
    parts[1].arrays["columns"] = -1 - parts[1].arrays["columns"]


def other_delays(parts: list[AgentRecording]) -> None:
    parts[1].arrays["latency"] = parts[1].arrays["latency"][:-1]


def other_lateness(parts: list[AgentRecording]) -> None:
    for one in parts:
        one.arrays["lateness"] = one.arrays["lateness"][:-1]


def no_count(parts: list[AgentRecording]) -> None:
    del parts[1].words["sent"]


def no_rows(parts: list[AgentRecording]) -> None:
    for one in parts:
        one.arrays |= {name: one.arrays[name][:0] for name in ("times", "values")}


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (drop_row, "agent left and agent middle took 10 and 9 rows of samples"),
        (drop_values, "agent middle: its results have samples of"),
        (drop_machine, "no part sampled queue_bytes of switch"),
        (other_columns, "agent middle: its results have columns of another plan"),
        (negative_columns, "agent middle: its results have columns of another plan"),
        (other_delays, "agent middle: its histograms of delays are of another plan"),
        (other_lateness, "its histogram of lateness is of another tailback"),
        (no_count, "agent middle: its results lack sent"),
        (no_rows, "agent left: its results have samples of"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(
    whole: Assembly, parts: list[AgentRecording], spoil: Any, says: str
) -> None:
    spoil(parts)
    with pytest.raises(RunFailed, match=says):
        merged(whole, parts)


def stored(folder: Path, part: AgentRecording) -> tuple[Path, Path]:
    """The two files of a part, as they come from its agent."""
    numbers, words = folder / "numbers", folder / "words"
    with numbers.open("wb") as file:
        np.savez(file, **part.arrays)
    words.write_text(json.dumps(part.words), encoding="utf-8")
    return numbers, words


def test_a_part_is_read_as_it_was_written(parts: list[AgentRecording], tmp_path: Path) -> None:
    files = stored(tmp_path, parts[1])
    got = AgentRecording.load("middle", ["switch"], *files, {}, ClockCorrection(), MOST)
    assert got.words == parts[1].words
    assert set(got.arrays) == set(parts[1].arrays)
    assert all(np.array_equal(got.arrays[name], of) for name, of in parts[1].arrays.items())


@pytest.mark.parametrize("what", ["text", "words", "object", "float", "lacking"])
def test_files_that_are_no_results_are_refused(
    parts: list[AgentRecording], tmp_path: Path, what: str
) -> None:
    if what in ("object", "float"):
        parts[1].arrays["times"] = parts[1].arrays["times"].astype(what)
    if what == "lacking":
        del parts[1].arrays["latency"]
    numbers, words = stored(tmp_path, parts[1])
    if what == "text":
        numbers.write_bytes(b"rows")
    if what == "words":
        words.write_text("{", encoding="utf-8")
    with pytest.raises(RunFailed, match=r"^agent middle: its results"):
        AgentRecording.load("middle", ["switch"], numbers, words, {}, ClockCorrection(), MOST)


def test_a_cable_that_repeats_frames_is_told(whole: Assembly, parts: list[AgentRecording]) -> None:
    here, there = parts[0].words["ends"]["nic.switch"], parts[1].words["ends"]["switch.nic"]
    here[SENT] = here[DEPARTED] = there[RECEIVED] = 1000
    for part in parts:  # nothing is known of the NICs, which other programs may have used
        for end in part.words["ends"].values():
            end[DEPARTED + 1], end[DEPARTED + 3] = -1, -1
    assert merged(whole, parts).fidelity["verdict"] == "valid"
    there[RECEIVED] += 3
    told = merged(whole, parts).fidelity
    assert told["verdict"] == "invalid"
    assert told["links"]["nic>switch"]["duplicated"] == 3
    assert told["links"]["nic>switch"]["delay_s"] is None  # the machines have two clocks


@pytest.mark.parametrize("ends", [None, {}, {"nic.switch": [0]}, {"nic.switch": ["0"] * END_WORDS}])
def test_counts_that_are_not_there_are_refused(
    whole: Assembly, parts: list[AgentRecording], ends: Any
) -> None:
    parts[0].words["ends"] = ends
    with pytest.raises(RunFailed, match="agent left: its results"):
        merged(whole, parts)


OTHER = {"told": "x", "process": 77, "folder": "/x/runs/demo/20260101T000000Z-aa"}


def test_other_runs_are_named_with_the_machine_that_they_have_cores_of(
    whole: Assembly, parts: list[AgentRecording]
) -> None:
    parts[2].words["neighbours"] = [OTHER]
    fidelity = merged(whole, parts).fidelity
    assert fidelity["neighbours"] == [
        OTHER | {"machine": "right", "told": f"demo (process 77, {OTHER['folder']}) on right"}
    ]
    assert "advised_pace" in fidelity
    parts[0].arrays["lateness"] = late = new_histogram()
    late[bin_of(LASTS)], late[-1] = 100, LASTS
    fidelity = merged(whole, parts).fidelity
    assert fidelity["verdict"] == "invalid"
    assert fidelity["reasons"][-1].endswith(f"demo (process 77, {OTHER['folder']}) on right")
    assert fidelity["advised_pace"] is None


@pytest.mark.parametrize(
    "told", [7, [7], [OTHER | {"process": "77"}], [OTHER | {"folder": None}], [{"told": "x"}]]
)
def test_a_list_of_other_runs_that_is_none_is_refused(
    whole: Assembly, parts: list[AgentRecording], told: Any
) -> None:
    parts[1].words["neighbours"] = told
    with pytest.raises(RunFailed, match="agent middle: its results have no list of other runs"):
        merged(whole, parts)
