"""Descriptor words addressed by field number instead of field name."""

from __future__ import annotations

from typing import Any

from orchestrator.engine.jit import DISABLED
from orchestrator.engine.later import Later
from orchestrator.engine.records import FRAME

NAMES = FRAME.names or ()


def _read_plain(frame: Any, word: int) -> Any:
    return frame[NAMES[word]]


def _write_plain(frame: Any, word: int, value: int) -> None:
    frame[NAMES[word]] = value


read_word: Any = _read_plain if DISABLED else Later("orchestrator.engine.lowered.words:read")
"""(FRAME record, number of a field) -> its value."""
write_word: Any = _write_plain if DISABLED else Later("orchestrator.engine.lowered.words:write")
"""(FRAME record, number of a field, value): set it."""
