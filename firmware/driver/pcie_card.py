"""Cards, found through the kernel's device or their PCIe resources.

`/dev/mqnicN` answers ioctls of type 0x88 (API version, device, regions); a PCIe device's
`resource0` holds the NIC's registers and `resource2` the application's. In both cases the
NIC's chain of register blocks identifies the application and the bitstream. A card without Corundum
(NetFPGA) has only tailback's windows, at some offset of a resource file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from firmware.driver.window_discovery import WindowLocation, discover
from firmware.registers.register_window import Bus, WindowError
from orchestrator.errors import Refused
from orchestrator.run.machine_info import read_text

WORD = 4
ABSENT = 0xFFFF_FFFF
"""Value of a read when the device behind a mapping is gone."""


class MappedBus:
    """32-bit little-endian accesses to `length` octets of a file from `offset` on.

    Raises ValueError for an address outside of it or off a word's boundary.
    """

    def __init__(self, descriptor: int, offset: int, length: int) -> None:
        self.length = length
        self._map = mmap.mmap(descriptor, length, offset=offset)
        self._words = memoryview(self._map).cast("I")

    def read(self, address: int) -> int:
        """The word at an address: one load of 32 bits."""
        return self._words[self._offset_of(address)]

    def write(self, address: int, value: int) -> None:
        """Set the word at an address: one store of 32 bits."""
        self._words[self._offset_of(address)] = value

    def _offset_of(self, address: int) -> int:
        if address % WORD or not 0 <= address < self.length:
            raise ValueError(f"{address:#x} is no word of a window of {self.length:#x} octets")
        return address // WORD

    def close(self) -> None:
        """Unmap."""
        self._words.release()
        self._map.close()


@contextmanager
def open_device(path: str) -> Iterator[int]:
    """A file open for reading and writing, uncached where it is a device."""
    descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


APP_ID = 0x5142_0100
"""Identifier of tailback's application block; config.tcl sets it."""
IOCTL_TYPE = 0x88
API_VERSION, DEVICE_INFO, REGION_INFO = (IOCTL_TYPE << 8 | 0xC0 + number for number in range(3))
DEVICE = struct.Struct("=11I")
"""argsz, flags, fw_id, fw_ver, board_id, board_ver, build_date, git_hash, release, regions, irqs"""
REGION = struct.Struct("=6I2Q32s")
"""argsz, flags, index, type, next, child, size, offset, name"""
REGION_CONTROL, REGION_APP = 0x1001, 0x1002

BLOCK_TYPE, BLOCK_NEXT = 0x00, 0x08
BLOCK_FIRMWARE, BLOCK_APP = 0xFFFF_FFFF, 0x0000_C005
APP_ID_AT = 0x0C
IDENTITY = {
    "fpga_id": 0x0C,
    "fw_id": 0x10,
    "fw_version": 0x14,
    "board_id": 0x18,
    "board_version": 0x1C,
    "build_date": 0x20,
    "git_hash": 0x24,
    "release": 0x28,
}
PCI_IDENTITY = ("vendor", "device", "subsystem_vendor", "subsystem_device", "revision")
"""Files next to a resource file that identify a card without Corundum."""
MOST_BLOCKS = 256

Ioctl = Callable[[int, int, bytearray], int]


@dataclass
class Card:
    """A card with tailback's application: its bus, its windows, the identity of its bitstream."""

    path: str
    bus: MappedBus
    found: list[WindowLocation]
    identity: dict[str, int]

    def manifest(self) -> dict[str, object]:
        """Entry of the run's manifest."""
        windows = [
            {
                "module": f.map.module,
                "version": f.map.version,
                "at": f"{f.base:#x}",
                "caps": f"{f.caps:#010x}",
                "clock_hz": f.clock_hz,
            }
            for f in self.found
        ]
        named = {name: f"{value:#010x}" for name, value in self.identity.items()}
        return {"device": self.path, "bitstream": named, "windows": windows}

    def close(self) -> None:
        """Unmap its registers."""
        self.bus.close()


def blocks(bus: Bus) -> dict[int, int]:
    """Register blocks of a NIC: type -> offset. Raises WindowError for an endless chain."""
    found: dict[int, int] = {}
    offset = 0
    for _ in range(MOST_BLOCKS):
        kind = bus.read(offset + BLOCK_TYPE)
        found.setdefault(kind, offset)
        offset = bus.read(offset + BLOCK_NEXT)
        if offset == 0:
            return found
        if offset == ABSENT:
            break
    raise WindowError("the chain of register blocks has no end: is the card in reset?")


