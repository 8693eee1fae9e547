"""Values that kernels write into the engine's fields and messages: what means nothing is refused,
as it is stored or sent, whatever the kind; what no kernel serves, when the kernel is compiled."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator import algorithm as kinds
from orchestrator.algorithm import ENTITIES
from orchestrator.assembly import assemble
from orchestrator.assembly.recording_builder import Share
from orchestrator.engine.jit import DISABLED
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.kernel_mistakes import KernelMistake
from orchestrator.engine.kernel_rules import check_rules
from orchestrator.engine.records import MOST_TIMERS, NEVER
from orchestrator.engine.settable_fields import (
    BOUNDS,
    RECORDS,
    SETTABLE,
    TIMERS,
    numbered_bounds,
    word_of,
)
from orchestrator.errors import BadInput
from orchestrator.progress import silent
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.engine.test_kernel_guards import (
    STATE,
    Nothing,
    module_of,
    no_modules_stay,
    simulate,
    with_algorithm,
)
from tests.orchestrator.worlds import US, Table, line_of_three, run_until

_ = no_modules_stay

ACTIVE = "entity.active = 1\n    return 0"
QUIET = "return 0"
SEGMENT = "entity.next_frame = now + 10000000\n    message.sequence = {}\n    return 1"

CASES: dict[str, tuple[str, dict[str, str], dict[str, Any], str, str]] = {
    "window below 0": ("reaction_point", {"sent": "entity.window = -state.count\n    return 0",
        "start": ACTIVE}, {}, "limiter.window to -", "0 to NEVER"),
    "rate below 0": ("reaction_point", {"sent": "entity.rate -= 10**12 + now\n    return 0",
        "start": ACTIVE}, {}, "limiter.rate to -", "0 to 10000000000000"),
    "target below 0": ("reaction_point", {"start": ACTIVE,
        "sent": "entity.target = -state.count\n    return 0"}, {}, "limiter.target to -", "0 to"),
    "active 2": ("reaction_point", {"start": "entity.active = state.count + 1\n    return 0"}, {},
        "limiter.active to 2", "0 to 1"),
    "timer below 0": ("reaction_point", {"start": "entity.active = 1\n    entity.timer = -5\n"
        "    return 0", "timer": QUIET}, {}, "limiter.timer to -5",
        "0 to NEVER are accepted; no time is below 0; one that is over is due a nanosecond later"),
    "named timer below 0": ("reaction_point", {"start": "entity.active = 1\n"
        "    entity.timers[state.count - 1] = -7\n    return 0"}, {"timers": ("one",)},
        "limiter.timers to -7", "0 to NEVER"),
    "entropy": ("reaction_point", {"start": ACTIVE, "sent": "frame.inner = 2048\n    return 0"}, {},
        "frame.inner to 2048", "-1 to 2046"),
    "length of no header": ("traffic", {"next": "entity.length = 20\n    return 12000000"}, {},
        "flow.length to 20", "flow.headers to 9216"),
    "length beyond a frame": ("traffic", {"next": "entity.length = 9217\n    return 12000000"}, {},
        "flow.length to 9217", "flow.headers to 9216"),
    "mark": ("congestion_point", {"arrival": "frame.mark = 256\n    return 0"}, {},
        "frame.mark to 256", "0 to 255"),
    "mark of a notification point": ("notification_point",
        {"arrival": "frame.mark = -1\n    return 0"}, {}, "frame.mark to -1", "0 to 255"),
    "a point's timer": ("congestion_point", {"timer": QUIET,
        "arrival": "entity.congestion_point_timer = -now - 1\n    return 0"}, {},
        "queue.congestion_point_timer to -", "0 to NEVER"),
    "message of kind 99": ("congestion_point", {"arrival": "message.kind = 99\n    return 1"}, {},
        "a message of kind 99", "1 (CNM), 14 (RETURNED), 15 (CNP) are accepted; declare `sends`"),
    "message of data": ("congestion_point", {"arrival": "message.kind = 0\n    return 1"}, {},
        "a message of kind 0", "1 (CNM)"),
    "message of a notification point": ("notification_point",
        {"arrival": "message.kind = 62\n    return 1"}, {}, "kind 62", "15 (CNP)"),
    "priority of a message": ("notification_point",
        {"arrival": "message.kind = 15\n    message.priority = 8\n    return 1"}, {},
        "message.priority to 8", "0 to 7"),
    "feedback of 7 bits": ("congestion_point", {"arrival": "message.feedback = 64\n    return 1"},
        {}, "message.feedback to 64", "0 to 63"),
    "feedback below 0": ("congestion_point",
        {"arrival": "message.feedback = -state.count\n    return 1"}, {}, "feedback to -1", "63"),
    "quanta": ("pause", {"enqueue": "message.feedback = 65536\n    return 1"}, {},
        "message.feedback to 65536", "0 to 65535"),
    "priorities of a PFC": ("pause",
        {"enqueue": "message.kind = 3\n    message.mark = 256\n    return 1"}, {},
        "message.mark to 256", "0 to 255"),
    "a grant undeclared": ("pause", {"enqueue": "message.kind = 4\n    return 1"}, {},
        "kind 4", "2 (PAUSE), 3 (PFC) are accepted"),
    "copies": ("delay_line", {"delay": "message.copies = 17\n    return 0"},
        {"alters_frames": True}, "message.copies to 17", "0 to 16"),
    "copies below 0": ("delay_line", {"delay": "message.copies = -state.count\n    return 0"},
        {"alters_frames": True}, "message.copies to -1", "0 to 16"),
    "damage": ("delay_line", {"delay": "message.mark = 3\n    return 0"},
        {"alters_frames": True}, "message.mark to 3", "0 to 2"),
    "held back below 0": ("delay_line", {"delay": "message.due = -1\n    return 0"},
        {"alters_frames": True}, "message.due to -1", "0 to NEVER"),
    "segment below 0": ("transport", {"send": SEGMENT.format("-state.count"),
        "arrived": QUIET, "acknowledged": QUIET}, {}, "segment -1", "so far, counted from 0"),
    "segment beyond the last": ("transport", {"send": SEGMENT.format("10**6"),
        "arrived": QUIET, "acknowledged": QUIET}, {}, "segment 1000000", "so far, counted from 0"),
    "segment behind the last": ("transport", {"send": SEGMENT.format("entity.available"),
        "arrived": QUIET, "acknowledged": QUIET}, {}, "it sends segment ", "counted from 0"),
    "losses below 0": ("transport", {"send": "entity.losses -= 1\n    return 0",
        "arrived": QUIET, "acknowledged": QUIET}, {}, "flow.losses to -1", "0 to NEVER"),
}  # fmt: skip
"""Name -> kind, event -> body, declarations, cause, what is accepted."""
UNSERVED = {
    "reaction_point": ("start", "entity.timer = now + 5\n    return 0", "entity.timer"),
    "congestion_point": (
        "arrival",
        "entity.congestion_point_timer = now\n    return 0",
        "entity.congestion_point_timer",
    ),
    "pause": ("enqueue", "entity.pause_timer = now + 5\n    return 0", "entity.pause_timer"),
    "watchdog": ("held", "entity.watchdog_timer = now + 5\n    return 0", "entity.watchdog_timer"),
    "receiver": ("arrived", "entity.receiver_timer = now + 5\n    return 0", "receiver_timer"),
}
"""Kind -> event, body that sets its timer, what is named."""
RULES = {
    "alias": ("congestion_point", "q = entity\n    q.bytes = 0\n    return 0", "q.bytes"),
    "alias of a frame": ("traffic", "f = frame\n    f.length = 9\n    return 0", "f.length"),
    "message": ("congestion_point", "message.length = 9\n    return 0", "message.length"),
    "message that nothing reads": (
        "delay_line",
        "message.copies = 1\n    return 0",
        "message.copies",
    ),
    "unnamed timers": ("reaction_point", "entity.timers[0] = now\n    return 0", "entity.timers"),
}


def plan_with(kind: str) -> Table:
    """A plan with the algorithm `mine` of a kind."""
    table = line_of_three()
    mine = {"plugin": "mine"}
    if kind == "reaction_point":
        table["nodes"]["nic"]["reaction_point"] = mine
    elif kind in ("congestion_point", "pause"):
        table["nodes"]["switch"][kind] = mine
    elif kind == "notification_point":
        table["nodes"]["sink"][kind] = mine
    elif kind == "delay_line":
        table["links"]["up"]["delay_line"] = mine
    elif kind == "traffic":
        table["traffic"] = {"gen": mine | {"from": "nic", "to": "sink"}}
    else:
        ends = {"from": "nic", "to": "sink"}
        table["traffic"] = {"gen": {"plugin": "messages", "size": 10_000, "transport": mine} | ends}
        table["traffic"]["gen"] |= {"frame": 1070, "count": 1}
    return table


def made(folder: Path, kind: str, bodies: dict[str, str], more: dict[str, Any]) -> Any:
    """The algorithm of a case; each of its kernels is in a file of its own."""
    kernels: dict[str, Callable[..., int]] = {}
    for event, body in bodies.items():
        (folder / event).mkdir(parents=True)
        kernels[event] = module_of(folder / event, f"{folder.name} {event}", body).kernel
    if "timers" in more:
        timer = module_of(folder, f"{folder.name} timer", QUIET).kernel
        more = more | {"timers": dict.fromkeys(more["timers"], timer)}
    return getattr(kinds, kind)("mine", "for a test", Nothing, STATE, **kernels, **more)


@pytest.mark.parametrize("name", CASES)
def test_a_value_without_a_meaning_is_refused_with_field_value_and_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind, bodies, more, cause, accepted = CASES[name]
    mine = made(tmp_path, kind, bodies, more)
    text = simulate(monkeypatch, mine, plan_with(kind))
    assert "\n" not in text
    assert any(f"{kind} 'mine', kernel '{event}'" in text for event in bodies)
    assert cause in text
    assert accepted in text


def test_a_time_that_is_over_is_due_a_nanosecond_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernel is called at 1 ns, where it sets a value that names the time."""
    again = """if now < 1000:
        entity.timer = max(now - 5, 0)
    else:
        entity.rate = -now
    return 0"""
    begin = "entity.active = 1\n    entity.timer = max(now - 5, 0)\n    return 0"
    mine = made(tmp_path, "reaction_point", {"start": begin, "timer": again}, {})
    assert "limiter.rate to -1000;" in simulate(monkeypatch, mine, plan_with("reaction_point"))


