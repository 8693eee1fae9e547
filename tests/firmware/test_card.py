"""The driver of cards, on files with the layout of a card's regions."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from firmware.driver import pcie_card as c
from firmware.driver.pcie_card import APP_ID, open_card
from firmware.registers import register_map as at
from firmware.registers.register_maps import NIC, QCN_RP
from firmware.registers.register_window import WindowError
from orchestrator.errors import Refused

CONTROL_OCTETS, APP_OCTETS = 0x10000, 0x8000


def put(region: bytearray, offset: int, *words: int) -> None:
    struct.pack_into(f"<{len(words)}I", region, offset, *words)


class Emulated:
    """What a card with our bitstream shows: register blocks, and our windows in the app region."""

    def __init__(self) -> None:
        self.control, self.app = bytearray(CONTROL_OCTETS), bytearray(APP_OCTETS)
        # type, version, next; then the fields of the block
        put(self.control, 0, c.BLOCK_FIRMWARE, 0x100, 0x200)
        put(self.control, 0x0C, *range(0x11, 0x19))
        put(self.control, 0x200, 0x0000_C000, 0x100, 0x400)
        put(self.control, 0x400, c.BLOCK_APP, 0x200, 0, APP_ID)
        self.window(0, NIC.identity, NIC.version, 0x1000, caps=0x0008_0804)
        self.window(0x1000, QCN_RP.identity, QCN_RP.version, 0, caps=4)

    def window(self, base: int, identity: int, version: int, following: int, caps: int) -> None:
        put(self.app, base, identity, version, 0, 1, following, caps, 125_000_000)

    def pcie(self, folder: Path) -> str:
        """As a PCIe device's folder."""
        (folder / "resource0").write_bytes(self.control)
        (folder / "resource2").write_bytes(self.app)
        return str(folder)

    def device(self, folder: Path) -> str:
        """As a device file of the mqnic module; the regions follow each other."""
        (folder / "mqnic0").write_bytes(self.control + self.app)
        return str(folder / "mqnic0")


def ioctl(version: int = 0, app_type: int = c.REGION_APP) -> c.Ioctl:
    """An emulated mqnic module."""
    regions = [(c.REGION_CONTROL, CONTROL_OCTETS, 0), (app_type, APP_OCTETS, CONTROL_OCTETS)]

    def answer(descriptor: int, request: int, argument: bytearray) -> int:
        if request == 0x88C0:
            return version
        if request == 0x88C1:
            assert len(argument) == struct.unpack_from("=I", argument)[0] == 44
            struct.pack_into("=I", argument, 36, len(regions))
            return 0
        assert request == 0x88C2
        argsz, _, index = struct.unpack_from("=3I", argument)
        assert argsz == len(argument) == 72
        kind, size, offset = regions[index]
        struct.pack_into("=I", argument, 12, kind)
        struct.pack_into("=2Q", argument, 24, size, offset)
        return 0

    return answer


@pytest.mark.parametrize("way", ["pcie", "device"])
def test_a_card_is_found_with_its_windows_and_identity(tmp_path: Path, way: str) -> None:
    emulated = Emulated()
    card = open_card(getattr(emulated, way)(tmp_path), ioctl())
    assert [f.map.module for f in card.found] == ["qcn_nic", "qcn_rp"]
    assert card.found[0].caps == 0x0008_0804
    assert card.identity["fpga_id"] == 0x11
    assert card.identity["git_hash"] == 0x17
    told = card.manifest()
    assert [w["module"] for w in told["windows"]] == ["qcn_nic", "qcn_rp"]  # type: ignore[attr-defined]
    assert told["bitstream"]["app_id"] == f"{APP_ID:#010x}"  # type: ignore[index]
    assert told["bitstream"]["fw_id"] == "0x00000012"  # type: ignore[index]


@pytest.mark.parametrize("way", ["pcie", "device"])
def test_registers_are_set_in_the_device_and_verified(tmp_path: Path, way: str) -> None:
    path = getattr(Emulated(), way)(tmp_path)
    card = open_card(path, ioctl())
    window = card.found[1].window(card.bus)
    window.set("link_rate", 4 * 10**11)
    file, base = ("resource2", 0) if way == "pcie" else ("mqnic0", CONTROL_OCTETS)
    octets = (tmp_path / file).read_bytes()[base + 0x1000 + QCN_RP["link_rate"].offset :]
    assert struct.unpack_from("<Q", octets)[0] == 4 * 10**11
    # a file keeps CONTROL's pulses, hardware does not: the driver sees that it is no hardware
    with pytest.raises(WindowError, match="CONTROL reads 0x3"):
        window.control(True, clear=True)
    assert card.bus.read(0x1000 + at.CONTROL) == 3
    with pytest.raises(ValueError, match="0x2 is no word"):
        card.bus.read(2)


def test_what_is_wrong_with_a_card_is_said(tmp_path: Path) -> None:
    def said(emulated: Emulated, match: str, **module: int) -> None:
        with pytest.raises(Refused, match=match):
            open_card(emulated.device(tmp_path), ioctl(**module))

    other = Emulated()
    put(other.control, 0x40C, 0x1234_5678)
    said(other, "its application is 0x12345678, ours is 0x51420100")
    none = Emulated()
    put(none.control, 0x208, 0)
    said(none, "no application block.*APP_ENABLE")
    endless = Emulated()
    put(endless.control, 0x408, 0x200)
    said(endless, "chain of register blocks has no end")
    gone = Emulated()
    gone.control[:] = b"\xff" * CONTROL_OCTETS
    said(gone, "has no end: is the card in reset")
    newer = Emulated()
    newer.window(0x1000, QCN_RP.identity, 9, 0, 4)
    said(newer, f"qcn_rp at 0x1000 has version 9; this driver knows version {QCN_RP.version}")
    strange = Emulated()
    strange.window(0x1000, 0xDEAD, 1, 0, 4)
    said(strange, "ID 0xdead is none of")
    circle = Emulated()
    circle.window(0x1000, QCN_RP.identity, QCN_RP.version, 0x1000, 4)
    said(circle, "the chain of windows has no end")
    said(Emulated(), "API version 3", version=3)
    said(Emulated(), "no application region", app_type=0x1003)
    with pytest.raises(Refused, match="no such device"):
        open_card(str(tmp_path / "mqnic7"))
    with pytest.raises(Refused, match="it is no device"):
        open_card(Emulated().device(tmp_path))
    with pytest.raises(Refused, match="it has no resource0"):
        empty = tmp_path / "empty"
        empty.mkdir()
        open_card(str(empty))
