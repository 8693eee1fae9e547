"""Whatever the audit of a world looks at: a hunt tells a world in which that alone is wrong."""

from __future__ import annotations

import ast
import inspect

import pytest

from orchestrator.engine.node.actors import WAKE_FLOW, WAKE_INPUT, WAKE_LINE, WAKE_PORT
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CNM, DATA, FRAMES, NEVER, NONE, PAUSE
from orchestrator.run import frame_audit
from orchestrator.run.frame_audit import Audit
from tests.orchestrator.fuzz.spoiling import (
    PLANS,
    Spoil,
    assembled_until,
    changed,
    finding_of,
    lists,
    row,
)

SOURCE = inspect.getsource(frame_audit)
ASSERTS = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Assert)]


def member_of_a_group(world: World) -> bool:
    """A member of a group got more than anybody sent, and everybody counts it."""
    more = 10**6
    world.flows[int(world.address_flow.max()) + 1]["frames_received"] += more
    world.clock[0]["delivered"] += more
    world.nodes[0]["feedback_ignored"] -= more
    return True


def counted_instead(of: str, name: str) -> Spoil:
    """One more of something, and one less of what else the sum of all frames has."""

    def spoil(world: World) -> bool:
        getattr(world, of)[0][name] += 1
        world.nodes[0]["feedback_ignored"] -= 1
        return True

    return spoil


def due_past_the_last(world: World) -> bool:
    """In the first line with two frames."""
    for _, frames in lists(world, "lines", 2):
        world.frames[frames[0]]["due"] = world.frames[frames[-1]]["due"] + 1
        return True
    return False


def made_goes_round(world: World) -> bool:
    """The last frame in a host queue is followed by the first."""
    flow = row(world.flows, lambda one: one.mode == FRAMES and one.head != NONE)
    if flow is None:
        return False
    world.made[int(flow["tail"])]["next"] = flow["head"]
    return True


def kinds(*wanted: int) -> Spoil:
    """The first frames of a list of control frames are of these kinds."""

    def spoil(world: World) -> bool:
        for _, frames in lists(world, "control", len(wanted)):
            for index, kind in zip(frames, wanted, strict=False):
                world.frames[index]["kind"] = kind
            return True
        return False

    return spoil


def data_is_a_message(world: World) -> bool:
    for _, frames in lists(world, "queues"):
        world.frames[frames[0]]["kind"] = CNM
        return True
    return False


def late(world: World) -> bool:
    for port, frames in lists(world, "lines"):
        first = world.frames[frames[0]]
        first["due"] = world.clock[0]["now"] - world.ports[port]["patience"] - 1
        return True
    return False


def copies(fields: str) -> Spoil:
    """Of a multicast frame in a switch with inputs."""

    def spoil(world: World) -> bool:
        found = Audit(world)
        for original, buffer in found.rooms.items():
            mine = [i for i in found.inside if world.frames[i]["original"] == original]
            if fields == "copies":
                world.frames[original]["copies"] += 1
                return True
            if len(mine) > 1:
                world.frames[mine[-1]]["held"] = buffer + 1
                return True
        return False

    return spoil


def units(how: str) -> Spoil:
    """The units that a frame of several lies in, and the free ones."""

    def spoil(world: World) -> bool:
        queue = row(world.queues, lambda q: q.units and q.frames > 1 and q.free_unit != NONE)
        if queue is None:
            return False
        first = int(queue["first_unit"])
        mine = world.units[first : first + int(queue["units"])]
        used = [i for i in range(len(mine)) if mine[i, 0] != NONE and mine[i, 1] != NONE]
        if not used:
            return False
        free = int(queue["free_unit"])
        if how == "whose":
            world.units[first + used[0], 0] = world.frames.shape[0] - 1
        elif how == "fewer":
            world.units[first + used[0], 1] = NONE
        elif how == "free is used":
            queue["free_unit"] = first + used[0]
        elif how == "no free":
            queue["free_unit"] = NONE
        else:
            queue["free_unit"] = world.units[free, 1]
            world.units[free, 0] = int(world.clock[0].frames_used)  # which was never used
        return True

    return spoil


