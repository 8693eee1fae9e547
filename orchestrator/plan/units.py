"""Sizes, durations, rates and ratios: plain text outside, exact integers inside.

Sizes are bytes, durations picoseconds, rates bit/s; KB is 1000 octets, KiB 1024. Nothing is
rounded: a text that is no whole number of the base unit is an error that says so, and numbers go
through `Fraction`, never through a float.
"""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

LIMIT = 1 << 62
"""Values stay below this (the time that never comes), so that sums of two fit an int64."""

_NUMBER = re.compile(r"([+-]?)([0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?)\s*(.*)", re.DOTALL)
_RATIO = re.compile(r"([0-9]+)\s*/\s*([0-9]+)|([0-9]+(?:\.[0-9]+)?)\s*(%?)")
_LONGEST = 60


class UnitError(ValueError):
    """A text that is not the quantity it should be; the message says what would be accepted."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """One kind of quantity: the units it is read in and those it is written in."""

    name: str
    base: str
    written: dict[str, int]
    """Unit -> base units, ascending; all powers of ten, so that every integer has a text."""
    also_read: dict[str, int]
    example: str
    refused: dict[str, str] = field(default_factory=dict)
    """Spellings that mean something else -> why they are not accepted."""

    @property
    def accepted(self) -> str:
        """Accepted form of a value, for error messages and help."""
        return f"write a {self.name} with its unit, such as {self.example!r} ({self._units()})"

    def parse(self, value: object, *, bare: bool = False) -> int:
        """Base units of a text such as "33KB", exactly. Raises UnitError.

        A number without a unit is accepted when it is 0, or with `bare`, when it is an int that
        a program (not a text) hands over in base units.
        """
        if isinstance(value, int) and not isinstance(value, bool) and (bare or value == 0):
            return self._bounded(value)
        if not isinstance(value, str):
            raise UnitError(self.accepted)
        return _read(self, value)

    def read(self, value: str) -> int:
        """Base units of a text; `parse` keeps the answer: a plan says the same ones all over."""
        match = _NUMBER.fullmatch(value.strip()) if len(value) <= _LONGEST else None
        if match is None:
            raise UnitError(self.accepted)
        sign, number, unit = match.groups()
        exact = Fraction(number.replace("_", ""))
        if unit:
            exact *= self._factor(unit)
        elif exact:
            raise UnitError(f"the unit is missing; {self.accepted}")
        return self._bounded(-exact if sign == "-" else exact)

    def format(self, value: int) -> str:
        """The shortest exact text of a number of base units: 33000 -> "33KB", 500 us -> "500us"."""
        return _shortest(self, value)

    def _units(self) -> str:
        return ", ".join(self.written)

    def _zero_unit(self) -> str:
        return "s" if self.base == "ps" else self.base

    def _factor(self, unit: str) -> int:
        factor = self.written.get(unit) or self.also_read.get(unit)
        if factor is not None:
            return factor
        for spelling, why in self.refused.items():
            if re.fullmatch(spelling, unit):
                raise UnitError(why)
        known = list(self.written | self.also_read)
        near = [name for name in known if name.lower() == unit.lower()]
        near = near or difflib.get_close_matches(unit, known, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near[:2])}? " if near else ""
        raise UnitError(f"{unit[:20]!r} is no unit of a {self.name}; {hint}units: {self._units()}")

    def _bounded(self, exact: Fraction | int) -> int:
        if exact < 0:
            raise UnitError(f"a {self.name} is not negative")
        if exact.denominator != 1:
            raise UnitError(
                f"a {self.name} is a whole number of {self.base} and nothing is rounded; "
                f"nearest: {self.format(int(exact))} or {self.format(int(exact) + 1)}"
            )
        if exact >= LIMIT:
            raise UnitError(f"a {self.name} is below 2^62 {self.base}")
        return int(exact)


@functools.lru_cache(maxsize=4096)
def _read(quantity: Quantity, text: str) -> int:
    return quantity.read(text)


@dataclass(frozen=True)
class UnitOf:
    """Marks an annotated type (`Size`, `Duration`, `Rate`) with its quantity."""

    quantity: Quantity


_BYTES_NOT_BITS = (
    "a rate counts bits (b), B would be bytes; 1 GB/s is '8Gb/s'. "
    "units: b/s, kb/s, Mb/s, Gb/s, Tb/s"
)
_BITS_NOT_BYTES = "a size counts bytes (B), b would be bits; 8 Kb is '1KB'. units: B, KB, MB, GB"

SIZE = Quantity(
    "size",
    "B",
    written={"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    also_read={"kB": 10**3, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    example="33KB",
    refused={"[kKMGT]?i?(b|bits?)": _BITS_NOT_BYTES},
)
DURATION = Quantity(
    "duration",
    "ps",
    written={"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    also_read={"\u00b5s": 10**6, "\u03bcs": 10**6, "min": 60 * 10**12},
    example="500us",
)
_SCALES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
RATE = Quantity(
    "rate",
    "b/s",
    written={"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12},
    also_read={
        scale + spelling: factor
        for spelling in ("bps", "bit/s", "b/s")
        for scale, factor in _SCALES.items()
    },
    example="0.95Gb/s",
    refused={"[kKMGTmgt]?i?(B|[Bb]ytes?)(/s|ps|/sec)": _BYTES_NOT_BITS},
)

RATIO_ACCEPTED = "write a ratio such as '1/128', '0.5' or '15%'"


def parse_ratio(value: object) -> Fraction:
    """The exact fraction of "1/128", "0.5", "15%", a number or a TOML float (by its decimals)."""
    if isinstance(value, bool):
        raise UnitError(RATIO_ACCEPTED)
    if isinstance(value, int | Fraction):
        return _small(Fraction(value))
    if isinstance(value, float):
        # repr is the shortest decimal text that gives this float: what the file said.
        decimal = Decimal(repr(value))
        if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > 18):
            raise UnitError(RATIO_ACCEPTED)
        return _small(Fraction(decimal))
    short = isinstance(value, str) and len(value) <= _LONGEST
    match = _RATIO.fullmatch(value.strip()) if isinstance(value, str) and short else None
    if match is None:
        raise UnitError(RATIO_ACCEPTED)
    numerator, denominator, number, percent = match.groups()
    if number is not None:
        return _small(Fraction(number) / (100 if percent else 1))
    if not int(denominator):
        raise UnitError("a ratio has no denominator 0")
    return _small(Fraction(int(numerator), int(denominator)))


def _small(ratio: Fraction) -> Fraction:
    if ratio < 0:
        raise UnitError("a ratio is not negative")
    if max(ratio.numerator, ratio.denominator) >= LIMIT:
        raise UnitError("numerator and denominator of a ratio are below 2^62")
    return ratio


def format_ratio(value: Fraction) -> str:
    """The shortest exact text of a fraction: "0.5", "1/128", "3"."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    texts = [str(value)] if rest != 1 else [_decimal(value), str(value)]
    return min(texts, key=len)


