"""Gateware cards are found on the bus by vendor and device."""

from __future__ import annotations

from pathlib import Path

from orchestrator.testbed.agent.pci_cards import cards


def device(root: Path, address: str, vendor: str | None, number: str | None) -> None:
    (root / address).mkdir(parents=True)
    for name, value in (("vendor", vendor), ("device", number)):
        if value is not None:
            (root / address / name).write_text(f"{value}\n")


def test_known_cards_are_named_in_the_order_of_the_bus(tmp_path: Path) -> None:
    device(tmp_path, "0000:03:00.0", "0x10ee", "0x7028")
    device(tmp_path, "0000:01:00.0", "0x1234", "0x1001")
    device(tmp_path, "0000:02:00.0", "0x10ee", "0x4244")
    device(tmp_path, "0000:04:00.0", "0x10ee", "0x1001")
    device(tmp_path, "0000:05:00.0", "0x8086", None)
    device(tmp_path, "0000:06:00.0", None, "0x7028")
    assert cards(tmp_path) == [
        "0000:01:00.0 Corundum",
        "0000:02:00.0 NetFPGA-1G-CML",
        "0000:03:00.0 NetFPGA-SUME",
    ]


def test_a_machine_without_a_bus_has_none(tmp_path: Path) -> None:
    assert cards(tmp_path / "none") == []
