"""Guard against TOML keys with thousands of segments, checked before the text is parsed.

Parsers keep every prefix of a dotted key, so that its cost grows with the square of its parts.
"""

from __future__ import annotations

import re

from orchestrator.errors import BadInput

MOST_PARTS = 100

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''"  # texts over several lines
    r'|(?P<part>"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|[A-Za-z0-9_-]+)"
    r"|(?P<dot>\.)|(?P<space>[ \t]+)|#[^\n]*|.",
    re.DOTALL,
)


def check_keys(source: str, text: str) -> None:
    """Raises BadInput for a dotted key, or header, of more than MOST_PARTS parts."""
    parts, joined = 0, False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "part":
            parts = parts + 1 if joined else 1
            joined = False
        elif kind == "dot":
            joined = True
        elif kind != "space":
            parts, joined = 0, False
        if parts > MOST_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            sentence = f"a key has more than {MOST_PARTS} parts (at line {line})"
            raise BadInput(source, f"not a plan: {sentence}")
