"""PAUSE and PFC frames as scapy, which shares no code with us, builds them."""

from __future__ import annotations

from typing import Any

from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.l2 import Ether

ADDRESS = "01:80:c2:00:00:01"


def _ether(source: bytes) -> Any:
    return Ether(dst=ADDRESS, src=source.hex(":"))


def pause_frame(source: bytes, quanta: int) -> bytes:
    """An 802.3x PAUSE, padded to 60 octets."""
    return bytes(_ether(source) / MACControlPause(pause_time=quanta)).ljust(60, b"\0")


def pfc_frame(source: bytes, classes: int, quanta: list[int]) -> bytes:
    """An 802.1Qbb frame: bit n of `classes` enables class n."""
    fields = {f"c{n}_enabled": classes >> n & 1 for n in range(8)}
    fields |= {f"c{n}_pause_time": time for n, time in enumerate(quanta)}
    whole = bytes(_ether(source) / MACControlClassBasedFlowControl(**fields))
    return whole.ljust(60, b"\0")


def packed(quanta: list[int]) -> int:
    """Eight times as the modules take them: class 0 in the lowest bits."""
    return sum(time << 16 * n for n, time in enumerate(quanta))
