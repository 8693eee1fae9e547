"""Codec of the feed's messages: a frame of JSON, then the octets of arrays.

A frame that is no message of this version raises `MalformedMessage` and no other exception: input
from a wire is not trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from orchestrator import bounded_json
from orchestrator.live.feed_messages import FeedMessage, FeedRequest, Message, Samples

_MESSAGES: TypeAdapter[Any] = TypeAdapter(FeedMessage)
_REQUESTS: TypeAdapter[Any] = TypeAdapter(FeedRequest)
MOST_OCTETS = 1 << 28
"""Most octets of all frames of one message."""


class MalformedMessage(ValueError):
    """Frames that are no message; the text names the fault."""


def encode_message(message: Message) -> list[bytes]:
    """The frames of a message. Arrays go as little-endian int64."""
    frames = [message.model_dump_json().encode()]
    if isinstance(message, Samples):
        for array in (message.times_ps, message.values):
            frames.append(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return frames


def decode_message(frames: Sequence[bytes]) -> Any:
    """The message that a run sent, one of `FeedMessage`. Raises NotUnderstood."""
    if sum(map(len, frames)) > MOST_OCTETS:
        raise MalformedMessage("a message of more than 256 MB")
    fields = _fields(frames)
    if fields.get("kind") == "samples":
        fields |= _arrays(frames)
    elif len(frames) != 1:
        raise MalformedMessage("arrays behind a message that has none")
    return _checked(_MESSAGES, fields)


def decode_request(frames: Sequence[bytes]) -> Any:
    """The request that a client sent, one of `FeedRequest`. Raises NotUnderstood."""
    if len(frames) != 1 or len(frames[0]) > 65_536:
        raise MalformedMessage("a request is one frame of at most 64 KB")
    return _checked(_REQUESTS, _fields(frames))


def _fields(frames: Sequence[bytes]) -> dict[str, Any]:
    try:
        fields = bounded_json.loads(frames[0])
    except (ValueError, RecursionError, IndexError) as error:
        raise MalformedMessage("the first frame is no JSON") from error
    if not isinstance(fields, dict):
        raise MalformedMessage("the first frame is no JSON object")
    return fields


def _arrays(frames: Sequence[bytes]) -> dict[str, np.ndarray]:
    if len(frames) != 3 or len(frames[1]) % 8 or len(frames[2]) % 8:
        raise MalformedMessage("samples are three frames, two of them int64")
    times = np.frombuffer(frames[1], "<i8")
    values = np.frombuffer(frames[2], "<i8")
    if not len(times) or len(values) % len(times):
        raise MalformedMessage("samples whose values do not fill their rows")
    return {"times_ps": times, "values": values.reshape(len(times), -1)}


def _checked(adapter: TypeAdapter[Any], fields: dict[str, Any]) -> Any:
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the message"
        raise MalformedMessage(f"{where}: {first['msg']}") from error
