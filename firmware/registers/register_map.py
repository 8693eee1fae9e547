"""Register maps: the one source of the Verilog decoder, the accessor and the page.

Every instance has a window of 4 KiB with 32-bit little-endian words. 0x00-0x1C is the same for all
of them; configuration starts at 0x20, counters at 0x100. A register wider than 32 bits takes two
words, the low half first: its low half waits until the high half is written, so that the hardware
never sees a mixture. Counters are read as they were at the last snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WINDOW = 4096
CONFIGURATION = 0x20
COUNTERS = 0x100
WORD = 4

Access = Literal["rw", "command", "ro", "counter"]
"""Access of a register. rw: read back, an output of the decoder. command: the same, and
`<name>_written` is high for one clock after each write. ro: an input. counter: an input, latched by
a snapshot."""

ID, VERSION, CONTROL, STATUS, NEXT, CAPS, CLK_HZ = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
ENABLE_BIT, CLEAR_BIT, SNAPSHOT_BIT = 0, 1, 2
"""CONTROL: `enable` is kept; `clear` and `snapshot` are high for one clock and read as 0."""

HEADER = (
    (ID, "ID", "which module this is"),
    (VERSION, "VERSION", "of this map"),
    (CONTROL, "CONTROL", "bit 0 enable, bit 1 clear (start afresh), bit 2 snapshot (of counters)"),
    (STATUS, "STATUS", "bit 0: the module is idle"),
    (NEXT, "NEXT", "offset of the next instance's window; 0 ends the chain"),
    (CAPS, "CAPS", "what this instance was built with, see the module"),
    (CLK_HZ, "CLK_HZ", "frequency of the module's clock"),
)


@dataclass(frozen=True)
class Register:
    """One register; `offset` is that of its low word, `width` in bits (at most 64)."""

    name: str
    offset: int
    width: int
    access: Access
    unit: str
    doc: str
    reset: int = 0
    least: int = 0
    """Least value; the accessor refuses less, for which the hardware is undefined."""
    most: int | None = None
    """Greatest value, which the accessor enforces; None: all bits set."""

    @property
    def words(self) -> int:
        """Number of its 32-bit words; a counter has two at any width."""
        return 2 if self.width > 32 or self.access == "counter" else 1

    @property
    def top(self) -> int:
        """The greatest value that may be set."""
        return (1 << self.width) - 1 if self.most is None else self.most

    @property
    def writable(self) -> bool:
        return self.access in ("rw", "command")


@dataclass(frozen=True)
class RegisterMap:
    """The registers of a module. Raises ValueError when they do not fit together."""

    module: str
    identity: int
    version: int
    summary: str
    caps: str
    """Meaning of CAPS."""
    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        taken: dict[int, str] = {}
        for register in self.registers:
            self._check(register)
            for word in range(register.words):
                at = register.offset + WORD * word
                if at in taken:
                    raise ValueError(
                        f"{self.module}: {register.name} and {taken[at]} are both at {at:#05x}"
                    )
                taken[at] = register.name

    def _check(self, register: Register) -> None:
        name = f"{self.module}: {register.name}"
        start = COUNTERS if register.access == "counter" else CONFIGURATION
        end = WINDOW if register.access == "counter" else COUNTERS
        last = register.offset + WORD * register.words
        if register.offset % WORD or register.offset < start or last > end:
            raise ValueError(f"{name} at {register.offset:#05x} is not within {start:#x}-{end:#x}")
        if not 1 <= register.width <= 64:
            raise ValueError(f"{name} has {register.width} bits; 1 to 64 fit")
        if not register.least <= register.reset <= register.top < 1 << register.width:
            raise ValueError(f"{name}: its reset value {register.reset} is not one it may hold")

    def __getitem__(self, name: str) -> Register:
        """The register of that name. Raises KeyError."""
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(f"{self.module} has no register {name!r}")


def placed(*registers: tuple[str, int, Access, str, str] | Register) -> tuple[Register, ...]:
    """Registers with consecutive offsets, each from (name, width, access, unit, doc)."""
    places = {"configuration": CONFIGURATION, "counters": COUNTERS}
    result = []
    for entry in registers:
        register = entry if isinstance(entry, Register) else Register(entry[0], 0, *entry[1:])
        area = "counters" if register.access == "counter" else "configuration"
        fields = register.__dict__ | {"offset": places[area]}
        result.append(Register(**fields))
        places[area] += WORD * register.words
    return tuple(result)


def rw(
    name: str, width: int, unit: str, reset: int, doc: str, least: int = 0, most: int | None = None
) -> Register:
    """A register that is kept and read back; `placed` gives it an offset."""
    return Register(name, 0, width, "rw", unit, doc, reset, least, most)


def counter(name: str, width: int, unit: str, doc: str) -> Register:
    """A counter, latched by a snapshot; `placed` gives it an offset."""
    return Register(name, 0, width, "counter", unit, doc)
