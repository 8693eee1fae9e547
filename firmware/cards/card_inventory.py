"""The opened cards of a testbed: their nodes and the identity of their bitstreams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firmware.driver.pcie_card import Card, open_card
from firmware.driver.window_discovery import WindowLocation
from firmware.registers.register_maps import (
    CARD_CLOCK,
    DELAY_LINE,
    FLOW_SOURCES,
    NIC,
    SWITCH,
    SWITCH_PORT,
)
from firmware.registers.register_window import Window
from orchestrator.errors import Refused
from orchestrator.testbed.agent.pci_cards import CARD_NAMES, cards
from orchestrator.testbed.inventory import CardEntry

KINDS = {NIC.module: "nic", SWITCH.module: "switch"}
"""Window that begins a node -> the kind of node that it serves."""


@dataclass(frozen=True)
class Unit:
    """A NIC or a switch of a card: its windows, and the delay line of the frames that it
    receives."""

    windows: list[WindowLocation]
    delay: WindowLocation | None = None

    @property
    def kind(self) -> str:
        """The kind of node, as in a plan."""
        return KINDS[self.windows[0].map.module]

    @property
    def blocks(self) -> list[str]:
        """The register blocks it has, each once."""
        found = [*self.windows, *([self.delay] if self.delay else [])]
        return list(dict.fromkeys(f.map.module for f in found))

    @property
    def bits_per_s(self) -> int:
        """Bandwidth of its data path."""
        return (self.windows[0].caps >> 16) * 8 * self.windows[0].clock_hz

    def __str__(self) -> str:
        caps = self.windows[0].caps
        if self.kind == "nic":
            room = [f.caps >> 16 for f in self.windows if f.map is FLOW_SOURCES]
            sizes = f"{caps & 0xFF} limiters, {caps >> 8 & 0xFF} flows"
            sizes += "".join(f" of {frames} frames" for frames in room)
        else:
            octets = [f.caps >> 8 for f in self.windows if f.map is SWITCH_PORT]
            sizes = f"{caps & 0xFF} ports of {min(octets, default=0)} octets"
        speed = f"{(caps >> 16) * 8} bit at {self.windows[0].clock_hz / 1e6:g} MHz"
        return f"a {self.kind} ({sizes}; {speed}; blocks {', '.join(self.blocks)})"


@dataclass(frozen=True)
class OpenCard:
    """A card of the testbed and the nodes of the plan that it serves."""

    name: str
    card: Card
    units: list[Unit]
    serves: dict[str, int]
    """Node of the plan -> its number among the units, also if that does not exist."""
    clock: WindowLocation | None

    @property
    def who(self) -> str:
        """Name of the card in messages."""
        return f"card {self.name} ({self.card.path})"

    @property
    def has(self) -> str:
        """Nodes of the card in messages."""
        return "it has " + ("; ".join(map(str, self.units)) or "neither a NIC nor a switch")

    def refused(self, lack: str, remedy: str) -> Refused:
        """Refusal with a lack of this card, and its nodes."""
        return Refused(self.who, f"{lack}; {self.has}", remedy)

    def window(self, found: WindowLocation) -> Window:
        """The registers of a window."""
        return found.window(self.card.bus)

    def now(self) -> int | None:
        """Time of its clock (ps); None without a readable clock."""
        if self.clock is None:
            return None
        return self.window(self.clock).counters()["now"]

    def manifest(self) -> dict[str, object]:
        """For the run's manifest."""
        nodes = {node: str(self.units[number]) for node, number in self.serves.items()}
        return self.card.manifest() | {"nodes": nodes}


def units_of(found: Iterable[WindowLocation]) -> list[Unit]:
    """The nodes in a chain of windows: each begins at a qcn_nic or qcn_switch."""
    units: list[Unit] = []
    for one in found:
        if one.map in (NIC, SWITCH):
            units.append(Unit([one]))
        elif one.map is DELAY_LINE and units:
            units[-1] = Unit(units[-1].windows, one)
        elif one.map is not CARD_CLOCK and units:
            units[-1].windows.append(one)
    return units


@contextmanager
def opened_cards(
    entries: dict[str, CardEntry], nodes: Iterable[str]
) -> Iterator[dict[str, OpenCard]]:
    """The cards that serve some of `nodes`, by name.

    Raises Refused for a card that cannot be used or whose bitstream is not the one that the
    testbed names.
    """
    wanted = set(nodes)
    found: dict[str, OpenCard] = {}
    try:
        for name, entry in entries.items():
            serves = {node: number for number, node in enumerate(entry.nodes) if node in wanted}
            if serves:
                card = open_card(entry.device, offset=entry.offset)
                clock = next((f for f in card.found if f.map is CARD_CLOCK), None)
                found[name] = OpenCard(name, card, units_of(card.found), serves, clock)
                _check_bitstream(found[name], entry.bitstream)
        yield found
    finally:
        for one in found.values():
            one.card.close()


def _check_bitstream(one: OpenCard, wanted: dict[str, int]) -> None:
    for key, value in wanted.items():
        has = one.card.identity.get(key)
        if has is None:
            known = ", ".join(one.card.identity) or "nothing"
            lack = f"it tells no {key!r} of its bitstream; it tells {known}"
            raise Refused(one.who, lack, "Correct `bitstream` in the testbed.")
        if has != value:
            lack = f"{key} of its bitstream is {has:#x}, the testbed wants {value:#x}"
            raise Refused(one.who, lack, "Load that bitstream, or correct the testbed.")


DEVICES = Path("/dev")
PCI = Path("/sys/bus/pci/devices")


@dataclass
class CardListing:
    """Entry of a card. `trouble`: the reason why it is unusable; the rest is then empty."""

    name: str
    device: str
    trouble: str = ""
    bitstream: dict[str, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return self.__dict__

    def lines(self) -> list[str]:
        """Text of the entry."""
        head = f"card {self.name} ({self.device})"
        if self.trouble:
            return [f"{head}: {self.trouble}"]
        said = [f"{key} {value}" for key, value in self.bitstream.items()]
        return [f"{head}: {', '.join(said)}", *(f"  {node}" for node in self.nodes)]


def list_cards(entries: dict[str, CardEntry]) -> list[CardListing]:
    """Cards of a testbed, then /dev/mqnic* and supported cards on the PCI bus, each once."""
    found = [_listed(name, entry.device, entry.offset) for name, entry in entries.items()]
    named = {entry.device for entry in entries.values()}
    for path in sorted(DEVICES.glob("mqnic*")):
        if str(path) not in named:
            found.append(_listed(path.name, str(path), 0))
    for text in cards(PCI):
        address, _, name = text.partition(" ")
        device = str(PCI / address)
        if any(other.startswith(device) for other in named):
            continue
        if name == CARD_NAMES[CORUNDUM]:
            found.append(_listed(address, device, 0))
        else:
            where = "name a resource file of it and the offset of our windows in a testbed"
            found.append(CardListing(address, device, f"a {name}; {where}"))
    return found


CORUNDUM = ("0x1234", "0x1001")
"""Key in KNOWN: cards whose windows are found without an offset."""


def _listed(name: str, device: str, offset: int) -> CardListing:
    try:
        card = open_card(device, offset=offset)
    except Refused as error:
        return CardListing(name, device, f"{error.lack}. {error.remedy}")
    try:
        identity = {key: f"{value:#010x}" for key, value in card.identity.items()}
        return CardListing(name, device, "", identity, [str(unit) for unit in units_of(card.found)])
    finally:
        card.close()