@pytest.mark.parametrize("kind", UNSERVED)
def test_a_timer_is_set_only_where_a_kernel_is_called_for_it(tmp_path: Path, kind: str) -> None:
    event, body, field = UNSERVED[kind]
    lone = made(tmp_path / "lone", kind, {event: body}, {})
    with pytest.raises(KernelMistake, match=re.escape(field)) as caught:
        check_rules(lone.kernels[event], lone.limits(event))
    assert "give the algorithm the kernel `timer`" in str(caught.value)
    served = made(tmp_path / "served", kind, {event: body, "timer": QUIET}, {})
    check_rules(served.kernels[event], served.limits(event))


@pytest.mark.parametrize("name", RULES)
def test_a_record_by_another_name_and_a_message_have_their_rules(tmp_path: Path, name: str) -> None:
    kind, body, field = RULES[name]
    events = {"traffic": "next", "reaction_point": "sent", "delay_line": "delay"}
    event = events.get(kind, "arrival")
    mine = made(tmp_path, kind, {event: body}, {})
    with pytest.raises(KernelMistake, match=re.escape(field)):
        check_rules(mine.kernels[event], mine.limits(event))


def test_a_timer_of_a_place_without_a_name_is_refused(tmp_path: Path) -> None:
    body = "entity.timers[{}] = now + 9\n    return 0"
    for place, right in ((0, True), (1, False), (-1, False), (3, False)):
        folder = tmp_path / f"at {place}".replace("-", "below ")
        mine = made(folder, "reaction_point", {"sent": body.format(place)}, {"timers": ("one",)})
        if right:
            check_rules(mine.kernels["sent"], mine.limits("sent"))
        else:
            with pytest.raises(KernelMistake, match="it names 1"):
                check_rules(mine.kernels["sent"], mine.limits("sent"))