def open_card(path: str, ioctl: Ioctl = fcntl.ioctl, offset: int = 0) -> Card:
    """The card behind `/dev/mqnicN`, a PCIe device's folder under /sys or a resource file in it.

    `offset`: offset of tailback's windows in a resource file. Raises Refused, with the remedy, when
    there is no card or its application is another one.
    """
    place = Path(path)
    app: MappedBus | None = None
    try:
        if place.name.startswith("resource") and place.is_file():
            return _card_without_shell(place, offset)
        if place.is_dir():
            control, app = _resources(place)
        elif place.exists():
            control, app = _regions(place, ioctl)
        else:
            raise _refused(path, "there is no such device", "See `ls /dev/mqnic*`.")
    except PermissionError:
        raise _refused(path, "it may not be opened", "Run as a user that may.") from None
    except OSError as error:
        raise _refused(path, str(error.strerror), "Load the mqnic module.") from None
    try:
        chain = blocks(control)
        if BLOCK_APP not in chain:
            lack = "its bitstream has no application block"
            raise _refused(
                path, lack, "Build Corundum with APP_ENABLE, see firmware/boards/corundum."
            )
        app_id = control.read(chain[BLOCK_APP] + APP_ID_AT)
        if app_id != APP_ID:
            lack = f"its application is {app_id:#010x}, ours is {APP_ID:#010x}"
            raise _refused(path, lack, "Load our bitstream.")
        at = chain.get(BLOCK_FIRMWARE)
        identity = {} if at is None else {n: control.read(at + o) for n, o in IDENTITY.items()}
        card = Card(path, app, discover(app), identity | {"app_id": app_id})
        app = None
        return card
    except (WindowError, ValueError) as error:  # ValueError: the chain leads out of its region
        raise _refused(path, str(error), "Load the bitstream of this version.") from None
    finally:
        control.close()
        if app is not None:
            app.close()


def _card_without_shell(resource: Path, offset: int) -> Card:
    """Card without Corundum: only tailback's windows, from `offset` of a PCIe resource on."""
    with open_device(str(resource)) as descriptor:
        length = os.fstat(descriptor).st_size - offset
        if length <= 0:
            lack = (
                f"it has {os.fstat(descriptor).st_size:#x} octets, the windows are at {offset:#x}"
            )
            raise _refused(str(resource), lack, "Correct `offset`.")
        app = MappedBus(descriptor, offset, length)
    try:
        said = {name: read_text(str(resource.parent / name)) for name in PCI_IDENTITY}
        identity = {name: int(text, 16) for name, text in said.items() if text}
        return Card(str(resource), app, discover(app), identity)
    except (WindowError, ValueError) as error:
        app.close()
        remedy = "Correct `offset`, or load our bitstream."
        raise _refused(str(resource), str(error), remedy) from None


def _resources(device: Path) -> tuple[MappedBus, MappedBus]:
    """Control and application registers of a PCIe device."""
    mapped = []
    for name in ("resource0", "resource2"):
        file = device / name
        if not file.exists():
            raise _refused(str(device), f"it has no {name}", "Name the card's PCIe device.")
        with open_device(str(file)) as descriptor:
            mapped.append(MappedBus(descriptor, 0, os.fstat(descriptor).st_size))
    return mapped[0], mapped[1]


def _regions(device: Path, ioctl: Ioctl) -> tuple[MappedBus, MappedBus]:
    """Control and application registers of a device of the mqnic module."""
    with open_device(str(device)) as descriptor:
        if ioctl is fcntl.ioctl and not stat.S_ISCHR(os.fstat(descriptor).st_mode):
            raise _refused(str(device), "it is no device", "Name /dev/mqnicN.")
        version = ioctl(descriptor, API_VERSION, bytearray())
        if version != 0:
            lack = f"its driver speaks API version {version}; this one speaks 0"
            raise _refused(str(device), lack, "Load an mqnic module that fits.")
        info = bytearray(DEVICE.pack(DEVICE.size, *[0] * 10))
        ioctl(descriptor, DEVICE_INFO, info)
        found: dict[int, MappedBus] = {}
        for index in range(DEVICE.unpack(info)[9]):
            region = bytearray(REGION.pack(REGION.size, 0, index, 0, 0, 0, 0, 0, b""))
            ioctl(descriptor, REGION_INFO, region)
            _, _, _, kind, _, _, size, offset, _ = REGION.unpack(region)
            if kind in (REGION_CONTROL, REGION_APP) and kind not in found:
                found[kind] = MappedBus(descriptor, offset, size)
        if REGION_CONTROL not in found or REGION_APP not in found:
            lack = "it has no application region"
            raise _refused(str(device), lack, "Build Corundum with APP_ENABLE.")
        return found[REGION_CONTROL], found[REGION_APP]


def _refused(path: str, lack: str, remedy: str) -> Refused:
    return Refused(f"card {path}", lack, remedy)
