"""Fidelity sentences: effects of the machine on a run, in units, with the accepted bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.terminal import stall_sentences
from orchestrator.terminal.format_output import quantity


def sentences(fidelity: dict[str, Any]) -> list[str]:
    """Sentences of `fidelity` of a result.json. Missing values and other types are skipped."""
    return list(_all_sentences(fidelity))


def _all_sentences(of: dict[str, Any]) -> Iterator[str]:
    bounds = _table(of, "bounds")
    if isinstance(note := of.get("note"), str):
        yield f"{note[:1].upper()}{note[1:]}."
    pace = _number(of, "pace")
    if pace is not None:
        slow = f"at {pace:g} of real time" if pace != 1 else "in real time"
        yield f"The run went {slow}."
    yield from _datapath(_table(of, "datapath"))
    yield from _lateness(of, bounds)
    displaced = _number(of, "displaced_share")
    if displaced is not None:
        yield (
            f"{_share(displaced)} of departures came later than the whole reaction time"
            f"{_accepted(bounds.get('displaced_share'), _share)}."
        )
    yield from _clock(of, bounds)
    for stalled in stall_sentences.sentences(of):
        yield f"Stalls of its data path: {stalled}."
    yield from _losses(of)
    yield from _rates(of, bounds)
    yield from _links(of, bounds)


def _datapath(of: dict[str, Any]) -> Iterator[str]:
    """The data path backend, where several were available."""
    if of.get("backend") == "xdp":
        copied = "without a copy" if of.get("zero_copy") is True else "copied"
        yield f"Frames went through AF_XDP sockets ({of.get('mode')} program, {copied})."
    elif of.get("backend") == "packet":
        why = of.get("why")
        because = f": {why}" if isinstance(why, str) else ""
        yield f"Frames went through AF_PACKET sockets{because}."
    yield from _times(of)
    for machine, machine_times in _table(of, "machines").items():
        if isinstance(machine_times, dict):
            yield from (f"On {machine}: {text}" for text in _times(machine_times))


def _times(of: dict[str, Any]) -> Iterator[str]:
    """Timestamp sources of the frames, and their results."""
    if isinstance(who := of.get("arrivals"), str):
        p99 = _number(_table(of, "waited_s"), "p99")
        waits = f"; 99 % waited at most {_time(p99)} to be taken in" if p99 is not None else ""
        yield f"Times of arrival were taken {who}{waits}."
    if isinstance(who := of.get("departures"), str):
        late = _number(_table(_table(of, "left"), "late_s"), "p99")
        left = f"; 99 % left at most {_time(late)} late" if late is not None else ""
        yield f"Times of departure were taken {who}{left}."
    clocks = [_table(_table(of, "clocks"), port) for port in _table(of, "clocks")]
    if errors := [error for row in clocks if (error := _number(row, "error_s")) is not None]:
        yield f"Clocks of NICs were joined to the system's to within {_time(max(errors))}."
    launched = _table(of, "launched")
    if launched:
        counts = {key: _number(launched, key) or 0 for key in ("behind", "missed", "invalid")}
        some = ", ".join(f"{count:.0f} {name}" for name, count in counts.items() if count)
        yield f"Frames were launched by NICs; of their times went wrong: {some or 'none'}."


def _lateness(of: dict[str, Any], bounds: dict[str, Any]) -> Iterator[str]:
    late = _table(of, "lateness_s")
    p50, p99, worst = (_number(late, key) for key in ("p50", "p99", "max"))
    if p50 is None or p99 is None or worst is None:
        return
    count = _number(of, "departures")
    whole = f"Of {count:,.0f} departures".replace(",", " ") if count is not None else "Departures"
    allowed = _accepted(bounds.get("lateness_p99_s"), _time)
    yield (
        f"{whole} half were at most {_time(p50)} late, 99 % at most {_time(p99)}{allowed}; "
        f"the latest was {_time(worst)} behind{_accepted(bounds.get('lateness_max_s'), _time)}."
    )
    reaction = _number(of, "reaction_time_s")
    if reaction is not None:
        yield f"The plan reacts within {_time(reaction)}: lateness counts against that."


def _clock(of: dict[str, Any], bounds: dict[str, Any]) -> Iterator[str]:
    held = _table(of, "held")
    share, count, longest = (_number(held, key) for key in ("share", "count", "longest_s"))
    if share is None or count is None or longest is None:
        return
    if not count:
        yield "Its clock was never held back."
        return
    yield (
        f"Its clock was held back {count:.0f} times, {_time(longest)} at the longest, "
        f"{_share(share)} of the run{_accepted(bounds.get('held_share'), _share)}."
    )


def _losses(of: dict[str, Any]) -> Iterator[str]:
    if "lost_outside_queues" in of:
        lost = _numbers(_table(of, "lost_outside_queues"))
        some = ", ".join(f"{count:.0f} at {place}" for place, count in lost.items() if count)
        yield f"Lost outside the emulated queues: {some or 'no frame'}."
    missed = _number(of, "capture_lost")
    if missed:
        yield f"Captures lack {missed:.0f} frames."


def _rates(of: dict[str, Any], bounds: dict[str, Any]) -> Iterator[str]:
    errors = _numbers(_table(of, "rate_error"))
    if errors:
        worst = max(errors, key=lambda name: abs(errors[name]))
        yield (
            f"Rates were the plan's within {_share(abs(errors[worst]))} (at {worst})"
            f"{_accepted(bounds.get('rate_error'), _share)}."
        )


def _links(of: dict[str, Any], bounds: dict[str, Any]) -> Iterator[str]:
    tables = {name: one for name, one in _table(of, "links").items() if isinstance(one, dict)}
    if not tables:
        return
    wrong = [
        f"{name} {_number(one, what):.0f} {what}"
        for name, one in tables.items()
        for what in ("duplicated", "reordered")
        if _number(one, what)
    ]
    yield (
        f"{len(tables)} ways were balanced, frames sent against received: "
        f"{', '.join(wrong) or 'none duplicated, none reordered'}."
    )
    extra = {}
    for name, one in tables.items():
        taken, planned = _number(one, "delay_s"), _number(one, "planned_delay_s")
        if taken is not None and planned is not None:
            extra[name] = taken - planned
    if extra:
        worst = max(extra, key=lambda name: extra[name])
        allowed = _accepted(bounds.get("extra_delay_s"), _time)
        took = _time(extra[worst])
        yield f"The slowest of them took {took} longer than planned ({worst}){allowed}."


def _table(of: dict[str, Any], key: str) -> dict[str, Any]:
    found = of.get(key)
    return found if isinstance(found, dict) else {}


def _number(of: dict[str, Any], key: str) -> float | None:
    found = of.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _numbers(of: dict[str, Any]) -> dict[str, float]:
    read = {name: _number(of, name) for name in of}
    return {name: value for name, value in read.items() if value is not None}


def _accepted(bound: Any, words: Any) -> str:
    """Accepted value: the first of the two bounds, beyond which a run is degraded."""
    if not isinstance(bound, list) or not bound or not isinstance(bound[0], int | float):
        return ""
    return f" ({words(bound[0])} is accepted)"


def _time(value: float) -> str:
    return quantity(value, "s")


def _share(value: float) -> str:
    return f"{value * 100:.3g} %"
