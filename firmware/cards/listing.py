"""List of this machine's cards: what each has, or the reason why it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firmware.cards.inventory import units_of
from firmware.driver.card import open_card
from orchestrator.errors import Refused
from orchestrator.testbed.agent.cards import KNOWN, cards
from orchestrator.testbed.inventory import CardEntry

DEVICES = Path("/dev")
PCI = Path("/sys/bus/pci/devices")


@dataclass
class Listed:
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


def listing(entries: dict[str, CardEntry]) -> list[Listed]:
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
        if name == KNOWN[CORUNDUM]:
            found.append(_listed(address, device, 0))
        else:
            where = "name a resource file of it and the offset of our windows in a testbed"
            found.append(Listed(address, device, f"a {name}; {where}"))
    return found


CORUNDUM = ("0x1234", "0x1001")
"""Key in KNOWN: cards whose windows are found without an offset."""


def _listed(name: str, device: str, offset: int) -> Listed:
    try:
        card = open_card(device, offset=offset)
    except Refused as error:
        return Listed(name, device, f"{error.lack}. {error.remedy}")
    try:
        told = {key: f"{value:#010x}" for key, value in card.identity.items()}
        return Listed(name, device, "", told, [str(unit) for unit in units_of(card.found)])
    finally:
        card.close()
