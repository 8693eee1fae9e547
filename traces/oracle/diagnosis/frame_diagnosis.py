"""Diagnosis of a single frame: missing, sent twice, changed, at another time, out of another port.

These are named before the rules of limiters and queues, whose variants would explain the frame's
consequences: a frame that is missing makes all behind it "leave at other times". A deviation counts
as one of a single frame while the frames behind it are as predicted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.engine.records import CNM, DATA, PAUSE, PFC, RETURNED
from orchestrator.plan import Nic
from traces.oracle.diagnosis.deviation_text import PLAIN, frame_name, identity, moved_by
from traces.oracle.diagnosis.diagnosis_case import Case, Diagnosis, kind_of
from traces.oracle.node_check import CLOCK_NS, Deviation, Expected, SeenFrame

BEHIND = 4
"""Frames behind a deviation that have to be as predicted."""
COPY_NS = 50_000
"""Two equal control frames that leave within this time are one that was sent twice."""
DRAWN_PS = 1000
COMPARED_FIELDS = (
    *("sequence", "flow", "priority", "source", "destination", "mark", "hops", "feedback"),
    *("offset", "delta", "inner", "length"),
)
NAMES = {"hops": "TTL"}
"""Fields that a reader knows by another name."""
UNSENT = 64
"""TTL of a frame that no router has passed."""


def single_frame(case: Case) -> Diagnosis | None:
    """The rule that one frame breaks; None where the deviation is not that of one frame."""
    departure = case.departure
    expected, seen = case.expected, case.seen
    if (twice := _twice(case, expected, seen)) is not None:
        return twice
    if departure.elsewhere:
        one = departure.expected if departure.is_missing else departure.seen
        assert one is not None
        return None if is_own_message(case, one) else _misrouted(departure, one)
    what = departure.what
    if what == "octets" and kind_of(departure.expected) not in PLAIN:
        return (
            _missing(case, expected, seen)
            or _out_of_order(case, expected, seen)
            or _changed(case, what)
        )
    if what not in ("frame", "time", "missing", "unexpected"):
        return _changed(case, what)
    if (missing := _missing(case, expected, seen)) is not None:
        return missing
    if what == "time":
        return _moved(case, expected, seen)
    if what == "frame":
        return _out_of_order(case, expected, seen) or _other_identity(case, expected, seen)
    return None


def _is_nic(case: Case) -> bool:
    return isinstance(case.resolved.plan.nodes[case.departure.node], Nic)


def is_own_message(case: Case, one: Expected | SeenFrame) -> bool:
    """True if a switch's own congestion point sends a message, which no other node sent to it."""
    node, indices = case.departure.node, case.state.assembly.indices
    if _is_nic(case):
        return False
    if kind_of(one) == RETURNED:
        return node in {port.partition(".")[0] for port in case.resolved.uses["congestion_point"]}
    ports = [port.entity for port in case.resolved.plan.ports() if port.node == node]
    source = int(one.frame["source"])
    own = {indices.port_address(port) for port in ports} | {indices.node_address(node)}
    return kind_of(one) == CNM and source in own


def _rule(case: Case, one: Expected | SeenFrame, of_point: str, of_switch: str) -> str:
    """The rule of a frame: that of a host, of a congestion point's message, or of a switch."""
    if _is_nic(case):
        return "source.frames" if kind_of(one) == DATA else "source.messages"
    return of_point if is_own_message(case, one) else of_switch


def _fits(case: Case, seen: SeenFrame, expected: Expected) -> bool:
    """True if a captured frame is a predicted one, at its time."""
    late = seen.time_ns - expected.due_ps // 1000
    return identity(seen) == identity(expected) and -CLOCK_NS <= late <= case.late_ns


def _rest_fits(case: Case, seen: Sequence[SeenFrame], expected: Sequence[Expected]) -> bool:
    """True if the next frames are as predicted; those of other flows count as well."""
    pairs = list(zip(seen, expected, strict=False))[:BEHIND]
    return len(pairs) == BEHIND and all(_fits(case, s, e) for s, e in pairs)


def _follows(seen: Sequence[SeenFrame], expected: Sequence[Expected]) -> bool:
    """True if the next frames are the predicted ones, at whatever times."""
    pairs = list(zip(seen, expected, strict=False))[:BEHIND]
    return len(pairs) == BEHIND and all(identity(s) == identity(e) for s, e in pairs)


