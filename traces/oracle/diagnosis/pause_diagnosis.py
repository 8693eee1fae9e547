"""Diagnosis of PAUSE and PFC frames."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.records import PAUSE, PFC
from traces.oracle.diagnosis.deviation_text import another_rate, frame_name, moved_by
from traces.oracle.diagnosis.diagnosis_case import (
    SOON_NS,
    Case,
    Diagnosis,
    is_early,
    key_of,
    kind_of,
)
from traces.oracle.node_check import Deviation, Expected, SeenFrame


def queue(case: Case) -> Diagnosis:
    """Held back by a pause, out of order, dropped, or at another time."""
    departure = case.departure
    early = departure.seen if is_early(departure) else None
    if early is not None and early.time_ns * 1000 < int(case.port.paused_until):
        return Diagnosis("pause.obey", "data is sent while the port is paused")
    seen, expected = [key_of(s) for s in case.seen], [key_of(e) for e in case.expected]
    if departure.what == "frame" and seen and expected:
        if expected[0] in seen:
            overtaken = seen.index(expected[0])
            if set(seen[:overtaken]) <= set(expected):
                return Diagnosis(
                    "queue.service", f"frames leave in another order: {overtaken} overtake this one"
                )
            return Diagnosis("queue.drop", "a frame is sent for which there was no room")
        if seen[0] in expected:
            return Diagnosis("queue.drop", "a frame is missing for which there was room")
    if rate := another_rate(case):
        return Diagnosis("queue.service", f"its frames leave {rate}")
    wanted, got = departure.expected, departure.seen
    if wanted is not None and got is not None and departure.what == "time":
        why = f"{frame_name(wanted)} leaves {moved_by(got, wanted)}, and those behind it as well"
        return Diagnosis("queue.service", why)
    return Diagnosis("queue.service", "its frames leave at other times")


def _quanta(one: Expected | SeenFrame) -> int:
    """Quanta of a PAUSE; the most of those priorities that a PFC frame enables."""
    frame = one.frame
    if int(frame["kind"]) == PAUSE:
        return int(frame["feedback"])
    record = np.array([frame], frame.dtype).view(np.recarray)[0]
    enabled = [priority for priority in range(8) if int(frame["mark"]) >> priority & 1]
    return max((quanta_of(record, priority) for priority in enabled), default=0)


def pause(departure: Deviation) -> Diagnosis:
    """The broken rule of PAUSE or PFC."""
    expected, seen = departure.expected, departure.seen
    if kind_of(expected) in (PAUSE, PFC) and kind_of(expected) == kind_of(seen):
        assert expected is not None and seen is not None  # noqa: PT018
        if departure.what == "mark":
            return Diagnosis("pause.class", "the priorities that it enables differ")
        if departure.what not in ("time", "feedback", "offset", "delta", "inner", "octets"):
            return Diagnosis("pause.frame", f"{departure.what} differs")
        apart = abs(seen.time_ns - expected.due_ps // 1000) > SOON_NS // 10
        if not apart and departure.what == "time":
            return Diagnosis("pause.refresh", f"it leaves {moved_by(seen, expected)}")
        if not apart and departure.what == "octets":
            return Diagnosis("pause.frame", "its octets differ")
        if not apart:
            return Diagnosis("pause.quanta", f"{_quanta(seen)} instead of {_quanta(expected)}")
    held = any(kind_of(one) in (PAUSE, PFC) for one in departure.before)
    if held:
        last = [one for one in departure.before if kind_of(one) in (PAUSE, PFC)][-1]
        held = _quanta(last) > 0
    missing = not is_early(departure) and kind_of(expected) in (PAUSE, PFC)
    odd: Expected | SeenFrame | None = expected if missing else seen
    assert odd is not None
    how = "is missing" if missing else "is not expected"
    if _quanta(odd) == 0:
        return Diagnosis("pause.go", f"the end of the pause {how}")
    if held:
        return Diagnosis("pause.refresh", f"the pause, which is not over yet, refreshed: {how}")
    return Diagnosis("pause.stop", f"the pause {how}")
