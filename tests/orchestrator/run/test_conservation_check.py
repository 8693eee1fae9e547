"""A run looks whether its own counts add up, and is invalid when they do not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import Column, Recording
from orchestrator.registry import Registry
from orchestrator.run import buffer_conservation
from orchestrator.run.execute_run import run
from orchestrator.run.run_result import judge_recording
from orchestrator.run.world_invariants import (
    HIGHEST,
    LONGEST,
    Limits,
    _beyond_rates,
    _first_violation,
)
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import line_of_three, recorded


def test_a_sound_run_adds_up_at_every_sample() -> None:
    assert buffer_conservation.unbalanced_buffers(recorded(line_of_three())) == []


def test_a_frame_that_is_not_counted_is_named_with_its_place_and_time() -> None:
    recording = recorded(line_of_three())
    row = len(recording.times_ps) // 2
    recording.column("switch.sink", "frames_out")[row:] -= 1
    (sentence,) = buffer_conservation.unbalanced_buffers(recording)
    assert sentence.startswith(f"switch.sink: at {recording.times_ps[row] / 1e12:g} s")


@pytest.fixture(scope="module")
def full() -> Recording:
    """A queue that holds frames and drops others."""
    table = line_of_three()
    table["nodes"]["switch"] |= {"service_rate": 4 * 10**8, "buffer": 30_000}
    return recorded(table)


@pytest.mark.parametrize("quantity", buffer_conservation.COUNTS)
@pytest.mark.parametrize("off", [-1, 1])
def test_each_of_the_counts_is_weighed_and_told(full: Recording, quantity: str, off: int) -> None:
    assert buffer_conservation.unbalanced_buffers(full) == []
    recording = replace(full, values=full.values.copy())
    counts = {name: recording.column("switch.sink", name) for name in buffer_conservation.COUNTS}
    assert min(column[-1] for column in counts.values()) > 1
    counts[quantity][-1] += off
    came, left, dropped, queued = (counts[name][-1] for name in buffer_conservation.COUNTS)
    assert buffer_conservation.unbalanced_buffers(recording) == [
        f"switch.sink: at 0.002 s {came} frames had come, {left} left, {dropped} dropped, "
        f"trimmed or moved, and {queued} are there"
    ]


def test_an_entity_that_lacks_one_of_the_counts_is_passed_over(full: Recording) -> None:
    lone = [replace(c, entity="lone") for c in full.columns if c.quantity == "frames_in"][:1]
    counts = np.concatenate([np.full((len(full.values), 1), 7), full.values], axis=1)
    more = replace(full, columns=[*lone, *full.columns], values=counts)
    assert buffer_conservation.unbalanced_buffers(more) == []
    more.column("switch.sink", "frames_in")[-1] += 1
    assert [
        sentence.partition(":")[0] for sentence in buffer_conservation.unbalanced_buffers(more)
    ] == ["switch.sink"]


def test_such_a_run_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Simulated.run

    def loses_count(self: Simulated, *arguments: object) -> object:
        recording = honest(self, *arguments)  # type: ignore[arg-type]
        recording.column("switch.sink", "frames_in")[-1] += 1
        return recording

    monkeypatch.setattr(Simulated, "run", loses_count)
    result = run(Plan(**line_of_three()), out=None).result
    assert result["verdict"] == "invalid"
    assert any(
        "not accounted for: switch.sink" in reason for reason in result["fidelity"]["reasons"]
    )


# A recording of a target that lacks a column: judged all the same, or refused in one sentence.

REGISTRY = Registry.load()
TABLE = line_of_three()
TABLE["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp"}
TABLE["nodes"]["switch"]["congestion_point"] = {"plugin": "qcn-cp"}


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Simulated().run(Plan(**TABLE).check(REGISTRY), silent)


def without(recording: Recording, place: int) -> Recording:
    """The recording of a target called fluid, without one column."""
    columns = [one for at, one in enumerate(recording.columns) if at != place]
    values = np.delete(recording.values, place, axis=1)
    return replace(recording, target="fluid", columns=columns, values=values, events=[])


def refusal(recording: Recording) -> str:
    """The sentence with which a recording is refused; empty: it was judged."""
    try:
        judge_recording(REGISTRY, Plan(**TABLE).check(REGISTRY), recording)
    except BadInput as error:
        return str(error)
    return ""


def test_each_column_in_turn(recording: Recording) -> None:
    refused = set()
    for place, column in enumerate(recording.columns):
        text = refusal(without(recording, place))
        if text:
            assert "\n" not in text
            assert text.startswith("target fluid: ")
            assert f"no column {column.quantity!r} of {column.entity!r}" in text
            refused.add(column.quantity)
    assert "frames_dropped" in refused


FLUID = ("queue_bytes", "queue_max_bytes", "service_rate", "bytes_out", "frames_dropped")


def test_a_target_that_samples_a_port_alone(recording: Recording) -> None:
    """Five columns are enough; without one of them it is judged or refused by name."""
    places = [
        at
        for at, one in enumerate(recording.columns)
        if one.entity == "switch.sink" and one.quantity in FLUID
    ]
    alone = replace(
        recording,
        target="fluid",
        columns=[recording.columns[at] for at in places],
        values=recording.values[:, places],
        events=[],
    )
    assert len(places) == len(FLUID)
    assert refusal(alone) == ""
    names = [column.quantity for column in alone.columns]
    texts = {name: refusal(without(alone, names.index(name))) for name in FLUID}
    assert "target fluid" in texts["frames_dropped"]
    assert "no column 'frames_dropped' of 'switch.sink'" in texts["frames_dropped"]
    for name, text in texts.items():
        assert text == "" or f"no column {name!r} of 'switch.sink'" in text


# Links and buffers that had an octet more than they may have are told, however large they are.

HOUR_PS = 3600 * 10**12


def test_each_link_has_its_own_rate() -> None:
    """One of 1 Gb/s that sent what one of 2 Gb/s may, and that one with what it may."""
    rates = {"slow": 10**9, "fast": 2 * 10**9}
    sent = 15 * 10**8 // 8 + LONGEST
    for order in (["slow", "fast"], ["fast", "slow"]):
        plan: Any = SimpleNamespace(
            directions=lambda: [SimpleNamespace(entity=name, link=name) for name in rates],
            links={name: SimpleNamespace(rate=rate) for name, rate in rates.items()},
        )
        recording: Any = SimpleNamespace(
            times_ps=np.array([0, 10**12], np.int64),
            columns=[Column("a", name, "bytes_out", "B", "counter") for name in order],
            values=np.array([[0, 0], [sent, sent]], np.int64),
        )
        (one,) = _beyond_rates(SimpleNamespace(plan=plan, actions=[]), recording)  # type: ignore[arg-type]
        assert one.startswith("slow at 1 s")


def told(rate: int, at_ps: int, sent: int) -> list[str]:
    """What is said of a link whose last sample is this one."""
    plan: Any = SimpleNamespace(
        directions=lambda: [SimpleNamespace(entity="a>b", link="wire")],
        links={"wire": SimpleNamespace(rate=rate)},
    )
    recording: Any = SimpleNamespace(
        times_ps=np.array([0, at_ps], np.int64),
        columns=[Column("a", "a>b", "bytes_out", "B", "counter")],
        values=np.array([[0], [sent]], np.int64),
    )
    resolved: Any = SimpleNamespace(plan=plan, actions=[])
    return list(_beyond_rates(resolved, recording))


@pytest.mark.parametrize("rate", [1, 7 * 10**6, 10**9, 25_781_250_000, 4 * 10**11])
@pytest.mark.parametrize("at_ps", [1, 999_999_999_999, 20 * 10**12 + 3, HOUR_PS])
def test_the_last_octet_that_a_rate_allows(rate: int, at_ps: int) -> None:
    most = at_ps * rate // (8 * 10**12) + LONGEST
    assert told(rate, at_ps, most) == []
    (one,) = told(rate, at_ps, most + 1)
    assert f"bytes_out {most + 1}, rate {rate}" in one


def test_an_invariant_that_holds_but_in_one_sample_is_told() -> None:
    recording: Any = SimpleNamespace(times_ps=np.array([0, 10**12, 2 * 10**12], np.int64))
    values = [np.array([5, 9, 9]), np.array([5, 4, 10])]
    (one,) = _first_violation(HIGHEST, values, "switch.sink", recording)
    assert one.startswith("switch.sink at 2 s: most octets of a buffer")
    assert one.endswith("(bytes_max 9, bytes 10)")
    assert _first_violation(HIGHEST, [values[0][:2], values[1][:2]], "switch.sink", recording) == []


@pytest.mark.parametrize("to", [20_000, 60_000])
def test_a_buffer_may_hold_what_the_largest_one_that_a_step_makes_does(to: int) -> None:
    step = {"at": 10**9, "set": "nodes.switch.ports.sink.buffer", "to": to}
    table = line_of_three(timeline=[step])
    table["nodes"]["switch"]["buffer"] = 40_000
    capacity = Limits.of(Plan(**table).check(Registry.load())).capacity
    assert capacity["switch.sink"] == max(40_000, to)
    assert capacity["switch.nic"] == 40_000
