"""The cards of a run, driven together: configured, armed, stepped, read, ended."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from firmware.cards.card_check import naming_card
from firmware.cards.card_inventory import OpenCard
from firmware.cards.wall_clock import Clock
from firmware.driver.delay_line_driver import Delay
from firmware.driver.nic_driver import Nic
from firmware.driver.plan_records import Records
from firmware.driver.switch_driver import Switch
from firmware.registers.register_window import WindowError
from orchestrator.errors import RunFailed

LEAD_PS = 500_000_000_000
"""Lead from the reading of the cards' clocks to time 0 of the plan, for the configuration."""
READINGS = 5
"""Readings of a card's clock, of which the shortest one counts."""


@dataclass(frozen=True)
class Reading:
    """Simultaneous readings of the host's and a card's clock (ps), within `error`."""

    ours: int
    card: int
    error: int


class Fleet:
    """All nodes on cards; `origin` is time 0 of the plan by `clock`."""

    def __init__(self, cards: dict[str, OpenCard], records: Records, clock: Clock) -> None:
        self.cards, self.records, self.clock = cards, records, clock
        self.readings: dict[str, Reading] = {}
        self.origin = 0
        self._drivers: list[tuple[OpenCard, Nic | Switch]] = []
        self._delays: list[tuple[OpenCard, int, Delay]] = []

    def arm(self) -> None:
        """Configure every node; flows start by themselves at time 0 of the plan or later.

        Raises Refused with the card and its lack, RunFailed when a register does not keep its value
        or the configuration took too long.
        """
        for name, one in self.cards.items():
            if one.clock is not None:
                self.readings[name] = self._reading(one)
        self.origin = self.clock.now() + LEAD_PS
        for name, one in self.cards.items():
            known = self.readings.get(name)
            origin = 0 if known is None else known.card + self.origin - known.ours
            for node, number in one.serves.items():
                naming_card(one, lambda o=one, n=node, u=number, at=origin: self._set(o, n, u, at))  # type: ignore[misc]
        if (late := self.clock.now() - self.origin) > 0:
            raise RunFailed(
                f"target gateware: setting the cards took {late / 1e12:.3g} s longer than "
                f"{LEAD_PS / 1e12:g} s; their flows would have started before all was set"
            )

    def _reading(self, one: OpenCard) -> Reading:
        found = []
        for _ in range(READINGS):
            before = self.clock.now()
            card = one.now()
            after = self.clock.now()
            if card is not None:
                found.append(Reading((before + after) // 2, card, (after - before + 1) // 2))
        return min(found, key=lambda reading: reading.error)

    def _set(self, one: OpenCard, node: str, number: int, origin: int) -> None:
        unit, bus = one.units[number], one.card.bus
        if unit.kind == "nic":
            driver: Nic | Switch = Nic(
                self.records.node_blocks(node)[0], self.records, bus, unit.windows, origin
            )
            self._delay(one, node, number)
        else:
            driver = Switch(node, self.records, bus, unit.windows)
        self._drivers.append((one, driver))
        driver.begin()

    def _delay(self, one: OpenCard, node: str, number: int) -> None:
        """Configure the delay of frames that the card's NIC receives, from the sending port's
        row."""
        found = one.units[number].delay
        if found is None:
            return
        indices = self.records.indices
        for way in self.records.plan.directions():
            if way.receiver.node == node:
                line = Delay(way.entity, one.card.bus, found)
                self._delays.append((one, indices.port_rows[way.sender.entity], line))
                self._set_delay(line, indices.port_rows[way.sender.entity])

    def _set_delay(self, line: Delay, row: int) -> None:
        port = self.records.world.ports[row]
        line.set(int(port.delay), int(port.rate))

    def apply(self) -> None:
        """Write the timeline's changes to the registers."""
        for one, driver in self._drivers:
            naming_card(one, driver.apply)
        for one, row, line in self._delays:
            naming_card(one, lambda a=line, b=row: self._set_delay(a, b))  # type: ignore[misc]

    def hold(self) -> None:
        """Latch all counters, one node after the other."""
        for one, driver in self._drivers:
            naming_card(one, driver.hold)

    def read(self) -> None:
        """Read all sampled registers into the rows."""
        for one, driver in self._drivers:
            naming_card(one, driver.read)

    def losses(self) -> dict[str, int]:
        """Losses outside of the emulated queues, by location."""
        lost: dict[str, int] = {}
        for _, driver in self._drivers:
            lost |= driver.losses()
        for _, _, line in self._delays:
            lost |= line.losses()
        return lost

    def drifts(self) -> dict[str, float]:
        """Relative drift of each card's clock against the host's since arming."""
        found = {}
        for name, first in self.readings.items():
            last = self._reading(self.cards[name])
            passed = max(last.ours - first.ours, 1)
            found[name] = (last.card - first.card - passed) / passed
        return found

    def end(self) -> None:
        """Stop all sources of the cards, except of cards that are gone."""
        for _, driver in self._drivers:
            with suppress(WindowError):
                driver.end()
        for _, _, line in self._delays:
            with suppress(WindowError):
                line.end()
