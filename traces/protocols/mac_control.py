"""PAUSE (802.3 annex 31B) and PFC (802.1Qbb), the frames of EtherType 0x8808."""

from __future__ import annotations

from typing import Any

import dpkt  # type: ignore[import-untyped]

CLASSES = 8


class Pause(dpkt.Packet):
    """Stop sending for `quanta` times 512 bit times; 0 resumes."""

    __hdr__ = (("quanta", "H", 0),)


class Pfc(dpkt.Packet):
    """Per-priority pause: bit n of `enabled` says whether `quanta[n]` counts."""

    __hdr__ = (
        ("enabled", "H", 0),
        *((f"quanta{priority}", "H", 0) for priority in range(CLASSES)),
    )

    @property
    def quanta(self) -> tuple[int, ...]:
        """Quanta of priority 0 to 7."""
        return tuple(getattr(self, f"quanta{priority}") for priority in range(CLASSES))


class MacControl(dpkt.Packet):
    """A MAC control frame; `data` is a Pause, a Pfc, or bytes for another opcode."""

    __hdr__ = (("opcode", "H", 1),)
    data: Any
    OPCODES = {0x0001: Pause, 0x0101: Pfc}  # noqa: RUF012 (dpkt's metaclass sees the class body)

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        kind: Any = self.OPCODES.get(self.opcode)
        if kind is not None:
            self.data = kind(self.data)