@functools.lru_cache(4096)
def _shortest(quantity: Quantity, value: int) -> str:
    """`Quantity.format`: a plan of hundreds of hosts has the same few values again and again."""
    if value == 0:
        return f"0{quantity._zero_unit()}"
    texts = [_decimal(Fraction(value, factor)) + unit for unit, factor in quantity.written.items()]
    return min(texts, key=lambda text: (len(text), "." in text))


def _decimal(value: Fraction) -> str:
    """A fraction whose denominator has only the primes 2 and 5, written out."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    fives, rest = 0, value.denominator >> twos
    while rest > 1:
        fives, rest = fives + 1, rest // 5
    places = max(twos, fives)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def parse_size(value: object) -> int:
    """Bytes of a text such as "33KB"."""
    return SIZE.parse(value)


def parse_duration(value: object) -> int:
    """Picoseconds of a text such as "500us"."""
    return DURATION.parse(value)


def parse_rate(value: object) -> int:
    """Bit/s of a text such as "0.95Gb/s"."""
    return RATE.parse(value)


def format_size(value: int) -> str:
    """Text of a number of bytes: 26000 -> "26KB"."""
    return SIZE.format(value)


def format_duration(value: int) -> str:
    """Text of a number of picoseconds: 500_000_000 -> "500us"."""
    return DURATION.format(value)


def format_rate(value: int) -> str:
    """Text of a number of bit/s: 950_000_000 -> "950Mb/s"."""
    return RATE.format(value)
