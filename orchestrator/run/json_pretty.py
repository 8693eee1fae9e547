"""JSON pretty-printer: the text of `json.pretty_json(value, indent=2)` at the speed of one without.

With an indent the standard library visits every value in Python; a result has a million. Here a
table without nested tables is encoded by the C encoder, with the line's end and its indent as the
separator.
"""

from __future__ import annotations

import functools
import json
from typing import Any

STEP = "  "
PLAIN = (str, int, float, bool, type(None))


def pretty_json(value: Any) -> str:
    """The text of a value. NaN and infinity are refused: JSON has neither."""
    return _text(value, "\n")


def _text(value: Any, outer: str) -> str:
    if not isinstance(value, dict | list | tuple) or not value:
        return json.dumps(value, allow_nan=False)
    inner = outer + STEP
    parts = list(value.values()) if isinstance(value, dict) else value
    if all(isinstance(part, PLAIN) for part in parts):
        flat = _encoder(inner).encode(value)
        return f"{flat[0]}{inner}{flat[1:-1]}{outer}{flat[-1]}"
    texts = [_text(part, inner) for part in parts]
    if isinstance(value, dict):
        texts = [f"{_key(key)}: {text}" for key, text in zip(value, texts, strict=True)]
        return f"{{{inner}{f',{inner}'.join(texts)}{outer}}}"
    return f"[{inner}{f',{inner}'.join(texts)}{outer}]"


def _key(key: Any) -> str:
    """Key as JSON text: JSON has no other keys than strings."""
    return json.dumps({key: 0}, allow_nan=False)[1:-4]


@functools.cache
def _encoder(inner: str) -> json.JSONEncoder:
    return json.JSONEncoder(allow_nan=False, separators=(f",{inner}", ": "))
