"""Gateware cards on the PCI bus, found by their vendor and device numbers."""

from __future__ import annotations

from pathlib import Path

from orchestrator.run.machine_info import read_text

CARD_NAMES = {
    ("0x1234", "0x1001"): "Corundum",
    ("0x10ee", "0x4244"): "NetFPGA-1G-CML",
    ("0x10ee", "0x7028"): "NetFPGA-SUME",
}
"""(vendor, device) as the cards' reference designs set them."""


def cards(root: Path = Path("/sys/bus/pci/devices")) -> list[str]:
    """PCI address and name of every card."""
    found = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        key = (read_text(str(folder / "vendor")) or "", read_text(str(folder / "device")) or "")
        if key in CARD_NAMES:
            found.append(f"{folder.name} {CARD_NAMES[key]}")
    return found
