"""Every shipped plan is right as it stands, and no slip in one of them gives a traceback."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.plan import composed
from orchestrator.plan.toml_text import write
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.shipped import KINDS, whole
from traces.capture import frames

FOLDER = Path(__file__).parents[2] / "plugins" / "plans"
SHIPPED = sorted(FOLDER.glob("*.toml"))
LARGE = "ibm-rack640"
OF_NO_PAPER = {"quickstart", "external-switch", "external-iperf", "ptf-switch", "round-robin"}
"""What to begin with, what is said of a device of others, and turns that need no paper."""
"""Takes seconds to load; ibm-rack64 is the same in small."""
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(1 << 64), 1 << 64),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["", "qcn-cp", "qcn-rp", "pause", "ieee", "netfpga", "0B", "1ps", "1 Gb/s"]),
    st.sampled_from(
        ["1GB", "1/128", "1/0", "60min", "-1B", "switch", "sink", "switch.sink", "run"]
    ),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(
        st.sampled_from(["plugin", "preset", "weight"]), st.text(max_size=5), max_size=2
    ),
)


def places(table: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a plan's data."""
    items = list(table.items() if isinstance(table, dict) else enumerate(table))
    below = [p for _, value in items if isinstance(value, dict | list) for p in places(value)]
    return [(table, key) for key, _ in items] + below


of_each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module", params=SHIPPED, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


@pytest.fixture(scope="module")
def plan(path: Path) -> Plan:
    return Plan.load(path, Registry.load())


def test_all_of_them_can_be_run_by_name() -> None:
    assert Registry.load().plans() == {path.stem: path for path in SHIPPED}
    figures = {f"netfpga-fig{n:02}" for n in range(8, 14)}
    assert figures | {"quickstart", "netfpga-fig11-w0"} <= {path.stem for path in SHIPPED}


def test_it_is_right_and_says_what_it_is(path: Path, plan: Plan) -> None:
    assert plan.name == path.stem
    assert re.fullmatch(r"[a-z0-9-]+", plan.name)
    assert plan.title
    assert plan.expect, "a plan that expects nothing cannot be missed"
    cited = r"(figure|algorithm) \d+|section|as a whole"
    assert plan.name in OF_NO_PAPER or re.search(cited, plan.paper)


def test_it_can_be_written_and_read_back(path: Path, plan: Plan) -> None:
    if path.stem == LARGE:
        return
    registry = Registry.load()
    assert Plan.load(plan.to_toml(), registry) == plan
    resolved = plan.check(registry).plan
    again = Plan.load(resolved.to_toml(), registry)
    assert again == resolved
    assert again.check(registry).plan == resolved
    assert Plan(**composed(path)[1]) == plan


def test_its_expectations_lie_in_phases_and_have_a_source(plan: Plan) -> None:
    for expect in plan.expect:
        assert expect.phase == "run" or expect.phase in plan.phases
        assert plan.name == "quickstart" or expect.source in ("text", "measured", "ours")


def test_in_a_hundredth_of_its_time_no_frame_is_lost_or_doubled(path: Path) -> None:
    """What loads can also be assembled; the whole runs are tested with their bands elsewhere."""
    from orchestrator.run.frame_audit import audit
    from tests.orchestrator.worlds import assembled, run_until

    table = composed(path)[1]
    assembly = assembled(table)
    plan = assembly.resolved.plan
    if plan.programs or not plan.traffic:  # they run on `software` alone, nothing else sends
        return
    first = min(entry.start for entry in plan.traffic.values())
    until = max(plan.duration // 100, 2 * (first + max(e.delay for e in plan.links.values())))
    for step in range(1, 5):
        run_until(assembly, until * step // 4)
        if path.stem != LARGE:  # its 400 000 virtual output queues take a minute to look through
            audit(assembly.world)
    assert assembly.world.clock[0].delivered > 0


@of_each_kind
@settings(max_examples=60)
@given(data=st.data())
def test_with_slips_it_is_a_plan_or_bad_input(kind: Path, data: st.DataObject) -> None:
    table = copy.deepcopy(composed(kind)[1])
    for _ in range(data.draw(st.integers(1, 4))):
        found = places(table)
        container, key = data.draw(st.sampled_from(found)) if found else (table, "name")
        how = data.draw(st.sampled_from(["drop", "rename", "replace", "replace", "swap"]))
        if how == "replace":
            container[key] = data.draw(VALUES)
        elif how == "swap" and found:
            other, place = data.draw(st.sampled_from(found))
            container[key] = copy.deepcopy(other[place])
        elif not found:
            break
        else:
            value = container.pop(key)
            if how == "rename" and isinstance(container, dict):
                container[data.draw(st.text(max_size=8))] = value
    try:
        text = write(table)
    except (TypeError, ValueError, UnicodeEncodeError):  # no TOML: nobody can write such a file
        return
    holds("\n" + text)


@of_each_kind
@settings(max_examples=60)
@given(data=st.data())
def test_with_characters_changed_it_is_a_plan_or_bad_input(kind: Path, data: st.DataObject) -> None:
    text = whole(kind)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        pieces = st.one_of(st.text(max_size=4), st.sampled_from(['"', "=", "]", "\n", "9", "KB"]))
        text = text[:start] + data.draw(pieces) + text[end:]
    holds("\n" + text)


@of_each_kind
@settings(max_examples=60)
@given(data=st.data())
def test_with_lines_lost_doubled_or_moved_it_is_a_plan_or_bad_input(
    kind: Path, data: st.DataObject
) -> None:
    lines = whole(kind).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(lines) - 1))
        line = lines[index] if data.draw(st.booleans()) else lines.pop(index)
        if data.draw(st.booleans()):
            lines.insert(data.draw(st.integers(0, len(lines))), line)
    holds("\n".join(["", *lines]))


def holds(text: str) -> None:
    """It is bad input, or a plan whose text, resolved or not, gives the same plan."""
    registry = Registry.load()
    try:
        plan = Plan.load(text, registry)
    except BadInput:
        return
    assert Plan.load(plan.to_toml(), registry) == plan
    resolved = plan.check(registry).plan
    assert Plan.load(resolved.to_toml(), registry) == resolved


# P4QCN, figure 11: the message is seen in a capture, with 11 in the ECN field.

HEADER = 18
"""Octets of Ethernet with its tag, before IPv4."""


def test_the_message_comes_back_marked_and_nothing_else_is(tmp_path: Path) -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()["p4qcn-fig11"], registry)
    folder = run(plan, out=tmp_path, report=False, live=False).folder
    assert folder is not None
    (capture,) = (folder / "captures").glob("*.pcapng")
    sent, messages = [], []
    for frame in frames(capture):
        header = frame.octets[HEADER:]
        assert header[0] == 0x45
        source, destination = header[12:16], header[16:20]
        (sent if destination > source else messages).append((source, destination, header[1] & 3))
    (message,) = messages
    assert message[2] == 0b11
    assert message[:2] == (sent[0][1], sent[0][0]), "from whom it was sent to, to who sent it"
    assert len(sent) > 1000
    assert {ecn for *_, ecn in sent} == {0}
