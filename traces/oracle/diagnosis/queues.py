"""Diagnosis of data that leaves a queue."""

from __future__ import annotations

from traces.oracle.diagnosis.case import Case, Diagnosis, is_early, key_of


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
    return Diagnosis("queue.service", "its frames leave at other times")
