"""Raw packet sockets in the network namespace of the calling thread."""

from __future__ import annotations

import socket
import struct

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_STATISTICS, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 6, 8, 23
SO_RCVBUFFORCE = 33
SO_TIMESTAMPING = 37
SO_TXTIME, CLOCK_TAI, REPORT_ERRORS = 61, 11, 1 << 1
"""Of a socket whose frames are launched, and SOF_TXTIME_REPORT_ERRORS (linux/net_tstamp.h)."""
RECEIVED_BY_KERNEL = 1 << 3 | 1 << 4
"""SOF_TIMESTAMPING_RX_SOFTWARE: take a time when a frame is handed on by the driver, and
SOF_TIMESTAMPING_SOFTWARE: tell it beside the frame (linux/net_tstamp.h)."""
SENT_BY_KERNEL = 1 << 1 | 1 << 4
"""SOF_TIMESTAMPING_TX_SOFTWARE: take a time when the driver is given a frame."""
BY_HARDWARE = 1 << 6
"""SOF_TIMESTAMPING_RAW_HARDWARE: tell times by the NIC's own clock."""
RECEIVED_BY_NIC, SENT_BY_NIC = 1 << 2 | BY_HARDWARE, 1 << 0 | BY_HARDWARE
"""SOF_TIMESTAMPING_RX_HARDWARE, SOF_TIMESTAMPING_TX_HARDWARE."""
RECEIVE_BUFFER = 16_000_000
"""Octets asked for, with the kernel's own accounting on top: some 5 000 full frames, or 60 ms at
1 Gb/s. An ordinary user gets as much as net.core.rmem_max allows."""


def open_raw(receive_buffer: int = RECEIVE_BUFFER) -> socket.socket:
    """A non-blocking socket that receives what every interface of this namespace receives.

    Frames that it sends do not come back to it, and VLAN tags come as ancillary data. It is
    not bound to an interface; open it before the first frame is sent.
    """
    raw = socket.socket(
        socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL)
    )
    try:
        raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        try:
            raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, receive_buffer)
        except PermissionError:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    except BaseException:
        raw.close()
        raise
    return raw


def ask_for_times(raw: socket.socket, hardware: bool = False, departures: bool = False) -> None:
    """Let every frame bring the time of its arrival: of the kernel's clock CLOCK_REALTIME, or of
    the NIC's with `hardware`. With `departures` the error queue tells when frames left, with their
    octets. Timestamping has to be enabled on the NIC, too (`testbed.agent.stamping`)."""
    flags = RECEIVED_BY_NIC if hardware else RECEIVED_BY_KERNEL
    if departures:
        flags |= SENT_BY_NIC if hardware else SENT_BY_KERNEL
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)


def ask_for_launches(raw: socket.socket) -> None:
    """Let frames tell when they are to leave, by CLOCK_TAI, and the error queue which did not."""
    raw.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", CLOCK_TAI, REPORT_ERRORS))


def receive_buffer(raw: socket.socket) -> int:
    """The octets that may wait in a socket, by the kernel's accounting (frames and overhead)."""
    return raw.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def take_statistics(raw: socket.socket) -> tuple[int, int]:
    """Frames that reached the socket, and those of them it had no room for, since last asked."""
    packets, drops = struct.unpack("II", raw.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    return packets, drops