def _equal(one: SeenFrame, other: SeenFrame) -> bool:
    fields = ("kind", *COMPARED_FIELDS, "created")
    octets = bool((one.octets == other.octets).all())
    return octets and all(one.frame[n] == other.frame[n] for n in fields)


def _same(seen: SeenFrame, expected: Expected) -> bool:
    """True if a captured frame is a predicted one, at whatever time, and no later copy of it."""
    apart = abs(int(seen.frame["created"]) - int(expected.frame["created"]))
    return identity(seen) == identity(expected) and apart <= DRAWN_PS


def _twice(case: Case, expected: Sequence[Expected], seen: Sequence[SeenFrame]) -> Diagnosis | None:
    """A frame leaves that has left just before."""
    if not seen or case.departure.what not in ("frame", "time", "unexpected", "missing", "octets"):
        return None
    odd = seen[0]
    first = next((one for one in reversed(case.departure.before) if _equal(one, odd)), None)
    if first is None:
        return None
    apart = odd.time_ns - first.time_ns
    if kind_of(odd) != DATA and (
        apart > COPY_NS or (len(expected) > BEHIND and not _follows(seen[1:], expected))
    ):
        return None
    if expected and _fits(case, odd, expected[0]):
        return None
    return Diagnosis("frame.once", f"{frame_name(odd)} leaves twice, {apart / 1000:.3f} us apart")


def _misrouted(departure: Deviation, one: Expected | SeenFrame) -> Diagnosis:
    """A frame stands at another port of the node."""
    here, there = departure.port, departure.elsewhere
    wanted, got = (here, there) if departure.is_missing else (there, here)
    return Diagnosis("forward.port", f"{frame_name(one)} leaves by {got} and not by {wanted}")


def _changed(case: Case, what: str) -> Diagnosis | None:
    """A field has another value."""
    expected, seen = case.departure.expected, case.departure.seen
    if expected is None or seen is None or kind_of(expected) in (PAUSE, PFC):
        return None
    kind = kind_of(expected)
    if kind == CNM and is_own_message(case, expected):
        return None
    name, why = _difference(expected.frame, seen.frame, what)
    why = f"{frame_name(expected)} has {why}"
    if _is_nic(case):
        return Diagnosis(_rule(case, expected, "", ""), why)
    if name == "hops":
        return Diagnosis("forward.ttl", why)
    if name == "mark" and kind == DATA:
        return Diagnosis("cp.mark", why)
    if name == "feedback" and kind != CNM and not is_own_message(case, expected):
        rule = "cp.probe" if _is_rewritten(case) else "forward.fields"
        return Diagnosis(rule, why)
    point = {"feedback": "cp.feedback", "destination": "cp.culprit"}.get(name, "cp.message")
    return Diagnosis(_rule(case, expected, point, "forward.fields"), why)


def _is_rewritten(case: Case) -> bool:
    """True if the node has a congestion point, which writes to probes that pass."""
    holders = case.resolved.uses["congestion_point"]
    return any(one.partition(".")[0] == case.departure.node for one in holders)


def _difference(expected: np.ndarray, seen: np.ndarray, what: str) -> tuple[str, str]:
    """The field that differs, and its values as text."""
    names = [name for name in COMPARED_FIELDS if expected[name] != seen[name]]
    name = what if what in names else (names or [what])[0]
    if name not in (expected.dtype.names or ()):
        return name, "other octets"
    wanted, got = int(expected[name]), int(seen[name])
    if name == "hops":
        wanted, got = UNSENT - wanted, UNSENT - got
    return name, f"{NAMES.get(name, name)} {got} instead of {wanted}"


def _missing(
    case: Case, expected: Sequence[Expected], seen: Sequence[SeenFrame]
) -> Diagnosis | None:
    """A frame never leaves, and the frames behind it do."""
    if not expected or kind_of(expected[0]) in (PAUSE, PFC):
        return None
    lost = expected[0]
    in_time = _rest_fits(case, seen, expected[1:])
    is_alone = not any(_same(s, lost) for s in seen)
    if in_time and not is_alone and not any(identity(e) == identity(lost) for e in expected[1:]):
        return None
    if not in_time:
        if not is_alone or (seen and not _follows(seen, expected[1:])):
            return None
        if not seen and is_own_message(case, lost):
            return None
        if kind_of(lost) == CNM or _is_limited_data(case, lost):
            return None
    rule = _rule(case, lost, "cp.send", "queue.drop")
    room = ": there was room for it" if rule == "queue.drop" else ""
    return Diagnosis(rule, f"{frame_name(lost)} is missing, and those behind it leave{room}")


