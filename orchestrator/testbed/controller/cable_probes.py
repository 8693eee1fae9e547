"""Cable probes to DUTs from several machines: their agents send and receive.

As on one machine (`orchestrator.targets.software.dut.dut_probing`): from each port of ours a
broadcast goes out, which has to come in at every other port that faces the same device, and nowhere
else; then a frame as long as the plan's longest goes each way.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.targets.software.dut.dut_probing import (
    BROADCAST,
    PATIENCE_S,
    SHORTEST,
    TRIES,
    Arrival,
    device_paths,
    faults,
    refuse_narrow,
    refuse_wrong,
)

Probes = Mapping[str, Sequence[tuple[str, str, str]]]
"""Machine -> (NIC that a probe came in by, machine that sent it, NIC that did)."""


def cable_faults(cables: Mapping[str, Sequence[tuple[str, str]]], probes: Probes) -> list[str]:
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
    return not cable_faults(cables, probes)


WHO = "controller"
Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""(kind of request, its body) -> the answer of one agent."""


class DeviceProber:
    """Cables with interfaces "machine:nic". `addresses`: of each, the MAC addresses behind our end
    of it. `ask`: by machine."""

    def __init__(
        self,
        cables: Sequence[Cable],
        addresses: Mapping[str, Sequence[bytes]],
        ask: Mapping[str, Ask],
    ) -> None:
        self.cables, self.addresses, self.ask = list(cables), addresses, ask
        self.nonce = secrets.token_hex(8)
        self.rows = {cable.interface: row for row, cable in enumerate(self.cables)}

    async def check(self, octets: int) -> None:
        """Raises Refused, naming every cable that is not as the plan has it; `octets` of the plan's
        longest frame."""
        every = [
            (row, source, BROADCAST, SHORTEST)
            for row, cable in enumerate(self.cables)
            for source in self.addresses[cable.ours]
        ]
        came: list[Arrival] = []
        await self._send([])  # from here on every machine receives probes
        for _ in range(TRIES):
            await self._send(every)
            came += await self._collect()
            if not faults(self.cables, {(one.sent, one.arrived) for one in came}):
                came += await self._collect()  # what comes where it should not, a moment later
                break
        arrived = {(one.sent, one.arrived) for one in came}
        refuse_wrong(WHO, self.cables, arrived, {one.arrived for one in came if not one.tagged})
        refuse_narrow(WHO, await self._too_long(max(octets, SHORTEST)), octets)

    async def _too_long(self, octets: int) -> list[str]:
        due = device_paths(self.cables, self.addresses)
        wanted = {(row, there) for row, there, _ in due}
        came: set[tuple[int, int]] = set()
        for _ in range(TRIES // 2):
            await self._send(
                [
                    (row, self.addresses[self.cables[row].ours][0], target, octets)
                    for row, there, target in due
                    if (row, there) not in came
                ]
            )
            came_in = await self._collect()
            came |= {(one.sent, one.arrived) for one in came_in if one.octets == octets}
            if wanted <= came:
                return []
        return [
            f"from {self.cables[row]} to {self.cables[there]}"
            for row, there in sorted(wanted - came)
        ]

    async def _send(self, frames: Sequence[tuple[int, bytes, bytes, int]]) -> None:
        """Of each: the cable, from whom, to whom, how long."""
        mine: dict[str, list[dict[str, Any]]] = {machine: [] for machine in self.ask}
        for row, source, to, octets in frames:
            machine, _, nic = self.cables[row].interface.partition(":")
            mine[machine].append(
                {
                    "nic": nic,
                    "number": row,
                    "source": source.hex(),
                    "to": to.hex(),
                    "octets": octets,
                }
            )
        await asyncio.gather(
            *(
                ask("announce", {"nonce": self.nonce, "frames": mine[machine]})
                for machine, ask in self.ask.items()
            )
        )

    async def _collect(self) -> list[Arrival]:
        """Probes received, after a short wait."""
        await asyncio.sleep(PATIENCE_S)
        machines = list(self.ask)
        answers = await asyncio.gather(
            *(self.ask[machine]("announced", {"nonce": self.nonce}) for machine in machines)
        )
        return [
            Arrival(one["number"], row, one["octets"], one["tagged"])
            for machine, answer in zip(machines, answers, strict=True)
            for one in answer["arrived"]
            if (row := self.rows.get(f"{machine}:{one['nic']}")) is not None
            and one["number"] < len(self.cables)
        ]
