"""Text files of other tools as tokens that know their lines, with errors that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar

from orchestrator import bounded_file
from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import shown
from orchestrator.plan.units import UnitError

LONGEST = 1 << 31
"""Octets of a file that is read."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class Token:
    """A word of a file and the line that it stands on, from 1."""

    text: str
    line: int


@dataclass(frozen=True)
class SourceText:
    """A file that was read, by its name in messages."""

    name: str
    lines: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> SourceText:
        """The lines of a file. Raises BadInput where it cannot be read or is no text."""
        try:
            text = bounded_file.read_text(path, LONGEST, "utf-8-sig")
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            return cls(str(path), tuple(lines))
        except UnicodeDecodeError as error:
            raise BadInput(str(path), f"the file is no UTF-8 text (octet {error.start})") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BadInput(str(path), f"cannot be read: {reason}") from None

    def rows(self, comment: str = "#") -> Iterator[list[Token]]:
        """The words of each line that has some and does not begin with the comment sign."""
        for number, line in enumerate(self.lines, 1):
            words = line.split()
            if words and not words[0].startswith(comment):
                yield [Token(word, number) for word in words]

    def tokens(self) -> Iterator[Token]:
        """All words of the file."""
        for number, line in enumerate(self.lines, 1):
            for word in line.split():
                yield Token(word, number)

    def refused(self, key: str, value: object, accepted: str, line: int | None = None) -> BadInput:
        """An error about a value of this file; `line` is its line."""
        at = self.name if line is None else f"{self.name}:{line}"
        return BadInput(self.name, [Problem(key, shown(value), accepted, at=at)])

    def parsed(self, key: str, token: Token, parse: Callable[[str], Value]) -> Value:
        """What `parse` makes of a word. Raises BadInput with what UnitError says."""
        try:
            return parse(token.text)
        except UnitError as error:
            raise self.refused(key, token.text, str(error), token.line) from None

    def integer(self, key: str, token: Token, least: int = 0, most: int = 1 << 40) -> int:
        """A whole number in bounds. Raises BadInput."""
        text = token.text
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise self.refused(key, text, f"a whole number from {least} on is expected", token.line)
        value = int(text)
        if not least <= value <= most:
            accepted = f"a whole number from {least} to {most} is expected"
            raise self.refused(key, text, accepted, token.line)
        return value

    def scaled(self, key: str, token: Token, digits: int, least: int, most: int, unit: str) -> int:
        """A decimal number times 10^digits, exactly and in bounds. Raises BadInput."""
        accepted = f"a number of {unit} is expected, with at most {digits} decimals"
        try:
            number = Decimal(token.text)
        except InvalidOperation:
            raise self.refused(key, token.text, accepted, token.line) from None
        if not number.is_finite() or abs(number.adjusted()) > 40:
            raise self.refused(key, token.text, accepted, token.line)
        exact = number.scaleb(digits)
        if exact != exact.to_integral_value() or not least <= exact <= most:
            raise self.refused(key, token.text, accepted, token.line)
        return int(exact)


class Words:
    """Reads the words of a file one after another, as the `>>` of C++ does."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._tokens = source.tokens()

    def take(self, key: str, expected: str) -> Token:
        """The next word. Raises BadInput at the end of the file."""
        token = next(self._tokens, None)
        if token is None:
            raise self.source.refused(key, "end of file", expected, len(self.source.lines))
        return token
