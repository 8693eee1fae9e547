"""Options of a storm, validated before any interface is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import BadInput, Problem
from orchestrator.pause_storm import pause_quanta
from orchestrator.plan.units import UnitError, parse_duration, parse_rate

WHO = "tailback storm"
MOST_QUANTA = 65_535
MOST_RATE = 10**13
LONGEST_PS = 24 * 3600 * 10**12
PS_PER_NS = 1000
PRIORITIES = range(8)


@dataclass(frozen=True)
class Pattern:
    """On-off pattern: pause for `on_ns`, then leave free for `off_ns`."""

    on_ns: int
    off_ns: int


@dataclass(frozen=True)
class StormRequest:
    """Options of a storm on named interfaces. `priorities` None: 802.3x PAUSE of the whole link."""

    interfaces: tuple[str, ...]
    seconds: float
    priorities: tuple[int, ...] | None = None
    quanta: int = MOST_QUANTA
    rate_bps: int | None = None
    """None: that of each interface's link, where it says one."""
    pattern: Pattern | None = None
    margin_ns: int | None = None
    """None: what follows from the hold and from this machine's lateness."""
    far_ends: tuple[str, ...] = ()
    """Interfaces of this machine at the other ends, in the order of `interfaces`."""
    in_use: bool = False
    """Whether interfaces that have addresses or carry others may be stormed, too."""


def read(
    interfaces: Sequence[str],
    priorities: str | None,
    quanta: int,
    rate: str | None,
    duration: str,
    pattern: str | None,
    margin: str | None,
    far_ends: Sequence[str],
    in_use: bool,
) -> StormRequest:
    """A storm from the words of a command line. Raises BadInput with every mistake at once."""
    problems: list[Problem] = []

    def taken(
        name: str, text: str | None, parse, least: int, most: int, accepted: str
    ) -> int | None:
        if text is None:
            return None
        try:
            value: int = parse(text)
        except UnitError as error:
            problems.append(Problem(name, text, str(error)))
            return None
        if not least <= value <= most:
            problems.append(Problem(name, text, f"{accepted} is expected"))
            return None
        return value

    bits = taken("--rate", rate, parse_rate, 1, MOST_RATE, "1b/s to 10Tb/s")
    length = taken("--for", duration, _length, 10**9, LONGEST_PS, "1ms to a day")
    early = taken("--margin", margin, parse_duration, PS_PER_NS, LONGEST_PS, "1ns and more")
    classes = _priorities(priorities, problems)
    repeated = _pattern(pattern, problems)
    if not 1 <= quanta <= MOST_QUANTA:
        problems.append(Problem("--quanta", quanta, f"1 to {MOST_QUANTA} are expected"))
    for name, words in (("INTERFACE", interfaces), ("--far-end", far_ends)):
        if twice := sorted({one for one in words if list(words).count(one) > 1}):
            problems.append(Problem(name, twice[0], "it is named twice"))
    if far_ends and len(far_ends) != len(interfaces):
        wanted = f"one for each interface is expected, {len(interfaces)} in all"
        problems.append(Problem("--far-end", ", ".join(far_ends), wanted))
    if problems:
        raise BadInput(WHO, problems)
    assert length is not None
    return StormRequest(
        *(tuple(interfaces), length / 1e12, classes, quanta, bits, repeated),
        None if early is None else early // PS_PER_NS,
        tuple(far_ends),
        in_use,
    )


def hold_of(asked: StormRequest, interface: str, rate_bps: int) -> int:
    """For how long one frame holds (ns). Raises BadInput where no refresh can be in time."""
    hold, wire = pause_quanta.hold_ns(asked.quanta, rate_bps), pause_quanta.wire_ns(rate_bps)
    if hold < 2 * wire:
        said = (
            f"they last {hold} ns at {interface}, where a frame takes {wire} ns on the wire; "
            "4 or more are expected"
        )
        raise BadInput(WHO, [Problem("--quanta", asked.quanta, said)])
    if asked.margin_ns is not None and asked.margin_ns >= hold:
        said = f"a frame holds {interface} for {hold} ns; less than that is expected"
        raise BadInput(WHO, [Problem("--margin", f"{asked.margin_ns} ns", said)])
    return hold


def _length(text: str) -> int:
    """A duration (ps), which may be in minutes, too: 10m, 10min."""
    if minutes := re.fullmatch(r"\s*([0-9]{1,5})\s*m(in)?\s*", text):
        return int(minutes[1]) * 60 * 10**12
    return parse_duration(text)


def _priorities(text: str | None, problems: list[Problem]) -> tuple[int, ...] | None:
    """0 to 7, with commas and ranges: 3,4 or 0-7."""
    if text is None:
        return None
    found: set[int] = set()
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        ends = [first, last] if dash else [first, first]
        if not all(one.isdigit() and int(one) in PRIORITIES for one in ends):
            expected = "priorities 0 to 7 are expected, as in 3,4 or 0-7"
            problems.append(Problem("--priorities", text, expected))
            return None
        found |= set(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(found))


def _pattern(text: str | None, problems: list[Problem]) -> Pattern | None:
    """on=TIME,off=TIME."""
    if text is None:
        return None
    words = dict(word.strip().partition("=")[::2] for word in text.split(","))
    if set(words) == {"on", "off"} and text.count(",") == 1:
        try:
            on, off = (parse_duration(words[name]) // PS_PER_NS for name in ("on", "off"))
            if min(on, off) >= 1000 and max(on, off) * PS_PER_NS <= LONGEST_PS:
                return Pattern(on, off)
        except UnitError as error:
            problems.append(Problem("--pattern", text, str(error)))
            return None
    expected = "two times from 1us on are expected, as in on=200ms,off=300ms"
    problems.append(Problem("--pattern", text, expected))
    return None
