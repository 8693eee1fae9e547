"""Escaping of control characters in untrusted text, so that it cannot steer the terminal."""

from __future__ import annotations

from typing import Any


def plain(text: str) -> str:
    """The text with control characters (ESC, backspace, carriage return ...) escaped."""
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode()
        for one in text
    )


def plain_tree(value: Any) -> Any:
    """Untrusted data, such as a JSON file's, with every text in it escaped, keys included."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [plain_tree(part) for part in value]
    if isinstance(value, dict):
        return {plain_tree(key): plain_tree(part) for key, part in value.items()}
    return value