def woken(what: int, value: int, fits: str) -> Spoil:
    """A leaf of the tournament that does not win."""

    def spoil(world: World) -> bool:
        leaves = world.tree[len(world.tree) // 2 :]
        for actor, (kind, _) in enumerate(world.actors):
            if kind != what or leaves[actor, 0] == world.tree[1, 0]:
                continue
            if (leaves[actor, 0] == NEVER) == (fits == "asleep"):
                leaves[actor, 0] = value
                return True
        return False

    return spoil


def winner(world: World) -> bool:
    world.tree[1, 0] += 1
    return True


def woken_too_early(world: World) -> bool:
    """Somebody who wins, and should have been woken before now."""
    leaves = world.tree[len(world.tree) // 2 :]
    leaves[0, 0] = world.tree[1, 0] = world.clock[0]["now"] - 1
    return True


def asleep(world: World) -> bool:
    """A flow that is on and has room, and is never woken."""
    leaves = world.tree[len(world.tree) // 2 :]
    for actor, (kind, index) in enumerate(world.actors):
        flow = world.flows[index] if kind == WAKE_FLOW else None
        if flow is None or leaves[actor, 0] == world.tree[1, 0]:
            continue
        if flow["on"] and flow["bytes"] + flow["length"] <= flow["capacity"]:
            if flow["entry"]:  # of a NIC that is late
                world.agenda[flow["entry"]]["wake"] = NEVER
            leaves[actor, 0] = NEVER
            return True
    return False


def overslept(world: World) -> bool:
    """The line of a late NIC, which is empty, does not wake any more."""
    leaves = world.tree[len(world.tree) // 2 :]
    for actor, (kind, index) in enumerate(world.actors):
        port = world.ports[index] if kind == WAKE_LINE else None
        if port is not None and port["entries"] and port["line_head"] == NONE:
            leaves[actor, 0] = NEVER
            world.tree[1, 0] = leaves[:, 0].min()
            return True
    return False


def free_limiter(name: str, value: int) -> Spoil:
    return changed("limiters", lambda one: one.flow == NONE, **{name: lambda one: value})


def another_limiter(name: str) -> Spoil:
    """A limiter of a flow whose record says something else than the flow does."""
    more = {name: lambda one: int(one[name]) + 1}
    return changed("limiters", lambda one: one.flow != NONE, **more)


def limiter_of_a_free_one(world: World) -> bool:
    """Two limiters say that they are of one flow."""
    busy = row(world.limiters, lambda one: one.flow != NONE)
    free = row(world.limiters, lambda one: one.flow == NONE)
    if busy is None or free is None:
        return False
    free["flow"] = busy["flow"]
    return True


def early(how: str) -> Spoil:
    """Frames that wait for an earlier one of their flow."""

    def spoil(world: World) -> bool:
        for flow, frames in lists(world, "early", 2):
            first, second = (world.frames[index] for index in frames[:2])
            if how == "twice":
                second["sequence"] = first["sequence"]
            else:
                world.flows[flow]["order_next"] = first["sequence"]
            return True
        return False

    return spoil


def under_way(flow: object) -> bool:
    """A flow with frames between its source and its end."""
    return bool(flow.frames_sent > flow.frames_received + 3)  # type: ignore[attr-defined]


def more(of: str, name: str, fits: str = "", by: int = 1) -> Spoil:
    """So much more in the first record, or in the first that has any of `fits`."""
    return changed(
        of, lambda one: not fits or one[fits] > 0, **{name: lambda one: int(one[name]) + by}
    )


SPOILS: dict[str, tuple[str, Spoil]] = {
    "world.memory >= -(1 << 62)": (
        "line",
        lambda world: not world.memory.__setitem__(-1, -(1 << 63)),  # type: ignore[func-returns-value]
    ),
    "a descriptor is lost": ("crowded", more("clock", "free", by=-1)),
    "rooms.setdefault": ("crossing", copies("held")),
    ".copies == count": ("crossing", copies("copies")),
    "a frame that waits is lost": (
        "crowded",
        changed("clock", lambda c: c.unmade != NONE, unmade=lambda c: NONE),
    ),
    "a list that goes round": ("crowded", made_goes_round),
    "found[-1] == tail": (
        "crowded",
        changed("flows", lambda f: f.head != f.tail, tail=lambda f: f["head"]),
    ),
    "assert made == ended": ("line", more("nodes", "feedback_ignored")),
    'w.nodes["unroutable"]': ("line", counted_instead("nodes", "unroutable")),
    "w.clock[0].delivered ==": ("line", counted_instead("clock", "delivered")),
    "queue.reserved ==": ("crossing", more("queues", "reserved")),
    "len(frames) == queue.frames": (
        "crossing",
        changed(
            "queues",
            lambda q: q.input != NONE and q.frames,
            frames=lambda q: q["frames"] + 1,
            frames_in=lambda q: q["frames_in"] + 1,
        ),
    ),
    "queue.bytes == self.octets": ("crowded", more("queues", "bytes", "frames", -1)),
    "<= {DATA, ACK, SACK}": ("crowded", data_is_a_message),
    "pauses == sorted(": ("crowded", kinds(CNM, PAUSE)),
    "| of_receivers": ("crowded", kinds(DATA)),
    "port.free_at >= 0": ("line", changed("ports", lambda p: True, free_at=lambda p: -1)),
    "w.units[place, 0] == index": ("crossing", units("whose")),
    "unit == -(-self.length": ("crossing", units("fewer")),
    "w.units[place, 0] == NONE": ("crossing", units("free is used")),
    "free == np.count_nonzero": ("crossing", units("no free")),
    "- {NONE} == set(frames)": ("crossing", units("a stranger")),
    "sequences == sorted(set": ("sprayed", early("twice")),
    "sequences[0] > flow.order_next": ("sprayed", early("not early")),
    "held == w.nodes": ("sprayed", more("nodes", "order_bytes", "order_bytes")),
    'w.nodes["order_bytes"] <=': (
        "sprayed",
        changed("nodes", lambda n: n.order_bytes, order_capacity=lambda n: n["order_bytes"] - 1),
    ),
    "dues == sorted(dues)": ("crowded", due_past_the_last),
    "due + port.patience >= now": ("crowded", late),
    "port.line_bytes == self.octets": ("line", more("ports", "line_bytes")),
    "flow.sequence ==": (
        "crowded",
        changed("flows", under_way, frames_sent=lambda f: f["frames_sent"] - 1),
    ),
    "flow.bytes == waiting": ("crowded", more("flows", "bytes")),
    'w.flows["frames_sent"].max()': ("crossing", member_of_a_group),
    "limiter.flow == row": ("crowded", another_limiter("flow")),
    "limiter.node == flow.node": ("crowded", another_limiter("node")),
    "limiter.backlog ==": ("crowded", another_limiter("backlog")),
    "limiter.active == 0": ("crowded", free_limiter("active", 1)),
    "limiter.timer == NEVER": ("crowded", free_limiter("timer", 5)),
    ".limiter == row": ("crowded", limiter_of_a_free_one),
    "sorted(ready) == marked": (
        "crowded",
        changed("flows", lambda f: True, ready=lambda f: 1 - f["ready"]),
    ),
    "w.tree[1, 0] ==": ("line", winner),
    "wake[WAKE_LINE, row] == due": ("crowded", woken(WAKE_LINE, NEVER - 1, "asleep")),
    "by its line alone": ("line", woken(WAKE_FLOW, NEVER - 1, "asleep")),
    "before its line wakes": ("calm", overslept),
    "used_up ==": ("line", changed("lanes", lambda one: True, paused_until=lambda one: NEVER)),
    "wake[WAKE_PORT, row] != NEVER": ("roomy", woken(WAKE_PORT, NEVER, "awake")),
    "wake[WAKE_INPUT, row] <=": ("far-inside", woken(WAKE_INPUT, NEVER, "awake")),
    "<= flow.next_frame": ("sprayed", asleep),
    "flow.next_frame != NEVER": (
        "line",
        changed(
            "flows", lambda f: f.on and f.mode == FRAMES, next_frame=lambda f: NEVER
        ),
    ),
}  # fmt: skip
"""A part of an assertion's text, and how a plan's world breaks it and none before it."""

SECOND_PARTS: dict[str, tuple[str, Spoil]] = {
    "a descriptor is lost": ("crowded", more("clock", "frames_used")),
    "a frame that waits is lost": ("crowded", more("clock", "made_used")),
    "flow.bytes == waiting": (
        "crowded",
        changed("flows", lambda f: f.bytes, capacity=lambda f: f["bytes"] - 1),
    ),
    "w.tree[1, 0] ==": ("line", woken_too_early),
}
"""Of assertions that say two things: the other one."""


def source(node: ast.Assert) -> str:
    return ast.get_source_segment(SOURCE, node) or ""


BELOW = "not (violations := broken_in_world(self.world))"
"""A hunt looks at these itself before; see below."""


def test_every_assertion_of_the_audit_is_broken_here() -> None:
    named = [[source(one) for one in ASSERTS if text in source(one)] for text in (*SPOILS, BELOW)]
    assert [len(found) for found in named] == [1] * len(named)
    assert {found[0] for found in named} == {source(one) for one in ASSERTS}


@pytest.mark.parametrize(
    ("text", "plan", "spoil"),
    [(text, *how) for some in (SPOILS, SECOND_PARTS) for text, how in some.items()],
)
def test_a_world_that_breaks_an_assertion_is_told(
    text: str, plan: str, spoil: Spoil, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = finding_of(plan, spoil, monkeypatch)
    assert finding is not None
    (wanted,) = (source(one) for one in ASSERTS if text in source(one))
    what, _, line = finding.what.partition(": ")
    assert what == "audit"
    assert line in [one.strip() for one in wanted.splitlines()], finding


@pytest.mark.parametrize("name", sorted(PLANS))
def test_the_audit_has_nothing_to_say_of_a_sound_world(name: str) -> None:
    frame_audit.audit(assembled_until(name).world)


def test_the_audit_tells_invariants_too() -> None:
    world = assembled_until("crowded").world
    world.limiters["rate"] = 0
    with pytest.raises(AssertionError, match="rate of a limiter"):
        frame_audit.audit(world)
