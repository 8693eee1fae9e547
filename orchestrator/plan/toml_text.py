"""TOML text of a plan: reading and writing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeGuard

import tomli_w

from orchestrator.errors import BadInput
from orchestrator.plan.quantity_types import files_count

# Guard against TOML keys with thousands of segments, checked before the text is parsed.
#
# Parsers keep every prefix of a dotted key, so that its cost grows with the square of its parts.

MOST_SEGMENTS = 100

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
        if parts > MOST_SEGMENTS:
            line = text.count("\n", 0, token.start()) + 1
            sentence = f"a key has more than {MOST_SEGMENTS} parts (at line {line})"
            raise BadInput(source, f"not a plan: {sentence}")


LONGEST = 10_000_000
"""Characters of a plan's text: that of 8192 hosts with every default has 7 million."""


def read(path_or_text: str | Path) -> tuple[str, str]:
    """Name for messages, and text, of a TOML file or text. Raises BadInput.

    A str with a line break or '=' is a text, any other one a path.
    """
    if is_text(path_or_text):
        return "plan", path_or_text
    if not str(path_or_text):
        raise BadInput("plan", "the text is empty; a path or a plan in TOML is expected")
    source = str(path_or_text)
    return source, read_file(Path(path_or_text), source)


def is_text(path_or_text: str | Path) -> TypeGuard[str]:
    """True if this is a plan itself rather than its path: always when it is not this machine's."""
    if not isinstance(path_or_text, str):
        return False
    return not files_count() or "\n" in path_or_text or "=" in path_or_text


def read_file(path: Path, source: str) -> str:
    """The text of a file. Raises BadInput."""
    try:
        return _bounded_text(source, path)
    except UnicodeDecodeError as error:
        raise BadInput(source, f"the file is no UTF-8 text (octet {error.start})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(source, f"the plan cannot be read: {reason}") from None


MOST_OCTETS = 4 * LONGEST
"""Octets of a file: four for a character of UTF-8."""


def _bounded_text(source: str, path: Path) -> str:
    """The text of a file, or of a pipe until it ends. Raises BadInput for one that is too long, as
    /dev/zero is; OSError, UnicodeDecodeError."""
    with path.open("rb") as file:
        octets = file.read(MOST_OCTETS + 1)
    if len(octets) > MOST_OCTETS:
        raise BadInput(source, f"the file has more than {MOST_OCTETS} octets")
    return octets.decode("utf-8-sig")


_LONG_NUMBER = re.compile(r"[0-9A-Fa-f_]{17,}")
_DECIMAL = re.compile(r"(?<![\w.+-])([+-]?)[1-9][0-9_]{4299,}")
"""More digits than Python makes an integer of, or names the key of."""
_FAR = 2**63


def check_numbers(source: str, value: object, where: str = "") -> None:
    """Raises BadInput for an integer of more than 64 bits: TOML 1.0 has none, and Python turns none
    of more than 4300 digits into text."""
    if isinstance(value, dict):
        for key, one in value.items():
            check_numbers(source, one, f"{where}.{key[:60]}" if where else key[:60])
    elif isinstance(value, list):
        for number, one in enumerate(value):
            check_numbers(source, one, f"{where}[{number}]")
    elif isinstance(value, int) and not -_FAR <= value < _FAR:
        raise BadInput(source, f"{where}: a whole number of at most 64 bits is expected")


def _loads(source: str, text: str) -> dict[str, Any]:
    """The data of a TOML text. Raises BadInput for numbers, ValueError for a slip in the syntax."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        shortened = _DECIMAL.sub(rf"\g<1>{2 * _FAR}", text)
        check_numbers(source, tomllib.loads(shortened))
        raise
    if _LONG_NUMBER.search(text):
        check_numbers(source, data)
    return data


def table_in(path: Path) -> dict[str, Any]:
    """The data of a TOML file that is no plan. Raises BadInput."""
    try:
        return _loads(str(path), _bounded_text(str(path), path))
    except OSError as error:
        raise BadInput(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(str(path), f"not TOML: {error}") from None


def parse(source: str, text: str) -> dict[str, Any]:
    """The data of a TOML text; a slip in the syntax is an error with its line."""
    if len(text) > LONGEST:
        raise BadInput(source, f"the text has more than {LONGEST} characters")
    check_keys(source, text)
    try:
        return _loads(source, text)
    except ValueError as error:
        # TOMLDecodeError ends in "(at line 3, column 5)"; int() complains of too many digits.
        raise BadInput(source, f"not TOML: {error}") from None
    except RecursionError:
        raise BadInput(source, "not a plan: tables are nested too deeply") from None


def write(data: dict[str, Any]) -> str:
    """The TOML text of a plan's data."""
    return tomli_w.dumps(data)