@pytest.mark.parametrize("place", [1, -1])
def test_a_computed_place_of_a_timer_without_a_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    body = f"entity.active = 1\n    entity.timers[{place} * state.count] = now + 9\n    return 0"
    mine = made(tmp_path, "reaction_point", {"start": body}, {"timers": ("one",)})
    text = simulate(monkeypatch, mine, plan_with("reaction_point"))
    assert f"limiter.timers[{place % MOST_TIMERS if DISABLED else place}]" in text
    assert "it names 1 (0 to 0)" in text


@pytest.mark.parametrize("length", ["entity.headers", "9216"])
def test_the_shortest_and_the_longest_frame_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: str
) -> None:
    body = f"entity.length = {length}\n    return 100000000"
    mine = made(tmp_path, "traffic", {"next": body}, {})
    resolved = with_algorithm(monkeypatch, mine, plan_with("traffic"))
    assert Simulated().run(resolved, silent).data_frames > 0


@pytest.mark.skipif(DISABLED, reason="uncompiled, the first one raises")
def test_a_refused_value_does_not_reach_the_engine_and_is_found_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever drives the world: records of a run with a fault are not made."""
    sent = "entity.active = 2\n    entity.window = -state.count\n    return 0"
    mine = made(tmp_path, "reaction_point", {"start": ACTIVE, "sent": sent}, {})
    assembly = assemble(with_algorithm(monkeypatch, mine, plan_with("reaction_point")))
    run_until(assembly, US * 100)
    limiters = assembly.world.limiters
    assert assembly.world.flows["frames_sent"].sum() > 0
    assert (limiters["active"] == 1).all()
    assert (limiters["window"] == 0).all()
    with pytest.raises(BadInput, match=r"limiter\.active to 2"):
        Share.of(assembly, ["nic"])


HELPERS = {
    "value": ("entity.window = -4", "limiter.window to -4"),
    "field": ("entity.backlog = 0", "backlog of limiter"),
    "frame": ("frame.length = 9", "length of the frame or message"),
}


@pytest.mark.skipif(DISABLED, reason="machine code notes it")
@pytest.mark.parametrize("name", HELPERS)
def test_helpers_of_kernels_have_the_same_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    statement, cause = HELPERS[name]
    module = module_of(tmp_path, f"helper {name}", "assist(entity, frame)\n    return 0")
    path = Path(str(module.__file__))
    source = path.read_text().replace(
        "def kernel", f"@compiled\ndef assist(entity, frame):\n    {statement}\n\n\ndef kernel"
    )
    path.write_text(source)
    exec(compile(source, str(path), "exec"), module.__dict__)
    linecache.checkcache(str(path))
    begin = module_of(tmp_path, f"begin {name}", ACTIVE)
    kernels = {"start": begin.kernel, "sent": module.kernel}
    mine = kinds.reaction_point("mine", "for a test", Nothing, STATE, **kernels)
    text = simulate(monkeypatch, mine, plan_with("reaction_point"))
    assert "\n" not in text
    assert cause in text


def test_every_settable_field_has_bounds() -> None:
    for kind, places in SETTABLE.items():
        limits = Limits(kind=kind)
        for place, word in ((2, word_of(ENTITIES[kind])), (3, "frame")):
            assert limits.settable(place) == places[place]
            assert places[place] <= set(numbered_bounds(word)), (kind, word)
        assert kind not in TIMERS or TIMERS[kind] in places[2]


def test_bounds_hold_their_ends_and_no_more() -> None:
    for bounds in BOUNDS:
        record = np.zeros(1, RECORDS[bounds.record])[0]
        least = 0 if isinstance(bounds.least, str) else bounds.least
        most = bounds.most
        for value, right in ((least, True), (most, True), (least - 1, False), (most + 1, False)):
            assert bounds.hold(value, record) is right
        assert ("NEVER" in bounds.accepted) is (most == NEVER)


@pytest.mark.skipif(DISABLED, reason="it is what this runs")
def test_uncompiled_kernels_are_refused_alike() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [*command, "-k", "without_a_meaning or without_a_name or longest_frame"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
