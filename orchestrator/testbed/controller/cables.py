"""Cabling check: a probe frame across every cable that a run needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Probes = Mapping[str, Sequence[tuple[str, str, str]]]
"""Machine -> (NIC that a probe came in by, machine that sent it, NIC that did)."""


def faults(cables: Mapping[str, Sequence[tuple[str, str]]], probes: Probes) -> list[str]:
    """A sentence per cable and direction that is dead or leads elsewhere.

    `cables` maps the name of a cable to its ends, (machine, NIC).
    """
    found = []
    arrived = {
        (sender, nic): (machine, at) for machine, rows in probes.items() for at, sender, nic in rows
    }
    for name, ends in cables.items():
        for here, there in (tuple(ends), tuple(ends)[::-1]):
            got = arrived.get(here)
            if got == there:
                continue
            text = f"cable {name}: what {here[0]}:{here[1]} sends"
            if got is None:
                found.append(f"{text} arrives nowhere, {there[0]}:{there[1]} is expected (dead?)")
            else:
                found.append(
                    f"{text} arrives at {got[0]}:{got[1]}, {there[0]}:{there[1]} is expected "
                    "(wrong cable)"
                )
    return found


def all_arrived(cables: Mapping[str, Sequence[tuple[str, str]]], probes: Probes) -> bool:
    """Return whether all probes have arrived."""
    return not faults(cables, probes)
