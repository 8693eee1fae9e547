"""Text of others on a terminal: what would steer the terminal is shown and does nothing."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text with control characters (ESC, backspace, carriage return ...) written out."""
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode()
        for one in text
    )
