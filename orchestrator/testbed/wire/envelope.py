"""Envelope of every message, and the refusals of malformed ones."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator import bounded_json

VERSION = 1
"""Of the messages; both ends must speak the same."""
LONGEST = 8 * 2**20
"""Octets of a message's JSON: a plan has 4 MB at most."""
SENTENCE = 1000
"""Characters of a refusal."""
CHUNK = 2**20
"""Octets of a payload."""

Token = str
"""A random name made by one end: session, lease, run."""
TOKEN = Field(pattern=r"^[0-9a-f]{8,64}$")
NAME = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.>/:{}-]{0,199}$")
"""A name of a plan or of a machine. Nothing is ever opened by such a name."""


class WireMessage(BaseModel):
    """Base of all messages: unknown keys are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Request(WireMessage):
    """A request. `session` is the asking process's, `id` counts its requests from 1."""

    v: Literal[1] = 1
    session: str = TOKEN
    id: int = Field(ge=1, lt=2**53)
    kind: str = Field(pattern=r"^[a-z_]{1,32}$")
    run: str | None = Field(default=None, pattern=r"^[0-9a-f]{8,64}$")
    body: dict[str, Any] = Field(default={})


class Answer(WireMessage):
    """The answer to a request, or why there is none: `refused` is a sentence, `code` its kind."""

    v: Literal[1] = 1
    session: str = TOKEN
    id: int = Field(ge=0, lt=2**53)
    refused: str | None = Field(default=None, max_length=20_000)
    code: str = Field(default="", pattern=r"^[a-z-]{0,32}$")
    body: dict[str, Any] = Field(default={})


class Unacceptable(Exception):
    """A message that is not taken: a code and a sentence for the other end."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code, self.sentence = code, clipped(sentence)
        super().__init__(self.sentence)


def clipped(sentence: str) -> str:
    """A sentence that fits into an answer, whatever of the asker's was quoted in it."""
    return sentence if len(sentence) <= SENTENCE else f"{sentence[: SENTENCE - 4]} ..."


def pack(message: WireMessage) -> bytes:
    """A message as octets."""
    return message.model_dump_json(exclude_defaults=False).encode("utf-8")


def unpack(octets: bytes, kind: type[Request] | type[Answer]) -> Any:
    """The message in `octets`. Raises Unacceptable; the version is looked at before all else."""
    if len(octets) > LONGEST:
        raise Unacceptable("too-long", f"a message has at most {LONGEST} octets")
    try:
        data = bounded_json.loads(octets)
    except (ValueError, RecursionError):
        text = "a message is a JSON object, of finite numbers and integers of 64 bits"
        raise Unacceptable("not-json", text) from None
    if not isinstance(data, dict):
        raise Unacceptable("not-json", "a message is a JSON object")
    version = data.get("v")
    if type(version) is not int or version != VERSION:
        spoken = version if type(version) is int and abs(version) < 10**6 else "unknown"
        raise Unacceptable(
            "version",
            f"protocol version {spoken} is not spoken here, {VERSION} is; install the same "
            "tailback on both machines",
        )
    try:
        return kind.model_validate(data)
    except (ValidationError, RecursionError) as error:
        raise Unacceptable("schema", sentence(error)) from None


def body_of(model: type[WireMessage], data: dict[str, Any]) -> Any:
    """The body of a message as its model. Raises Unacceptable."""
    try:
        return model.model_validate(data)
    except (ValidationError, RecursionError) as error:
        raise Unacceptable("schema", sentence(error)) from None


def sentence(error: ValidationError | RecursionError) -> str:
    """Error of a message in a sentence, without the values in it."""
    if isinstance(error, RecursionError):
        return "the message is nested too deeply"
    found = error.errors(include_url=False, include_input=False, include_context=False)[:3]
    parts = [f"{'.'.join(map(str, e['loc']))[:120] or 'message'}: {e['msg'][:200]}" for e in found]
    return "; ".join(parts)
