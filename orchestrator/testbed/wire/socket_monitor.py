"""Sentences about ZeroMQ connection events: a wrong key must not look like a dead peer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import zmq
from zmq.utils.monitor import parse_monitor_message

EVENTS = (
    zmq.EVENT_CONNECT_RETRIED
    | zmq.EVENT_CLOSED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
HANDSHAKE_MS = 5000
"""For a handshake. A key that is turned away is known long before; a busy machine may take a while,
and two handshakes that failed are called a matter of keys."""
CRYPTOGRAPHIC = int(zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
"""The error of a box that cannot be opened: another key, another time, another connection."""


class State(Enum):
    """Of a connection, as one end sees it."""

    NONE, UP, REJECTED = "not connected", "connected", "key rejected"


@dataclass(frozen=True)
class ConnectionEvent:
    """Meaning of an event. `text` is empty when there is nothing to report."""

    state: State | None
    text: str = ""


def client_event(event: dict[str, int]) -> ConnectionEvent:
    """An event of the socket that connects."""
    match event["event"]:
        case zmq.EVENT_HANDSHAKE_SUCCEEDED:
            return ConnectionEvent(State.UP)
        case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return ConnectionEvent(
                State.REJECTED, "key rejected: the other end does not let our key in"
            )
        case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            return ConnectionEvent(
                State.REJECTED,
                "key rejected: the other end is not the holder of the key that we expect, or does "
                "not speak CURVE",
            )
        case zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_CONNECT_RETRIED:
            return ConnectionEvent(State.NONE)
    return ConnectionEvent(None)


def server_event(event: dict[str, int]) -> ConnectionEvent:
    """Meaning of an event of the binding socket. The gate reports unauthorised keys."""
    match event["event"]:
        case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL if event["value"] == CRYPTOGRAPHIC:
            return ConnectionEvent(
                State.REJECTED,
                "key rejected: a peer took us for the holder of another key, or sent again what "
                "an attacker had recorded",
            )
        case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            return ConnectionEvent(
                State.REJECTED,
                "key rejected: a peer does not speak CURVE as it should (ZeroMQ protocol error "
                f"{event['value']:#x}); NULL and PLAIN are not let in",
            )
        case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            return ConnectionEvent(
                State.REJECTED,
                "key rejected: a peer broke off the handshake; it does not speak CURVE (NULL and "
                "PLAIN are not let in), or is gone",
            )
    return ConnectionEvent(None)


def read(frames: list[bytes]) -> dict[str, int]:
    """The event in a message of a monitor."""
    event = parse_monitor_message(frames)
    return {"event": int(event["event"]), "value": int(event["value"])}