def _is_limited_data(case: Case, one: Expected | SeenFrame) -> bool:
    """True for a NIC's data of a flow with a limiter, whose rules explain its times."""
    if not _is_nic(case) or kind_of(one) != DATA:
        return False
    flows, flow = case.state.assembly.world.flows, int(one.frame["flow"])
    return 0 <= flow < len(flows) and int(flows[flow].limiter) >= 0


def _moved(case: Case, expected: Sequence[Expected], seen: Sequence[SeenFrame]) -> Diagnosis | None:
    """One frame leaves at another time, and those behind it at theirs."""
    wanted, got = expected[0], seen[0]
    if kind_of(wanted) in (PAUSE, PFC) or not _rest_fits(case, seen[1:], expected[1:]):
        return None
    if _is_limited_data(case, wanted):
        return None
    rule = _rule(case, wanted, "cp.delay", "queue.service")
    return Diagnosis(rule, f"{frame_name(wanted)} leaves {moved_by(got, wanted)}, once")


def _out_of_order(
    case: Case, expected: Sequence[Expected], seen: Sequence[SeenFrame]
) -> Diagnosis | None:
    """A frame leaves before or behind its turn."""
    if not expected or not seen:
        return None
    if any(_is_limited_data(case, one) for one in (expected[0], seen[0])):
        flows = {int(one.frame["flow"]) for one in (expected[0], seen[0])}
        apart = seen[0].time_ns - expected[0].due_ps // 1000
        if len(flows) > 1 or not -CLOCK_NS <= apart <= case.late_ns:
            return None
    if kind_of(expected[0]) in (PAUSE, PFC, CNM) or kind_of(seen[0]) in (PAUSE, PFC, CNM):
        return None
    wanted, got = [identity(e) for e in expected], [identity(s) for s in seen]
    found = []
    if (turns := _turns(wanted[0], got)) > 0 and got[:turns] == wanted[1 : turns + 1]:
        found.append((seen[turns], expected[0], f"{turns} overtake it"))
    if (turns := _turns(got[0], wanted)) > 0 and wanted[:turns] == got[1 : turns + 1]:
        found.append((seen[0], expected[turns], f"it overtakes {turns}"))
    if not found:
        return None
    one, other, how = max(found, key=lambda way: abs(way[0].time_ns - way[1].due_ps // 1000))
    why = f"{frame_name(other)} leaves {moved_by(one, other)}; {how}"
    rule = _rule(case, other, "cp.delay", "queue.service")
    return Diagnosis(rule, f"frames leave in another order: {why}")


def _turns(key: tuple[int, ...], keys: list[tuple[int, ...]]) -> int:
    """Place of a frame among others; -1: it is not among them."""
    return keys.index(key) if key in keys else -1


def _other_identity(
    case: Case, expected: Sequence[Expected], seen: Sequence[SeenFrame]
) -> Diagnosis | None:
    """The frame is there, at its time, with another flow or sequence number."""
    if not expected or not seen or kind_of(expected[0]) != kind_of(seen[0]):
        return None
    wanted, got = expected[0], seen[0]
    late = got.time_ns - wanted.due_ps // 1000
    in_time = -CLOCK_NS <= late <= case.late_ns
    known = {identity(e) for e in expected[1:]}
    if not in_time or identity(got) in known or not _rest_fits(case, seen[1:], expected[1:]):
        return None
    apart = abs(int(wanted.frame["created"]) - int(got.frame["created"]))
    if kind_of(wanted) in (DATA, CNM) and apart > DRAWN_PS:
        return None
    if kind_of(wanted) == CNM and is_own_message(case, wanted):
        what = "flow" if wanted.frame["flow"] != got.frame["flow"] else "sequence"
        _, why = _difference(wanted.frame, got.frame, what)
        return Diagnosis("cp.message", f"{frame_name(wanted)} has {why}")
    return _changed(case, "sequence")
